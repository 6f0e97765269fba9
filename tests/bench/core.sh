#!/usr/bin/env bash
# The decision core and upstream's own by turns, input by input; then what upstream is not asked for
# because it would take too long: 100,000 pods and the whole EC2 catalog.
# usage: core.sh [BUILD]     environment: REPEAT=3
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
bench=$build/karp-bench large=$build/bench/large
peer=$(tests/bench/peer.sh "$build/bench")
rc=0
echo "== placing pods"
"$bench" schedule --repeat "${REPEAT:-3}" --peer "$peer" || rc=1
echo "== consolidation"
"$bench" consolidate --repeat "${REPEAT:-3}" --peer "$peer" || rc=1
echo "== generated: 1,000 to 100,000 pods, 10 pools, EC2's catalog; then 5,000 nodes that carry as many"
for n in 1000 5000 20000 50000 100000; do
    "$bench" generate --pods $n --pools 10 --seed 1 --out "$large/$n"
    "$bench" schedule --repeat "${REPEAT:-3}" --types builtin --nodepool "$large/$n/nodepools.json" --pods "$large/$n/pods.json.gz" |
        if [ $n = 1000 ]; then cat; else tail -n +2; fi || rc=1
done
"$bench" generate --pods 100000 --nodes 5000 --pools 10 --seed 1 --out "$large"
"$bench" consolidate --repeat "${REPEAT:-3}" --types builtin --input "$large/cluster.json.gz" || rc=1
echo "== prices: 20 generated workloads, EC2's list prices"
tests/bench/prices.sh "$build" || rc=1
exit $rc
