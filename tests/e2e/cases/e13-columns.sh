# shellcheck shell=bash
# E13: the columns of `kubectl get nodepool -o wide`, and what stands in them.
ec2_start
agent_start agent
agent_ready agent
workload
scale 10
expect 20 "running pods" 10 running
wide() { kubectl get nodepool -o wide | tr -s ' '; }
equal "columns" "NAME NODECLASS NODES READY AGE WEIGHT CPU MEMORY" "$(wide | head -n 1 | sed 's/ $//')"
expect 15 "the row" "default default 1 True * 10 16 [0-9]*" eval 'wide | tail -n 1 | sed "s/ $//"'
equal "nodeclaim columns" "NAME TYPE CAPACITY ZONE NODE READY AGE IMAGEID ID NODEPOOL NODECLASS DRIFTED" \
    "$(kubectl get nodeclaim -o wide | head -n 1 | tr -s ' ' | sed 's/ $//')"
expect 10 "the claim" "default-* *.4xlarge spot us-west-2? ip-* True * ami-* aws:///us-west-2?/i-* default default" \
    eval "kubectl get nodeclaim -o wide --no-headers | tr -s ' ' | sed 's/ $//'"
equal "nodeclass columns" "NAME READY AGE ROLE" "$(kubectl get ec2nc -o wide | head -n 1 | tr -s ' ' | sed 's/ $//')"
agent_stop agent
