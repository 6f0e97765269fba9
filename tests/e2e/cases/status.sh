# shellcheck shell=bash
# The plugin as kubectl finds it on PATH, under the reading role that we ship.
ec2_start
agent_start agent
agent_ready agent
workload
scale 10
expect 20 "running pods" 10 running
expect 15 "nodes of the pool" 1 field nodepool default .status.nodes
export KUBECONFIG=$CP/viewer.kubeconfig
equal "kubectl plugin list" "*kubectl-karp*" "$(kubectl plugin list 2>&1)"
kubectl karp status >"$LOG_DIR/status" 2>"$LOG_DIR/status.err" || die "kubectl karp status: $(head -n 1 "$LOG_DIR/status.err")"
for want in 'Nodes +1 ready' 'Pods +10 bound' '^NODEPOOL .*READY .*NODES' '^default +True +1 '; do
    grep -qE "$want" "$LOG_DIR/status" || die "no \"$want\" in $(head -c 400 "$LOG_DIR/status")"
done
equal "stderr of status" "" "$(cat "$LOG_DIR/status.err")"
kubectl karp status -o json >"$LOG_DIR/status.json" || die "kubectl karp status -o json failed"
python3 - "$LOG_DIR/status.json" >"$LOG_DIR/why" <<'PY' || exit 1
import decimal, json, sys
r = json.load(open(sys.argv[1]))
pool = r["nodePools"][0]
for what, want, seen in (
    ("apiVersion", "karp.dev/v1alpha1", r["apiVersion"]),
    ("kind", "StatusReport", r["kind"]),
    ("controller", "karp", r["cluster"]["controller"]),
    ("nodes.ready", 1, r["nodes"]["ready"]),
    ("nodes.launching", 0, r["nodes"]["launching"]),
    ("pods.bound", 10, r["pods"]["bound"]),
    ("pods.unschedulable", 0, r["pods"]["unschedulable"]),
    ("usage.cpu.requested", "10", r["usage"]["cpu"]["requested"]),
    ("pool", ("default", 1, 10), (pool["name"], pool["nodes"], pool["weight"])),
    ("price is money", True, decimal.Decimal(r["pricePerHour"]) > 0),
    ("incomplete", False, r.get("incomplete", False)),
):
    if want != seen:
        sys.exit(print("%s: wanted %r, saw %r" % (what, want, seen)) or 1)
PY
rm -f "$LOG_DIR/why"
# The same from saved objects, without any cluster.
KUBECONFIG=$CP/admin.kubeconfig kubectl get nodes,pods,nodepools,nodeclaims,ec2nodeclasses -A -o json >"$LOG_DIR/snapshot.json"
env -u KUBECONFIG HOME=/nonexistent kubectl-karp status --snapshot "$LOG_DIR/snapshot.json" -o json >"$LOG_DIR/offline.json" ||
    die "status --snapshot failed"
equal "bound pods, offline" 10 "$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["pods"]["bound"])' "$LOG_DIR/offline.json")"
agent_stop agent
