#!/usr/bin/env bash
# End-to-end: the real binaries on a real control plane, with karp-ec2 as EC2.
#
# Plays tests/e2e/cases/*.sh in order on one control plane and prints "ok NAME" or "not ok NAME: why",
# at the end "N passed, N failed". Logs are kept in build/e2e: log/ of the control plane, NAME/ of the
# cases. However it ends, everything it started ends with it.
# usage: run.sh [PATTERN]     PATTERN (regular expression) narrows the cases by name
set -uo pipefail
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
export ROOT
OUT=$ROOT/build/e2e
CASE_SECONDS=${CASE_SECONDS:-300}
pattern=${1:-.}
passed=0 failed=0 playing=
# The way to 127.0.0.1 leads through no proxy.
export no_proxy=127.0.0.1,localhost NO_PROXY=127.0.0.1,localhost PYTHONDONTWRITEBYTECODE=1
# shellcheck source=tests/e2e/cp.sh
. "$ROOT/tests/e2e/cp.sh"

exec 8<"$ROOT" # the folder itself: no file is left behind
flock -n 8 || { echo "another end-to-end run of this tree is under way" >&2; exit 1; }

CP_BIN=$("$ROOT/tests/e2e/build.sh") || { echo "0 passed, 1 failed"; exit 1; }
PATH=$CP_BIN:$PATH
export CP_BIN

finish() {
    trap '' INT TERM HUP
    [ -z "$playing" ] || kill "$playing" 2>/dev/null
    cp_down
    exit "$1"
}
trap 'finish 130' INT TERM HUP
trap 'finish $?' EXIT

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
        passed=$((passed + 1))
        echo "ok $name ($((SECONDS - begin)) s)$(sed 's/^/, /' "$LOG_DIR/note" 2>/dev/null)"
        return
    fi
    failed=$((failed + 1))
    [ $rc != 124 ] || echo "not over after $CASE_SECONDS s" >"$LOG_DIR/why"
    why=$(head -c 600 "$LOG_DIR/why" 2>/dev/null || echo "status $rc")
    echo "not ok $name: ${why:-status $rc} (see ${LOG_DIR#"$ROOT"/})"
}

if ! cp_up "$OUT/cp"; then
    echo "not ok control-plane: it does not come up"
    echo "0 passed, 1 failed"
    exit 1
fi
export CP API_PORT
for case in "$ROOT"/tests/e2e/cases/*.sh; do
    [[ $(basename "$case" .sh) =~ $pattern ]] || continue
    play "$case"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
