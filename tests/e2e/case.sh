#!/usr/bin/env bash
# Plays one case file; run.sh calls it.   usage: case.sh FILE      environment: ROOT CP CP_BIN LOG_DIR …
set -Eeuo pipefail
# shellcheck source=tests/e2e/lib.sh
. "$ROOT/tests/e2e/lib.sh"
trap '[ -s "$LOG_DIR/why" ] || echo "line $LINENO: $BASH_COMMAND: status $?" >"$LOG_DIR/why"' ERR
# shellcheck disable=SC1090
. "$1"
