#!/usr/bin/env bash
# End-to-end: the real binaries on a real control plane, with karp-ec2 as EC2.
#
# Plays tests/e2e/cases/*.sh and prints "ok NAME" or "not ok NAME: why", at the end "N passed, N failed".
# Most of the time a case waits, so two lanes play side by side, each on a control plane of its own, and
# take the next case from one list; what takes longest comes first. Where memory or cores are short, or
# with E2E_LANES=1, there is one. Logs are kept in build/e2e: cp-LANE/log of the control planes, NAME/ of
# the cases. However it ends, everything it started ends with it.
# usage: run.sh [PATTERN]     PATTERN (regular expression) narrows the cases by name
set -uo pipefail
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
export ROOT
OUT=$ROOT/build/e2e
CASE_SECONDS=${CASE_SECONDS:-600}
LANE_KIB=$((2500 * 1024)) # of memory: a control plane takes 1 to 1.5 GiB
LONGEST=(clusters kill differential kill-late wrong-ec2 hold)
pattern=${1:-.}
lanes=() playing=
# The way to 127.0.0.1 leads through no proxy.
export no_proxy=127.0.0.1,localhost NO_PROXY=127.0.0.1,localhost PYTHONDONTWRITEBYTECODE=1
# shellcheck source=tests/e2e/cp.sh
. "$ROOT/tests/e2e/cp.sh"

exec 8<"$ROOT" # the folder itself: no file is left behind
flock -n 8 || { echo "another end-to-end run of this tree is under way" >&2; exit 1; }

CP_BIN=$("$ROOT/tests/e2e/build.sh") || { echo "0 passed, 1 failed"; exit 1; }
PATH=$CP_BIN:$PATH
export CP_BIN

# Children of this shell that still run.
end_lanes() {
    local pid
    trap '' INT TERM HUP
    for pid in "${lanes[@]+"${lanes[@]}"}"; do kill "$pid" 2>/dev/null; done
    for pid in "${lanes[@]+"${lanes[@]}"}"; do wait "$pid" 2>/dev/null; done
}
trap 'exit 130' INT TERM HUP
trap end_lanes EXIT

# Nothing that a case started outlives it, and nothing that it made is left in the cluster.
between_cases() {
    local f n
    for f in "$CP"/pids/*; do
        n=${f##*/}
        case $n in etcd | apiserver | kcm | sched | kwok) ;; *) proc_stop "$n" KILL ;; esac
    done
    # Written by lib.sh before it loosens something that we install.
    [ ! -e "$LOG_DIR/reinstall" ] || kubectl replace -f "$ROOT/deploy/crds" || return 1
    python3 "$ROOT/tests/e2e/kube.py" wipe
}

play() { # FILE
    local name=${1##*/} begin=$SECONDS rc=0 why
    name=${name%.sh}
    export LOG_DIR=$OUT/$name
    rm -rf "$LOG_DIR"
    mkdir -p "$LOG_DIR"
    # In the background, so that a signal need not wait for the case's end.
    timeout -k 5 "$CASE_SECONDS" bash "$ROOT/tests/e2e/case.sh" "$1" >"$LOG_DIR/out" 2>&1 8>&- &
    playing=$!
    wait $playing || rc=$?
    playing=
    # What a failed case left, for whoever reads its logs.
    [ $rc = 0 ] || kubectl get nodes,nodeclaims,nodepools,ec2nodeclasses,holds,disruptionrequests,disruptiongrants,pods,leases,events -A -o yaml >"$LOG_DIR/objects.yaml" 2>&1
    if ! between_cases >>"$LOG_DIR/out" 2>&1; then
        [ $rc != 0 ] || { rc=1; echo "the cluster could not be put back" >"$LOG_DIR/why"; }
    fi
    if [ $rc = 0 ]; then
        echo "$name" >>"$OUT/passed"
        echo "ok $name ($((SECONDS - begin)) s)$(sed 's/^/, /' "$LOG_DIR/note" 2>/dev/null)"
        return
    fi
    echo "$name" >>"$OUT/failed"
    [ $rc != 124 ] || echo "not over after $CASE_SECONDS s" >"$LOG_DIR/why"
    why=$(head -c 600 "$LOG_DIR/why" 2>/dev/null || echo "status $rc")
    echo "not ok $name: ${why:-status $rc} (see ${LOG_DIR#"$ROOT"/})"
}

# ---- lanes -----------------------------------------------------------------------------------------

end_lane() { # STATUS
    trap '' INT TERM HUP
    [ -z "$playing" ] || kill "$playing" 2>/dev/null
    cp_down
    exit "$1"
}

# Plays what nobody has taken yet.
lane() { # NUMBER
    local name
    lanes=()
    # Ports that only this lane gives to others.
    PORTS="$((15000 + ($1 - 1) * 8000)) $((15000 + $1 * 8000))"
    export PORTS
    trap 'end_lane 130' INT TERM HUP
    trap 'end_lane $?' EXIT
    if ! cp_up "$OUT/cp-$1"; then
        echo "not ok control-plane: it does not come up"
        echo control-plane >>"$OUT/failed"
        return 1
    fi
    export CP API_PORT
    for name in "${cases[@]}"; do
        mkdir "$OUT/taken/$name" 2>/dev/null && play "$ROOT/tests/e2e/cases/$name.sh"
    done
}

count() { if [ -e "$1" ]; then grep -c . "$1"; else echo 0; fi; } # FILE

cases=()
for name in "${LONGEST[@]}" "$ROOT"/tests/e2e/cases/*.sh; do
    name=$(basename "$name" .sh)
    [[ $name =~ $pattern && " ${cases[*]-} " != *" $name "* ]] && cases+=("$name")
done
rm -rf "$OUT/taken" "$OUT/passed" "$OUT/failed"
mkdir -p "$OUT/taken"
n=${E2E_LANES:-$(($(awk '/^MemAvailable/ { print $2 }' /proc/meminfo) / LANE_KIB))}
for most in 2 "$(nproc)" "${#cases[@]}"; do [ "$n" -le "$most" ] || n=$most; done
for i in $(seq "$((n > 1 ? n : 1))"); do
    lane "$i" &
    lanes+=($!)
done
for pid in "${lanes[@]}"; do wait "$pid"; done
lanes=()
passed=$(count "$OUT/passed") failed=$(count "$OUT/failed")
echo "$passed passed, $failed failed"
# A lane that died has left a case that was taken and has no result.
[ "$failed" = 0 ] && [ "$passed" = "${#cases[@]}" ]
