# shellcheck shell=bash
# Disruption with consent, by the roles and policies that we ship. Six pools, each with a node that is
# far too large: nothing happens to any before somebody agrees. What was denied, has run out or was
# superseded stays; what was approved is carried out as it was filed; a grant covers the pool that it
# names and no other.
policy() { kubectl "$1" -f "$ROOT/deploy/base/31-approvals.yaml" "${@:2}" >/dev/null; }
trap 'policy delete --ignore-not-found' EXIT
policy apply
karp() { KUBECONFIG=$CP/$1.kubeconfig kubectl karp "${@:2}" 2>&1 </dev/null || true; } # USER command...
request() { kubectl get dreq -o "jsonpath={.items[?(@.spec.nodePools[0]==\"$1\")].metadata.name}"; } # POOL
phase() { kubectl get dreq -o "jsonpath={.items[?(@.spec.nodePools[0]==\"$1\")].status.phase}"; }    # POOL
claim() { kubectl get nodeclaims -l "karpenter.sh/nodepool=$1" -o 'jsonpath={.items[*].metadata.name}'; }
pending() { kubectl get dreq -o 'jsonpath={.items[?(@.status.phase=="Pending")].metadata.name}' | wc -w; }
tainted() { kubectl get nodes -o 'jsonpath={.items[*].spec.taints[?(@.key=="karpenter.sh/disrupted")].effect}'; }
pools="denied approved lapsed superseded granted waits"

ec2_start
mark=$(audit_mark)
agent_start agent --approval=Required --approval-ttl=90s
agent_ready agent
class
for p in $pools; do
    pool "$p" on-demand "" "$p"
    deployment "$p" 1 1.5Gi "$p"
    scale 8 "$p" # one after the other, so that each has one node
    expect 60 "running pods of $p" 8 running "$p"
done
declare -A was
for p in $pools; do
    was[$p]=$(claim "$p")
    scale 1 "$p"
done
expect 90 "requests that wait" 6 pending
equal "taints" "" "$(tainted)"
equal "the attention of status" 1 "$(karp viewer status | grep -c 'approval  *6 requests wait for a decision')"
equal "whose consent the plan lacks" '*wait for a person: kubectl karp approve*' "$(karp viewer consolidate --dry-run)"
equal "and a node" '*approval *no *request dr-* waits for a decision*' "$(karp viewer explain nodeclaim "${was[denied]}")"
r=$(request approved)
equal "the plan holds" '*fresh  checked against the cluster now: still valid*' "$(karp viewer approve "$r" --show)"
equal "the columns" "$r Underutilized 1 1 1 *" "$(kubectl get dreq "$r" --no-headers | xargs)"
digest=$(field dreq "$r" .spec.planDigest)

# One is granted, one denied, one loses its node, one is approved; two wait.
equal "a grant" '*created*' "$(karp approver grant now --pool granted --reason Underutilized --max-nodes-per-hour 1 --for 1h --yes)"
equal "a denial" '*denied*' "$(karp operator deny "$(request denied)" --yes)"
lost=$(request superseded)
kubectl delete nodeclaim "${was[superseded]}" --wait=false >/dev/null
equal "an approval, followed to its end" "*$r *> Executing*> Succeeded*" "$(karp approver approve "$r" --yes --wait)"
equal "who" "approver@example.com" "$(field dreq "$r" .status.approvedBy)"
equal "another node of pool approved" "approved-*" "$(claim approved)"
[ "$(claim approved)" != "${was[approved]}" ] || die "the node of pool approved is the old one"
history() { kubectl get configmap -n karp karp-history -o 'jsonpath={.data.history\.json}' | grep -c "$digest" || true; }
expect 20 "the plan in the history" '[1-9]*' history
expect 90 "the request that is granted" Succeeded phase granted
equal "by" "now approver@example.com" "$(kubectl get dreq "$(request granted)" -o 'jsonpath={.status.grant} {.status.approvedBy}')"
expect 60 "the request whose node is gone" Superseded field dreq "$lost" .status.phase
equal "its approval" '*refused*' "$(karp approver approve "$lost" --yes)"
equal "the denied one" Denied "$(phase denied)"

# Time passes.
expire=$(request lapsed)
expect 120 "the request that nobody looked at" Expired field dreq "$expire" .status.phase
equal "its approval" '*refused*Expired*' "$(karp approver approve "$expire" --yes)"
kubectl patch dreq "$expire" --type merge -p '{"spec": {"decision": "Approved", "decidedBy": "admin"}}' >/dev/null
stays 25 "the node of pool lapsed" "${was[lapsed]}" claim lapsed
equal "the node of pool waits" "${was[waits]}" "$(claim waits)"
equal "the node of pool denied" "${was[denied]}" "$(claim denied)"
equal "the expired one" Expired "$(field dreq "$expire" .status.phase)"
equal "who decided what the agent filed" "" "$(audit "$mark" writes | grep -E '^(update|patch) disruptionrequests ' || true)"
no_refusals "$mark"
agent_stop agent
