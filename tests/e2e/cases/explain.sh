# shellcheck shell=bash
# A pod that fits nowhere, explained: karp computes, the agent's Event stands apart and says the
# same; simulate and snapshot beside it. All under the reading role that we ship.
ec2_start
agent_start agent
agent_ready agent
workload
kubectl patch nodepool default --type merge -p '{"spec": {"limits": {"cpu": "10"}}}' >/dev/null
deployment huge 12 1Gi apps 1
deployment gpus 1 1Gi gpu 1
scale 2
expect 30 "running pods" 2 running
huge=$(field pods '' '.items[?(@.metadata.labels.app=="huge")].metadata.name')
event() { kubectl get events -n default --field-selector "involvedObject.name=$huge,reason=FailedScheduling" -o jsonpath='{.items[?(@.source.component=="karp")].message}'; }
expect 30 "the agent's word about $huge" 'Failed to schedule pod, nodepool default: needs cpu*' event
agent_says=$(event)
[ ${#agent_says} -le 1024 ] || die "the Event has ${#agent_says} bytes"

export KUBECONFIG=$CP/viewer.kubeconfig
kubectl karp explain pod "$huge" -n default >"$LOG_DIR/explain" 2>"$LOG_DIR/explain.err" ||
    die "explain: $(head -n 1 "$LOG_DIR/explain.err")"
for want in "^Pod default/$huge +Pending" '^VERDICT +No home: .*default' '^default +Limit +needs cpu' '^HOW FAR default GOT' \
    'kubectl patch nodepool default' '^CONTROLLER SAYS +\(karp, FailedScheduling'; do
    grep -qE "$want" "$LOG_DIR/explain" || die "no \"$want\" in $(head -c 600 "$LOG_DIR/explain")"
done
equal "stderr of explain" "" "$(cat "$LOG_DIR/explain.err")"
equal "its code" Limit "$(kubectl karp explain pod/"$huge" -n default -o 'jsonpath={.verdict.code}')"
# What explain computes is what the agent said; how much is left changes while nodes come.
computed=$(kubectl karp explain "pod/$huge" -n default -o 'jsonpath={.nodePools[0].message}')
equal "the Event" "*: ${computed%%,*}*" "$agent_says"
equal "causes" "*Requirement*Limit*" "$(kubectl karp explain pods --pending -o 'jsonpath={.groups[*].code}')"
# The way out that it names is one.
kubectl karp simulate --set 'nodepool/default.spec.limits.cpu=64' >"$LOG_DIR/simulate" || die "simulate failed"
grep -qE '^2 pods: 0 on existing nodes, 1 on new nodes, 1 without a home' "$LOG_DIR/simulate" || die "simulate: $(head -c 400 "$LOG_DIR/simulate")"
equal "replicas scaled up" 5 "$(kubectl karp simulate --scale default/inflate=7 -o json | python3 -c 'import json,sys; s=json.load(sys.stdin)["summary"]; print(s["pods"] - 2)')"
kubectl karp snapshot --redact >"$LOG_DIR/redacted.yaml" 2>"$LOG_DIR/snapshot.err" || die "snapshot failed"
equal "stderr of snapshot" "" "$(cat "$LOG_DIR/snapshot.err")"
equal "names in the redacted snapshot" 0 "$(grep -cE 'inflate|huge|gpus' "$LOG_DIR/redacted.yaml" || true)"
equal "pods, offline" 1 "$(kubectl-karp simulate --snapshot "$LOG_DIR/redacted.yaml" --set pod/nobody.spec.x=1 2>&1 | grep -c 'there is no Pod')"
equal "pods without a home, offline" 2 "$(kubectl-karp simulate --snapshot "$LOG_DIR/redacted.yaml" -o 'jsonpath={.summary.unschedulable}')"
agent_stop agent
