# shellcheck shell=bash
# B1: spot, 0 to 10 replicas: one node sized to the demand.
ec2_start
agent_start agent
agent_ready agent
workload
expect 10 "the pool" True condition nodepool default Ready
scale 10
expect 20 "running pods" 10 running
equal "nodes" 1 "$(nodes)"
equal "claims" 1 "$(claims)"
equal "instances" "i-* *.4xlarge spot us-west-2? running ip-*" "$(ec2 list)"
equal "CreateFleet calls" 1 "$(ec2 calls ec2:CreateFleet)"
equal "nodes created, by the agent's count" 1 "$(metric agent karpenter_nodes_created_total)"
expect 10 "the claim" True condition nodeclaim "$(first nodeclaim)" Ready
equal "pairs" ok "$(ec2 pairs)"
# What joined is what the class says: the labels and taints come only through the user data.
node=$(first nodes)
equal "label intent" apps "$(field node "$node" .metadata.labels.intent)"
equal "label capacity-type" spot "$(field node "$node" '.metadata.labels.karpenter\.sh/capacity-type')"
expect 10 "initialized" true field node "$node" '.metadata.labels.karpenter\.sh/initialized'
equal "taints" "" "$(field node "$node" .spec.taints)"
agent_stop agent
