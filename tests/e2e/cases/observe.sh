# shellcheck shell=bash
# --mode=observe: decides beside another controller, writes nothing but its own ConfigMaps, takes no
# Lease and does not stand by.
ec2_start
agent_start full
agent_ready full
workload
expect 20 "the class" True condition ec2nodeclass default Ready
expect 10 "the pool" True condition nodepool default Ready
agent_stop full
lease_drop kube-system

foreign_start kube-system
mark=$(audit_mark)
agent_start agent --mode=observe
agent_ready agent
scale 10
expect 20 "a decision" '[1-9]*' logged agent 'would create nodeclaim'
others_since() { audit "$1" writes | grep -vcE ' configmaps karp/karp-(offerings|observed) ' || true; }
stays 6 "writes in observe mode" 0 others_since "$mark"
observed() { KUBECONFIG=$CP/viewer.kubeconfig kubectl karp status --observed -o "jsonpath={$1}"; }
expect 30 "what it would have launched" '1 10 0 0' observed '.total.would.launched} {.total.would.pods} {.total.did.launched} {.total.did.removed'
equal "and for whom" "default 10 karpenter" "$(observed '.entries[*].nodePool} {.entries[*].pods} {.controller')"
equal "writing calls to EC2" 0 "$(($(ec2 calls ec2:CreateFleet) + $(ec2 calls ec2:CreateTags)))"
equal "karp_standby" 0 "$(metric agent karp_standby)"
equal "the Lease's holder" 'karpenter-*' "$(lease_holder)"
equal "claims" 0 "$(claims)"
# The next process goes on with the sums.
agent_kill agent
writes() { audit "$mark" writes | grep -c ' configmaps karp/karp-observed '; }
had=$(writes)
agent_start agent --mode=observe
agent_ready agent
more() { [ "$(writes)" -gt "$had" ] && echo more; }
expect 20 "a further write" more more
equal "what it would have launched" '1 10' "$(observed '.total.would.launched} {.total.would.pods')"
equal "writes in observe mode" 0 "$(others_since "$mark")"
agent_stop agent
