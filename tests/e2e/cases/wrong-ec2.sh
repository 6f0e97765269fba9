# shellcheck shell=bash
# Trouble with EC2: it answers 500, refuses, or its answer is cut short. A clear condition or line, no
# end, never a second instance for a claim, and recovery.
ec2_start
taps_start
agent_start agent
agent_ready agent
tap aws fault 'call=^ec2:DescribeSubnets$' code=500 reason=InternalError >/dev/null
workload
expect 15 "the class's condition" '*InternalError*' condition ec2nodeclass default SubnetsReady message
equal "the class" Unknown "$(condition ec2nodeclass default Ready)"
equal "the pool" '!(True)' "$(condition nodepool default Ready)"
tap aws clear >/dev/null
expect 90 "the class when it has healed" True condition ec2nodeclass default Ready

# CreateFleet fails as such.
tap aws fault 'call=^ec2:CreateFleet$' code=500 reason=InternalError >/dev/null
scale 3
told() { condition nodeclaim "$(first nodeclaim)" Launched message; }
expect 40 "the claim's condition" '*InternalError*' told
equal "instances" 0 "$(instances)"
tap aws clear >/dev/null
expect 90 "running pods when it has healed" 3 running
equal "pairs" ok "$(ec2 pairs)"

# Not allowed.
tap aws fault 'call=^ec2:CreateFleet$' code=403 reason=UnauthorizedOperation >/dev/null
scale 20
denied() { kubectl get nodeclaims -o 'jsonpath={.items[*].status.conditions[?(@.type=="Launched")].message}'; }
expect 40 "the claim's condition" '*UnauthorizedOperation*' denied
tap aws clear >/dev/null
expect 90 "running pods when it is allowed" 20 running
equal "pairs" ok "$(ec2 pairs)"

# The launch happens, the answer ends half-way.
before=$(instances)
ec2 step '{"cut": {"action": "CreateFleet", "times": 1}}'
scale 60
expect 120 "running pods after an answer that was cut short" 60 running
expect 60 "pairs" ok ec2 pairs
[ "$(instances)" -gt "$before" ] || die "no new instance"
equal "errors that end the process" 0 "$(logged agent 'cannot go on')"
agent_stop agent
