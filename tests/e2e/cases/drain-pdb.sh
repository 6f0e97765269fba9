# shellcheck shell=bash
# A node with all replicas of a workload is deleted, under a PodDisruptionBudget that lets one be
# away: seen from outside, never two of them are down, though none has another place at first.
ec2_start --boot 3s
agent_start agent
agent_ready agent
workload
pdb inflate 'maxUnavailable: 1'
scale 6
expect 40 "running pods" 6 running
equal "nodes" 1 "$(nodes)"
node=$(field nodes '' '.items[?(@.metadata.labels.karpenter\.sh/nodepool)].metadata.name')
witness_start pods available app=inflate
expect 20 "available pods" 6 witness pods now
kubectl delete node "$node" --wait=false >/dev/null
on_old() { names pods -n default -l app=inflate --field-selector "spec.nodeName=$node"; }
expect 120 "pods on the node that leaves" 0 on_old
expect 60 "running pods" 6 running
expect 30 "available pods" 6 witness pods now
equal "least available pods" 5 "$(witness pods worst)"
expect 30 "the node" 0 names nodes --field-selector "metadata.name=$node"
equal "why it left" "NodeDeleted user" "$(kubectl karp history "node/$node" -o 'jsonpath={.entries[*].reason} {.entries[*].actor}')"
agent_stop agent
