# shellcheck shell=bash
# B2: spot, 10 to 20 replicas: a second, smaller node is added; nobody moves.
ec2_start
agent_start agent
agent_ready agent
workload
scale 10
expect 20 "running pods" 10 running
first=$(ec2 list)
before=$(kubectl get pods -n default -l app=inflate -o 'jsonpath={range .items[*]}{.metadata.uid} {.spec.nodeName}{"\n"}{end}' | sort)
scale 20
expect 20 "running pods" 20 running
equal "nodes" 2 "$(nodes)"
equal "the first instance" "$first" "$(ec2 list | head -n 1)"
equal "the second instance" "i-* *.?(2|3|4)xlarge spot us-west-2? running ip-*" "$(ec2 list | tail -n 1)"
after=$(kubectl get pods -n default -l app=inflate -o 'jsonpath={range .items[*]}{.metadata.uid} {.spec.nodeName}{"\n"}{end}' | sort)
equal "pods that stayed" 10 "$(comm -12 <(echo "$before") <(echo "$after") | wc -l)"
equal "pairs" ok "$(ec2 pairs)"
agent_stop agent
