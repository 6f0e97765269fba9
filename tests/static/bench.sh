#!/usr/bin/env bash
# karp-bench: bounds as computed by hand, reports of all inputs that fit together, files that follow
# from their seed alone, and bad input. Times are not looked at. Another binary: BENCH=path.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
bench=$(realpath "${BENCH:-build/karp-bench}")
[ -x "$bench" ] || { echo "bench: no $bench: build it first"; exit 1; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
wrong() { echo "bench: $*"; bad=$((bad + 1)); }
ends() { # STATUS arguments...
    local want=$1 rc; shift
    "$bench" "$@" >"$tmp/out" 2>"$tmp/err"
    rc=$?
    [ $rc = "$want" ] || wrong "$*: exit status $rc, not $want: $(head -n 2 "$tmp/err")"
}
generate() { ends 0 generate "$@"; }

# 0.3147483648 $/h per cpu with 2 GiB; 100m and 10 MiB of each node go to kubelet; as many nodes at least,
# of one cpu at least, as there are pods that exclude each other.
# Cheaper plans: no dearer than the baseline or upstream's, no more nodes or pods left over.
ends 0 schedule --repeat 1 -o json
python3 - "$tmp/out" <<'P' || bad=$((bad + 1))
import json, sys
price = 0.3147483648
bounds = {"diverse-5000": price * (3309 + 0.1 * 1000), "diverse-100": price * (70.65 + 0.1 * 20), "anti-host-500": price * 500, "tsc-zone-500": price * (344.45 + 0.1)}
tight = {"diverse-5000": 1250, "generic-5000": 1080, "tsc-host-500": 130}
wrong = []
for r in json.load(open(sys.argv[1]))["items"]:
    n, up = r["input"], r["upstream"]
    base, cost, least, bound = (float(r[k + "PerHour"]) for k in ("baselinePrice", "price", "tightPrice", "lowerBound"))
    if not 0 < bound <= least <= cost <= base or r["unschedulable"] or not 0 < r["claims"] <= up["claims"] or r["peakRssBytes"] <= 0:
        wrong.append(n)
    if cost > 1.01 * up["pricePerHour"] or least > tight.get(n, least):
        wrong.append("%s: $%.2f, at its tightest $%.2f" % (n, cost, least))
    if n in bounds and abs(bounds.pop(n) - bound) > 0.05:
        wrong.append("%s: bound %.2f" % (n, bound))
print("\n".join("bench: " + w for w in wrong + ["%s: missing" % n for n in bounds]), end="")
sys.exit(bool(wrong or bounds))
P

# No plan saves more than there is, at least 95% of it, and none less than upstream's first command or all
# its commands together; nor does one move more than 1.1 times the pods that it must.
ends 0 consolidate --repeat 1 --only '*0' -o json
python3 - "$tmp/out" <<'P' || bad=$((bad + 1))
import json, sys
wrong = []
for r in json.load(open(sys.argv[1]))["items"]:
    up, saves = r["upstream"], float(r["savingsPerHour"])
    first = max(p["savingsPerHour"] for p in (up["multi"], up.get("single", up["multi"])))
    most = min(r["mostSavingsPerHour"] + 0.005, float(r["fleetPricePerHour"]) - float(r["lowerBoundPerHour"]))
    least = max(first, up.get("rest", {}).get("savingsPerHour", 0), 0.95 * r["mostSavingsPerHour"]) - 0.005
    moved, must = r["podsMoved"], r["leastPodsMoved"]
    if not least <= saves <= most or r["truncated"] or r["nodesOut"] + sum(r["stays"].values()) != r["nodes"]:
        wrong.append("%s: saves %.3f of %.3f, at least %.3f" % (r["input"], saves, most, least))
    # Every pod of "over" wants a host of its own, and all hosts are too large.
    if not 0 < must <= moved <= 1.1 * must or (r["input"].startswith("over") and must != r["pods"]):
        wrong.append("%s: moves %d pods, at least %d" % (r["input"], moved, must))
print("\n".join("bench: " + w for w in wrong), end="")
sys.exit(bool(wrong))
P

for s in one two; do generate --pods 300 --pools 3 --seed 5 --out "$tmp/$s"; generate --pods 400 --nodes 60 --pools 2 --seed 5 --out "$tmp/$s"; done
generate --pods 300 --pools 3 --seed 6 --out "$tmp/other"
for f in pods.json.gz nodepools.json cluster.json.gz; do cmp -s "$tmp/one/$f" "$tmp/two/$f" || wrong "one seed, two files: $f"; done
! cmp -s "$tmp/one/pods.json.gz" "$tmp/other/pods.json.gz" || wrong "two seeds, one file"
ends 0 types --out "$tmp/types.json"
for t in builtin "$tmp/types.json"; do
    ends 0 schedule --baseline --repeat 1 --types "$t" --nodepool "$tmp/one/nodepools.json" --plan "$tmp/plan" --pods "$tmp/one/pods.json.gz" -o json
    mv "$tmp/plan" "$tmp/plan.$(basename "$t")"
done
cmp -s "$tmp/plan.builtin" "$tmp/plan.types.json" || wrong "the built-in types and their file give two plans"

ends 0 consolidate --repeat 1 --types builtin --input "$tmp/one/cluster.json.gz" --plan "$tmp/plan" -o json
[ -s "$tmp/plan" ] || wrong "consolidate wrote no plan"

head -c 900 "$tmp/one/pods.json.gz" >"$tmp/cut.gz"
echo '{"items":[{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"x"}}}]}}]}' >"$tmp/odd.json"
for f in cut.gz odd.json none.json; do ends 1 schedule --baseline --types builtin --nodepool "$tmp/one/nodepools.json" --pods "$tmp/$f"; done
ends 2 schedule --baseline --repeat 0
ends 2 schedule --nodepool "$tmp/one/nodepools.json"
ends 2 consolidate --input x
ends 1 consolidate --types builtin --input "$tmp/cut.gz"
ends 2 generate --pods 0 --out "$tmp/x"
ends 2 generate --pods 5 --shape round --out "$tmp/x"
[ $bad = 0 ] && echo "bench: reports, bounds and files as expected"
[ $bad = 0 ]
