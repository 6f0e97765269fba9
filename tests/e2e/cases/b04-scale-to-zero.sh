# shellcheck shell=bash
# B4: spot, 10 to 0 replicas: the node goes, and with it the instance, the claim and the Node object.
ec2_start
mark=$(audit_mark)
# Nodes that were just planned for pods stay for twice this time, at least 10 s.
agent_start agent --batch-max-duration=2s
agent_ready agent
workload
scale 10
expect 20 "running pods" 10 running
scale 0
expect 60 "instances" 0 instances
expect 15 "claims" 0 claims
expect 15 "nodes" 0 nodes
equal "deleted claims" 1 "$(audit "$mark" writes | grep -c '^delete nodeclaims ')"
equal "CreateFleet calls" 1 "$(ec2 calls ec2:CreateFleet)"
# Nobody but the ReplicaSet controller took a pod away.
equal "evictions and deletions of pods" 0 "$(audit "$mark" writes | grep -cE '^(create pods/eviction|delete pods)' || true)"
no_refusals "$mark"
agent_stop agent
