# shellcheck shell=bash
# Somebody deletes a NodePool of 30 nodes, and the garbage collector deletes all of its NodeClaims: seen
# from outside, never more of its nodes are drained at once than its budget allowed, also when the agent
# is killed in between, and every pod has somewhere to go, in the other pool.
COUNT=30 BUDGET=3
ec2_start
agent_start agent "$QUICK"
agent_ready agent
class
size='- {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["4"]}'
pool old spot "$size"
kubectl patch nodepool old --type merge -p "{\"spec\": {\"disruption\": {\"budgets\": [{\"nodes\": \"$BUDGET\"}]}}}" >/dev/null
deployment inflate 3 1Gi
scale $COUNT
expect 90 "running pods" $COUNT running
equal "nodes" $COUNT "$(nodes)"
pool new spot "$size"
expect 10 "the other pool" True condition nodepool new Ready

witness_start emptied emptied old
witness_start available available app=inflate
expect 20 "available pods" $COUNT witness available now
kubectl annotate nodepool old karp.dev/confirm-delete=true >/dev/null
kubectl delete nodepool old --wait=false >/dev/null
going() { field nodeclaims '' '.items[?(@.metadata.labels.karpenter\.sh/nodepool=="old")].metadata.deletionTimestamp' | wc -w; }
expect 20 "claims that are deleted" $COUNT going
old() { names nodeclaims -l karpenter.sh/nodepool=old; }
expect 90 "some are gone" '2[0-4]' old
agent_kill agent
agent_start agent "$QUICK"
expect 200 "claims of the deleted pool" 0 old
expect 30 "running pods" $COUNT running
expect 30 "claims" $COUNT claims
sleep 1.5 # what the witness holds back
worst=$(witness emptied worst)
[ "$worst" -le $BUDGET ] || die "$worst nodes were drained at once, the budget allowed $BUDGET"
[ "$worst" -ge 1 ] || die "nobody has seen a node being drained"
note "at most $worst of $COUNT drained at once, $(witness available worst) pods available"
equal "the history" "$COUNT nodes left in 10m: $COUNT user*" "$(kubectl karp history nodepool/old --since 10m | head -n 1)"
agent_stop agent
