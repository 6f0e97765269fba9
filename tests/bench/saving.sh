#!/usr/bin/env bash
# Hours until nine tenths of what can be saved are saved, under budgets of 10%, in the simulator (saving.py).
# usage: saving.sh [INPUT...]      inputs as in tests/bench/data: under-200 packed-200
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -x build/karp-sim ] || { echo "saving: no build/karp-sim: build it first"; exit 1; }
[ $# -gt 0 ] || set -- under-200 packed-200
echo "karp in the simulator; Karpenter's published rules played by tests/bench/saving.py, not Karpenter itself."
echo "LEAST is a bound from below, so SAVED need not come to 100%."
echo "INPUT        WHO               NODES OF           BEFORE    LEAST      END  SAVED    90% AFTER   MOVES"
for input in "$@"; do python3 tests/bench/saving.py "${input%-*}" "${input##*-}"; done
