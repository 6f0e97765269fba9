# shellcheck shell=bash
# What could leave, as kubectl shows it under the reading role that we ship: nothing is written, every
# node is told about once, and a PodDisruptionBudget that forbids is named. Then under plain `view`,
# which may see less: what it may not see is said, and nothing is made up.
ec2_start
agent_start agent
agent_ready agent
workload
# The agent lets all of them be, so that the plan stands still.
kubectl patch nodepool default --type merge -p '{"spec": {"disruption": {"budgets": [{"nodes": "0"}]}}}' >/dev/null
scale 12
expect 30 "running pods" 12 running
scale 30
expect 40 "running pods" 30 running
scale 6
expect 30 "running pods" 6 running
nodes=$(kubectl get nodes -l karpenter.sh/nodepool=default -o name | wc -l)
[ "$nodes" -gt 1 ] || die "one node is not enough to choose from"

mark=$(audit_mark)
export KUBECONFIG=$CP/viewer.kubeconfig
plan() { kubectl karp consolidate --dry-run -o json >"$LOG_DIR/plan.json" 2>"$LOG_DIR/plan.err" || die "consolidate: $(head -n 1 "$LOG_DIR/plan.err")"; }
ask() { python3 -c 'import json,sys; p=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$LOG_DIR/plan.json" "$1"; }
plan
equal "stderr of consolidate" "" "$(cat "$LOG_DIR/plan.err")"
equal "kind" ConsolidationPlan "$(ask 'p["kind"]')"
equal "nodes told about" "$nodes" "$(ask 'len(set([o["node"] for a in p["actions"] for o in a["nodesOut"]] + [b["node"] for b in p["blocked"]]))')"
equal "nodes in the summary" "$nodes" "$(ask 'p["summary"]["nodes"]')"
equal "an action" True "$(ask 'len(p["actions"]) > 0')"
equal "money saved" True "$(ask 'float(p["summary"]["savingsPerHour"]) > 0')"
equal "what holds it" Budget "$(ask '" ".join(sorted(set(c for a in p["actions"] for c in a["heldBy"])))')"
equal "incomplete" False "$(ask 'p["incomplete"]')"
out=$(ask 'p["actions"][0]["nodesOut"][0]["node"]')
digest=$(ask 'p["digest"]')
rc=0
kubectl karp consolidate --dry-run --exit-code >"$LOG_DIR/screen" 2>&1 || rc=$?
equal "--exit-code" 2 "$rc"
for want in '^SAVES ' '^# +ACTION +OUT' '^Who acts: karp-agent'; do
    grep -qE "$want" "$LOG_DIR/screen" || die "no \"$want\" in $(head -c 600 "$LOG_DIR/screen")"
done
rc=0
kubectl karp consolidate >"$LOG_DIR/bare" 2>&1 || rc=$?
equal "without --dry-run" 3 "$rc"

kubectl karp explain node "$out" >"$LOG_DIR/node" 2>"$LOG_DIR/node.err" || die "explain node: $(head -n 1 "$LOG_DIR/node.err")"
for want in "^Node $out +nodeclaim default-" '^VERDICT +Could leave' '^STATE +Launched .*Initialized' '^GATE +PASS' '^consolidateAfter +yes'; do
    grep -qE "$want" "$LOG_DIR/node" || die "no \"$want\" in $(head -c 800 "$LOG_DIR/node")"
done
equal "gates of $out" 30 "$(kubectl karp explain "node/$out" -o json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["gates"]))')"
equal "the pool's name" default "$(kubectl karp explain nodepool default -o 'jsonpath={.name}')"
equal "the same plan again" "$digest" "$(kubectl karp consolidate --dry-run -o 'jsonpath={.digest}')"
equal "writes of the viewer" "" "$(audit "$mark" writes viewer@example.com)"

# A budget that never lets a pod go.
export KUBECONFIG=$CP/admin.kubeconfig
apply <<'Y'
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: inflate, namespace: default}
spec: {minAvailable: 100%, selector: {matchLabels: {app: inflate}}}
Y
seen() { kubectl get pdb -n default inflate -o 'jsonpath={.status.observedGeneration}'; }
expect 10 "the budget's status" 1 seen
export KUBECONFIG=$CP/viewer.kubeconfig
plan
equal "blocked by the budget" True "$(ask '"PDBPermanent" in [b["code"] for b in p["blocked"]]')"
equal "whose name it tells" default/inflate "$(ask '[b["operands"]["podDisruptionBudget"] for b in p["blocked"] if b["code"] == "PDBPermanent"][0]')"

# Plain `view` sees pods, but neither nodes nor pools.
export KUBECONFIG=$CP/admin.kubeconfig
kubectl karp consolidate --dry-run --as plain@example.com -o json >"$LOG_DIR/plan.json" 2>"$LOG_DIR/plan.err" || die "under view: $(tail -n 1 "$LOG_DIR/plan.err")"
equal "said aloud" "*not allowed to list nodes; the answer may be incomplete*" "$(cat "$LOG_DIR/plan.err")"
equal "incomplete" True "$(ask 'p["incomplete"]')"
equal "actions under view" 0 "$(ask 'len(p["actions"])')"
equal "and on the screen" "*UNKNOWN   Too much is hidden*nodes*" "$(kubectl karp consolidate --dry-run --as plain@example.com 2>/dev/null)"
rc=0
kubectl karp explain node "$out" --as plain@example.com >"$LOG_DIR/node" 2>&1 || rc=$?
equal "explain node under view" 1 "$rc"
equal "and why" "*not allowed to list nodes*" "$(tail -n 1 "$LOG_DIR/node")"
agent_stop agent
