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

# CreateFleet fails as such: nobody knows whether there is an instance now. Its claim is looked after
# for a minute before anything is launched again; meanwhile the others are served.
tap aws fault 'call=^ec2:CreateFleet$' code=500 reason=InternalError >/dev/null
scale 3
expect 20 "a word in the log" '[1-9]*' logged agent -E 'without a clear answer.*InternalError'
equal "instances" 0 "$(instances)"
tap aws clear >/dev/null

# Not allowed: a definite answer, said in the claim's condition.
tap aws fault 'call=^ec2:CreateFleet$' code=403 reason=UnauthorizedOperation >/dev/null
pool denied spot '' denied
deployment denied 1 1Gi denied 2
told() { kubectl get nodeclaims -l karpenter.sh/nodepool="$1" -o "jsonpath={.items[*].status.conditions[?(@.type==\"Launched\")].$2}"; }
expect 20 "the claim's condition" '*UnauthorizedOperation*' told denied message
equal "its status" Unknown "$(told denied status)"
tap aws clear >/dev/null
expect 60 "running pods when it is allowed" 2 running denied
equal "claims of that pool" 1 "$(names nodeclaims -l karpenter.sh/nodepool=denied)"

# The launch happens, the answer ends half-way: the instance is found and adopted.
ec2 step '{"cut": {"action": "CreateFleet", "times": 1}}'
pool cut spot '' cut
deployment cut 1 1Gi cut 2
expect 60 "running pods after an answer that was cut short" 2 running cut
expect 10 "instances of that pool" 1 eval 'ec2 list | grep -c "$(field node "" ".items[?(@.metadata.labels.intent==\"cut\")].metadata.name")\$"'

expect 90 "running pods of the claim without a clear answer" 3 running
expect 10 "pairs" ok ec2 pairs
equal "instances" 3 "$(instances)"
agent_stop agent
