#!/usr/bin/env bash
# Nodes with ten pods each drained at once, in the simulator (tests/bench/drain.yaml): processor time
# of the agent, its longest turn, requests per second, and the memory of agent and world together.
# usage: drain.sh [NODES]
set -euo pipefail
cd "$(dirname "$0")/../.."
nodes=${1:-500}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed "s/PODS/$((nodes * 10))/g; s/NODES/$((nodes + nodes / 50 + 10))/" tests/bench/drain.yaml >"$work/drain.yaml"
echo "$nodes nodes with $((nodes * 10)) pods, drained at once:"
build/karp-sim run "$work/drain.yaml" --turn-limit-ms 60000 | tail -n 4
