#!/usr/bin/env bash
# Nodes with ten pods each drained at once, in the simulator (tests/bench/drain.yaml): processor time
# of the agent, its longest turn, requests per second, and the memory of agent and world together. It
# fails if a pod is not evicted, or does not run again, or if more was asked in any second than
# --kube-client-qps and -burst allow.
# usage: drain.sh [NODES]
set -euo pipefail
cd "$(dirname "$0")/../.."
nodes=${1:-500}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed "s/PODS/$((nodes * 10))/g; s/NODES/$((nodes + nodes / 50 + 10))/" tests/bench/drain.yaml >"$work/drain.yaml"
allowed=500 # 200 a second and 300 at once
echo "$nodes nodes with $((nodes * 10)) pods, drained at once (some minutes of processor time):"
build/karp-sim run "$work/drain.yaml" --turn-limit-ms 60000 | tail -n 4 | tee "$work/out"
most=$(sed -n 's/.*at most \([0-9]*\) API calls a second.*/\1/p' "$work/out")
echo "at most ${most:-?} of the $allowed API calls a second that the agent allows itself"
[ "${most:-$allowed}" -le "$allowed" ]
