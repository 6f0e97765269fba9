# shellcheck shell=bash
# Somebody else's fresh Lease, in whatever namespace: the agent writes nothing anywhere and is ready
# all the same. When that controller is gone, the agent works.
ec2_start
foreign_start default
mark=$(audit_mark)
agent_start agent
agent_ready agent
expect 10 "karp_standby" 1 metric agent karp_standby
equal "readiness" '200 *standing by*' "$(readyz agent)"
workload
scale 3
stays 8 "writes while standing by" 0 writes_since "$mark"
equal "writing calls to EC2" 0 "$(($(ec2 calls ec2:CreateFleet) + $(ec2 calls ec2:CreateLaunchTemplate) + $(ec2 calls ec2:CreateTags)))"
equal "pool conditions" "" "$(field nodepool default .status.conditions)"
equal "leading" 0 "$(leading agent)"
equal "lines that say so" '[1-9]*' "$(logged agent 'standing by')"
equal "who is in charge, by the plugin" '*karpenter*' "$(kubectl karp status -o json | grep -o '"controller": *"[a-z]*"')"

proc_stop foreign KILL
lease_drop default
expect 15 "karp_standby" 0 metric agent karp_standby
expect 30 "running pods" 3 running
equal "the Lease's holder" 'karp-agent-agent-*' "$(lease_holder)"
equal "pairs" ok "$(ec2 pairs)"
agent_stop agent
