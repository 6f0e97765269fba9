#!/usr/bin/env bash
# Ends what up.sh started in FOLDER, by the recorded pids.   usage: down.sh [FOLDER]
set -uo pipefail
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/e2e/cp.sh
. "$ROOT/tests/e2e/cp.sh"
CP=$(realpath -m "${1:-$ROOT/build/e2e/up}")
rm -f "$CP/up.pid"
# up.sh ends them itself when it sees that; what it does not get to is ended here.
for _ in 1 2 3 4 5 6 7 8; do
    [ -z "$(ls -A "$CP/pids" 2>/dev/null)" ] && exit 0
    sleep 0.5
done
cp_down
