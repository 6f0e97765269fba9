# shellcheck shell=bash
# Holds, written by kubectl karp under the role that we ship: one keeps a node whose quiet time has
# begun, one undoes a replacement that is under way, one ends by itself; a viewer writes none.
ec2_start --boot 8s
mark=$(audit_mark)
agent_start agent --batch-max-duration=2s --log-level=debug
agent_ready agent
workload
scale 3
expect 40 "running pods" 3 running
node=$(first node)
claim=$(first nodeclaim)
expect 10 "the claim" True condition nodeclaim "$claim" Initialized
tainted() { kubectl get nodes -o 'jsonpath={.items[*].spec.taints[?(@.key=="karpenter.sh/disrupted")].effect}'; }
karp() { KUBECONFIG=$CP/operator.kubeconfig kubectl karp "$@" 2>>"$LOG_DIR/karp.err"; }

equal "a viewer's hold" "*forbidden*" "$(KUBECONFIG=$CP/viewer.kubeconfig kubectl karp hold "$node" 2>&1 || true)"
equal "dry run" "nodeclaim/$claim held (server dry run)" "$(karp hold "$node" --dry-run=server)"
equal "Holds after them" 0 "$(names holds)"

# A replacement is under way.
karp replace "$node" --yes >/dev/null
expect 20 "the taint" NoSchedule tainted
karp hold "$node" --reason "a look at it" >/dev/null
expect 5 "the taint after the Hold" "" tainted
equal "whose" operator@example.com "$(field hold "nodeclaim-$claim" .spec.by)"
stays 15 "the first node" "$claim" field nodeclaim "$claim" .metadata.name
equal "evictions" 0 "$(audit "$mark" writes | grep -c '^create pods/eviction' || true)"
kubectl annotate nodeclaim "$claim" karp.dev/replace- >/dev/null
equal "the way back" "nodeclaim/$claim no longer held" "$(karp unhold "$node")"
equal "cordon and hold" "node/$node cordoned"$'\n'"nodeclaim/$claim held until * UTC" \
    "$(karp cordon "$node" --hold 4h)"
equal "their way back" "node/$node uncordoned"$'\n'"node/$node no longer held" "$(karp uncordon "$node")"
expect 60 "claims, without what was launched for nothing" 1 claims

# A quiet time has begun.
before=$(logged agent 'waiting before its removal')
scale 0
quiet() { [ "$(logged agent 'waiting before its removal')" -gt "$before" ] && echo begun; }
expect 40 "the quiet time" begun quiet
karp hold nodepool/default >/dev/null
stays 25 "the empty node" "$claim" field nodeclaim "$claim" .metadata.name
equal "taints" "" "$(tainted)"
equal "status" 1 "$(kubectl karp status | grep -c '^HELD  *nodepool default by operator@example.com')"

# One that ends by itself, of the whole cluster and launches too; the agent deletes it.
equal "pause" "cluster paused, launches too, until *" "$(karp pause --all --for 6s --yes)"
scale 20
stays 4 "running pods" "[0-9]" running
expect 20 "Holds that are left" 1 names holds
expect 60 "running pods" 20 running
scale 0
karp unhold nodepool/default >/dev/null
expect 90 "instances" 0 instances
no_refusals "$mark"
agent_stop agent
