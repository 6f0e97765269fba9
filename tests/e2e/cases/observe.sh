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
others_since() { audit "$1" writes | grep -vcE ' configmaps karp/karp-(offerings|history) ' || true; }
stays 6 "writes in observe mode" 0 others_since "$mark"
equal "writing calls to EC2" 0 "$(($(ec2 calls ec2:CreateFleet) + $(ec2 calls ec2:CreateTags)))"
equal "karp_standby" 0 "$(metric agent karp_standby)"
equal "the Lease's holder" 'karpenter-*' "$(lease_holder)"
equal "claims" 0 "$(claims)"
agent_stop agent
