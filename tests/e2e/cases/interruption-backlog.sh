# shellcheck shell=bash
# Twenty thousand messages about other people's instances, odd ones among them, and behind them one
# notice about a node of ours: within ten seconds its node is on its way out. All of them are deleted.
ec2_start
agent_start agent --interruption-queue=sim
agent_ready agent
workload
scale 4
expect 60 "running pods" 4 running
equal "nodes" 1 "$(nodes)"
deleted() { metric agent karpenter_interruption_deleted_messages_total; }
# What the launch itself put into the queue.
expect 30 "messages so far" '[1-9]*' deleted
before=$(deleted)
read -r id _ < <(ec2 list)
spot='"version": "0", "source": "aws.ec2", "detail-type": "EC2 Spot Instance Interruption Warning"'
filled=$(now_ms)
ec2 step "{\"messages\": [
    {\"times\": 7000, \"body\": {$spot, \"detail\": {\"instance-id\": \"i-0123456789abcdef0\", \"instance-action\": \"terminate\"}}},
    {\"times\": 7000, \"body\": {\"version\": \"0\", \"source\": \"aws.ec2\", \"detail-type\": \"EC2 Instance State-change Notification\", \"detail\": {\"instance-id\": \"i-0123456789abcdef1\", \"state\": \"stopping\"}}},
    {\"times\": 3000, \"body\": {$spot, \"detail\": {\"instance-id\": 7}}},
    {\"times\": 3000, \"body\": \"this is no JSON, and neither is {\"}]}"
begin=$(now_ms)
ec2 step "{\"spotInterruption\": [\"$id\"]}"
expect 10 "the claim on its way out" '2*' field nodeclaims '' '.items[0].metadata.deletionTimestamp'
acted=$(($(now_ms) - begin))
all() { [ "$(deleted)" -gt $((before + 20000)) ] && echo all; }
expect 30 "deletion of the messages" all all
took=$(($(now_ms) - filled))
note "acted on after $((acted / 1000)).$((acted / 100 % 10)) s, $((20001 * 1000 / took)) messages/s"
expect 60 "running pods" 4 running
expect 60 "nodes" 1 nodes
agent_alive agent
agent_stop agent
