# shellcheck shell=bash
# Two replicas: one leads and writes, the other only reads. Killed, the leader is followed by the
# other one when the Lease has run out; told to stop, it gives the Lease back first.
ec2_start
agent_start one
agent_start two
agent_ready one
agent_ready two
leaders() { echo $(($(leading one) + $(leading two))); }
expect 10 "leaders" 1 leaders
if [ "$(leading one)" = 1 ]; then lead=one other=two; else lead=two other=one; fi
equal "the Lease's holder" "karp-agent-$lead-*" "$(lease_holder)"
workload
scale 3
expect 20 "running pods" 3 running
equal "CreateFleet calls" 1 "$(ec2 calls ec2:CreateFleet)"
equal "writes of the one that waits" 0 "$(metric $other client_go_request_total 'method="POST"')"

proc_stop $lead KILL
scale 20
expect 30 "the other one leads" 1 leading $other
expect 30 "running pods" 20 running
equal "the Lease's holder" "karp-agent-$other-*" "$(lease_holder)"
equal "pairs" ok "$(ec2 pairs)"

agent_start $lead
agent_ready $lead
equal "leading, restarted" 0 "$(leading $lead)"
agent_stop $other
expect 6 "the one that was restarted leads" 1 leading $lead
equal "pairs" ok "$(ec2 pairs)"
agent_stop $lead
equal "the Lease's holder in the end" "" "$(lease_holder)"
