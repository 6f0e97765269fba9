# shellcheck shell=bash
# B8: on-demand, 20 to 2 replicas: the node is replaced by a small one, which is ready before the old one is
# deleted; as the plan said that is shown before.
ec2_start
agent_start agent --batch-max-duration=2s
agent_ready agent
workload on-demand
scale 20
expect 20 "running pods" 20 running
old=$(first nodeclaims)
sleep 10 # until its pods are no news any more
scale 2
expect 10 "running pods" 2 running
plan=$LOG_DIR/plan.json
kubectl karp consolidate --dry-run -o json >"$plan" 2>"$LOG_DIR/plan.err" || die "consolidate: $(head -n 1 "$LOG_DIR/plan.err")"
ask() { python3 -c 'import json,sys; p=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$plan" "$1"; }
equal "action" replace "$(ask 'p["actions"][0]["kind"]')"
digest=$(ask 'p["actions"][0]["planDigest"]')
expect 30 "claims" 2 claims
marked() { condition nodeclaim "$old" DisruptionReason message; }
equal "the plan that is carried out" "*, plan $digest" "$(marked)"
expect 45 "claims" 1 claims
expect 15 "instances" 1 instances
expect 20 "running pods" 2 running
equal "the instance" "i-* *.xlarge on-demand us-west-2? running ip-*" "$(ec2 list)"
equal "pairs" ok "$(ec2 pairs)"
agent_stop agent
