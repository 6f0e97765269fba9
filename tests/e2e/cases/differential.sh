# shellcheck shell=bash
# Plans for random small clusters, played by the real kube-scheduler: the share of planned pods that
# run on what was planned. KARP_PLANS and KARP_SEED choose how many, and which.
how_many=${KARP_PLANS:-50}
mkdir -p "$LOG_DIR/plans"
karp-sim differential --clusters $((how_many * 2)) --seed "${KARP_SEED:-1}" --write "$LOG_DIR/plans" >"$LOG_DIR/planned" ||
    die "$(head -n 1 "$LOG_DIR/planned")"
python3 "$ROOT/tests/e2e/conformance/plans.py" "$LOG_DIR/plans" "$how_many" 240 >"$LOG_DIR/played" || die "plans.py: $(tail -n 1 "$LOG_DIR/out")"
read -r plans _ planned _ _ ran _ < <(tail -n 1 "$LOG_DIR/played")
note "$(tail -n 1 "$LOG_DIR/played")"
[ "$plans" -ge $((how_many / 2)) ] || die "only $plans of $how_many plans in the time there is"
[ $((ran * 100)) -ge $((planned * 90)) ] || die "less than 90% of the planned pods run: $ran of $planned"
