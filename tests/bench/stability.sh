#!/usr/bin/env bash
# What it costs that nothing flaps: a fleet whose load swings every five minutes, in the simulator, with the options
# against flapping off and on, placement Compatible and Cheapest (stability.py). make test plays a few hours of it.
# usage: stability.sh [HOURS [SEED]]
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -x build/karp-sim ] || { echo "stability: no build/karp-sim: build it first"; exit 1; }
exec python3 tests/bench/stability.py "${1:-48}" "${2:-1}"
