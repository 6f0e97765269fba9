# shellcheck shell=bash
# A pool of 30 nodes is replaced through kubectl by somebody with the operator's role: never more of
# them are drained at once than the pool's budget allows, each one after its replacement; killed in
# the middle the agent goes on. Then the history has each of them once.
COUNT=30 BUDGET=5
operator() { kubectl karp "$@" --as operator@example.com; }
ec2_start
agent_start agent "$QUICK"
agent_ready agent
class
pool default spot '- {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["4"]}'
kubectl patch nodepool default --type merge -p "{\"spec\": {\"disruption\": {\"budgets\": [{\"nodes\": \"$BUDGET\"}]}}}" >/dev/null
deployment inflate 3 1Gi
scale $COUNT
expect 90 "running pods" $COUNT running
equal "nodes" $COUNT "$(nodes)"
kubectl get nodeclaims -o name | sort >"$LOG_DIR/before"

# Nobody without the role, nothing without a yes, nothing by a dry run.
rc=0
kubectl karp replace nodepool/default --yes --as viewer@example.com >"$LOG_DIR/viewer" 2>&1 || rc=$?
equal "replace by a viewer" 1 $rc
equal "and why" "*cannot patch*" "$(cat "$LOG_DIR/viewer")"
rc=0
operator replace nodepool/default >"$LOG_DIR/asked" 2>&1 </dev/null || rc=$?
equal "replace without a terminal" 3 $rc
equal "a dry run" "nodepool.karpenter.sh/default to be replaced (server dry run)" "$(operator replace nodepool/default --dry-run=server 2>"$LOG_DIR/dry")"
mark() { field nodepool default '.metadata.annotations.karp\.dev/replace'; }
equal "the mark before" "" "$(mark)"

witness_start draining draining default
witness_start least least-nodes default
expect 20 "nodes that are in service" $COUNT witness least now
equal "replace" "nodepool.karpenter.sh/default to be replaced" "$(operator replace nodepool/default --yes 2>"$LOG_DIR/yes")"
asked=$(mark)
old() { kubectl get nodeclaims -o name | sort | comm -12 - "$LOG_DIR/before" | wc -l; }
expect 60 "claims of before" '2[0-5]' old
equal "asking again" "nodepool/default is being replaced already*" "$(operator replace nodepool/default --yes 2>"$LOG_DIR/again")"
equal "the mark" "$asked" "$(mark)"
agent_kill agent
agent_start agent "$QUICK"
expect 200 "claims of before" 0 old
expect 30 "claims" $COUNT claims
expect 30 "running pods" $COUNT running
worst=$(witness draining worst)
[ "$worst" -le $BUDGET ] || die "$worst nodes were drained at once, the budget allows $BUDGET"
least=$(witness least worst)
[ "$least" -ge $((COUNT - BUDGET)) ] || die "only $least nodes were in service, the budget allows $BUDGET away"
note "at most $worst of $COUNT drained at once"
replaced() { kubectl karp history nodepool/default --since 10m -o json | python3 -c '
import json, sys
e = [x for x in json.load(sys.stdin)["entries"] if x["reason"] == "Replaced" and x["actor"] == "user"]
print(len(e), len(set(x["nodeClaim"] for x in e)), sum(len(x.get("replacedBy", [])) == 1 for x in e) >= 20)'; }
# Some need no node of their own: the pods of one find room that another one left.
expect 20 "entries of the history" "$COUNT $COUNT True" replaced
equal "the screen" "$COUNT nodes left in 10m: $COUNT user*" "$(KUBECONFIG=$CP/viewer.kubeconfig kubectl karp history --since 10m | head -n 1)"

# One node: asked for, gone, and explained afterwards.
node=$(first nodes)
equal "cordon" "node/$node cordoned" "$(operator cordon "$node")"
equal "its field" true "$(field node "$node" .spec.unschedulable)"
equal "cordon again" "node/$node already cordoned" "$(operator cordon "$node")"
equal "uncordon" "node/$node uncordoned" "$(operator uncordon "$node")"
equal "its field" "" "$(field node "$node" .spec.unschedulable)"
equal "replace of one" "nodeclaim.karpenter.sh/* to be replaced" "$(operator replace "$node" --yes 2>"$LOG_DIR/one")"
expect 60 "the node" 0 names nodes --field-selector "metadata.name=$node"
equal "explain node" "Gone" "$(KUBECONFIG=$CP/viewer.kubeconfig kubectl karp explain node "$node" -o 'jsonpath={.verdict.code}')"
agent_stop agent
