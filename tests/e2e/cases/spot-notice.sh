# shellcheck shell=bash
# EC2 takes a spot machine back in two minutes, and a new one takes half a minute to boot: it is Ready
# while the old one still runs, and a PodDisruptionBudget is kept all the while. Twice the same message
# changes nothing.
ec2_start --boot 30s
agent_start agent --interruption-queue=sim
agent_ready agent
workload
pdb inflate 'maxUnavailable: 1'
scale 4
expect 90 "running pods" 4 running
equal "nodes" 1 "$(nodes)"
witness_start pods available app=inflate
expect 20 "available pods" 4 witness pods now
read -r id _ _ _ _ node < <(ec2 list)
begin=$(now_ms)
ec2 step "{\"spotInterruption\": [\"$id\"]}"
ready_nodes() { kubectl get nodes -l karpenter.sh/nodepool -o 'jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' | grep -v "^$node " | grep -c ' True$' || true; }
expect 10 "the claim on its way out" '2*' field nodeclaims '' '.items[*].metadata.deletionTimestamp'
expect 80 "the new node's readiness" 1 ready_nodes
note "new node ready after $((($(now_ms) - begin) / 1000)) s"
equal "the old instance" "* running *" "$(ec2 list | grep "^$id ")"
old() { ec2 list | grep -c "^$id " || true; }
expect 100 "the old instance" 0 old
expect 60 "running pods" 4 running
equal "least available pods" 3 "$(witness pods worst)"
expect 30 "nodes" 1 nodes
equal "instances" 1 "$(instances)"
equal "CreateFleet calls" 2 "$(ec2 calls ec2:CreateFleet)"
equal "why it left" "SpotInterrupted spot" "$(kubectl karp history "node/$node" -o 'jsonpath={.entries[*].reason} {.entries[*].actor}')"
agent_stop agent
