#!/usr/bin/env bash
# Starts a control plane of one's own and stays until Ctrl-C (or down.sh).   usage: up.sh [FOLDER]
# FOLDER (default build/e2e/up) gets logs, pids and a kubeconfig per user.
set -uo pipefail
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/e2e/cp.sh
. "$ROOT/tests/e2e/cp.sh"
CP_BIN=$("$ROOT/tests/e2e/build.sh") || exit 1
PATH=$CP_BIN:$PATH
CP=$(realpath -m "${1:-$ROOT/build/e2e/up}")
trap 'cp_down; echo "control plane down"' EXIT
trap 'exit 0' INT TERM
cp_up "$CP" || exit 1
echo "control plane up: export KUBECONFIG=$CP/admin.kubeconfig PATH=$CP_BIN:\$PATH"
echo $$ >"$CP/up.pid"
while [ -e "$CP/up.pid" ] && proc_pid apiserver >/dev/null; do sleep 1; done
