#!/usr/bin/env bash
# What new nodes cost with EC2's list prices: 20 generated workloads, in $/h by the placement as Karpenter
# makes it, Compatible, Cheapest, and at least (BOUND); nodes, and pods that kube-scheduler would strand in
# the tight plan, which the plan that is carried out has been made larger for.
# usage: prices.sh [BUILD]
set -euo pipefail
cd "$(dirname "$0")/../.."
bench=${1:-build}/karp-bench
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0
for shape in diverse generic spread-zone spread-host affinity-zone; do
    for size in 200 1000 3000 8000; do
        n=$((n + 1))
        "$bench" generate --pods $size --pools $((1 + n % 4)) --seed $n --shape $shape --out "$tmp" >&2
        for placement in Compatible Cheapest; do
            "$bench" schedule --placement $placement --repeat 1 --types builtin --nodepool "$tmp/nodepools.json" \
                --pods "$tmp/pods.json.gz" -o json >"$tmp/$n-$shape.$placement"
        done
    done
done
python3 - "$tmp" <<'P'
import glob, json, os, sys
files = sorted(glob.glob(sys.argv[1] + "/*.Compatible"), key=lambda f: int(os.path.basename(f).split("-")[0]))
heads = ["WORKLOAD", "PODS", "BASELINE", "COMPATIBLE", "CHEAPEST", "BOUND", "SAVED", "CHEAPEST-SAVED", "NODES", "CHEAPEST-NODES", "STRANDED"]
rows, sums = [heads], [0.0] * 4
for f in files:
    a, b = (json.load(open(f.replace(".Compatible", p))) for p in (".Compatible", ".Cheapest"))
    money = [float(x) for x in (a["baselinePricePerHour"], a["pricePerHour"], b["pricePerHour"], a["lowerBoundPerHour"])]
    sums = [s + m for s, m in zip(sums, money)]
    shape = os.path.basename(f).split(".")[0].split("-", 1)[1]
    rows.append([shape, a["pods"]] + money + [1 - money[1] / money[0], 1 - money[2] / money[0], a["claims"], b["claims"], a["strandedPods"]])
rows.append(["all", ""] + sums + [1 - sums[1] / sums[0], 1 - sums[2] / sums[0], "", "", ""])
def text(i, v):
    return "%.1f%%" % (100 * v) if i in (6, 7) and isinstance(v, float) else "%.2f" % v if isinstance(v, float) else str(v)
cells = [[text(i, v) for i, v in enumerate(r)] for r in rows]
wide = [max(len(r[i]) for r in cells) for i in range(len(heads))]
for r in cells:
    print("   ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(r, wide))).rstrip())
P
