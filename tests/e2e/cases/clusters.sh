# shellcheck shell=bash
# kube-scheduler and the ReplicaSet controller on random small clusters do what the simulated ones
# would do. KARP_CLUSTERS and KARP_SEED choose how many, and which.
how_many=${KARP_CLUSTERS:-200}
python3 "$ROOT/tests/e2e/conformance/clusters.py" "$how_many" "${KARP_SEED:-1}" 240 >"$LOG_DIR/records.jsonl" ||
    die "clusters.py: status $?"
karp-sim compare "$LOG_DIR/records.jsonl" >"$LOG_DIR/compared" ||
    die "$(tail -n 1 "$LOG_DIR/compared"), the first: $(head -n 1 "$LOG_DIR/compared")"
note "$(tail -n 1 "$LOG_DIR/compared")"
# The time is bounded, but on a machine that is this slow it would mean little.
played=$(grep -c '"what": "rank"' "$LOG_DIR/records.jsonl")
[ "$played" -ge $((how_many / 2)) ] || die "only $played of $how_many clusters in the time there is"
