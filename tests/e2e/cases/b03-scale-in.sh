# shellcheck shell=bash
# B3: spot, 20 to 10 replicas: what `consolidate --dry-run` shows is what the agent does, and within 45 s. (Karpenter
# was seen to need 317 s for it.)
ec2_start
agent_start agent --batch-max-duration=2s
agent_ready agent
workload
scale 10
expect 20 "running pods" 10 running
scale 20
expect 20 "running pods" 20 running
equal "nodes" 2 "$(nodes)"
sleep 10 # until the second node's pods are no news any more
mark=$(audit_mark)
scale 10
expect 10 "running pods" 10 running
plan=$LOG_DIR/plan.json
kubectl karp consolidate --dry-run -o json >"$plan" 2>"$LOG_DIR/plan.err" || die "consolidate: $(head -n 1 "$LOG_DIR/plan.err")"
ask() { python3 -c 'import json,sys; p=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$plan" "$1"; }
equal "actions" 1 "$(ask 'len(p["actions"])')"
out=$(ask 'p["actions"][0]["nodesOut"][0]["node"]')
digest=$(ask 'p["actions"][0]["planDigest"]')
expect 45 "instances" 1 instances
expect 15 "nodes" 1 nodes
equal "the node that left" 0 "$(names node "$out")"
expect 20 "running pods" 10 running
equal "evicted pods" "$(ask 'p["actions"][0]["nodesOut"][0]["podsMoved"]')" "$(audit "$mark" writes | grep '^create pods/eviction ' | cut -d' ' -f3 | sort -u | grep -c .)"
history() { kubectl get configmap -n karp karp-history -o 'jsonpath={.data.history\.json}' | python3 -c 'import json,sys; print([e.get("planDigest") for e in json.load(sys.stdin)["entries"]][-1])'; }
expect 20 "the plan in the history" "$digest" history
equal "pairs" ok "$(ec2 pairs)"
agent_stop agent
