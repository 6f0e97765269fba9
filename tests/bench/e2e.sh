#!/usr/bin/env bash
# karp-agent and upstream Karpenter (its KWOK provider) on one real control plane.
#
#   speed     alternately, ROUNDS times: a fresh process, then 0 to 10 and 0 to 1000 pods of one
#             Deployment, from the request to the last pod bound; CreateFleet, boot and ready take no
#             time. Resident memory idle and with the 1000 pods.
#   together  both up for MINUTES, either one killed: one instance per claim in the end, and whoever
#             stands by writes nothing.
#
# Medians are printed side by side. It fails if ours is slower, needs more than 20 MiB idle or 40 MiB
# with 1000 pods, or if a rule of `together` is broken. Never part of `make test`.
# usage: e2e.sh [speed|together]...     environment: ROUNDS=5 MINUTES=10
set -uo pipefail
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
ROUNDS=${ROUNDS:-5} MINUTES=${MINUTES:-10}
export no_proxy=127.0.0.1,localhost NO_PROXY=127.0.0.1,localhost PYTHONDONTWRITEBYTECODE=1
LOG_DIR=$ROOT/build/e2e/bench
# shellcheck source=tests/e2e/lib.sh
. "$ROOT/tests/e2e/lib.sh"
CP_BIN=$("$ROOT/tests/e2e/build.sh") || exit 1
UPSTREAM=$("$ROOT/tests/bench/upstream.sh") || exit 1
PATH=$CP_BIN:$PATH
rm -rf "$LOG_DIR"
mkdir -p "$LOG_DIR"
finish() {
    [ ! -s "$LOG_DIR/why" ] || { echo "bench-e2e: $(cat "$LOG_DIR/why") (logs: build/e2e/bench)"; }
    cp_down
    exit "$1"
}
trap 'finish 130' INT TERM HUP
trap 'finish $?' EXIT
fails=0
failed() { echo "FAILED: $*"; fails=$((fails + 1)); }

# ---- the two sides ---------------------------------------------------------------------------------

karpenter_start() {
    read -r "METRICS_PORT[upstream]" "HEALTH_PORT[upstream]" < <(free_ports 2)
    proc_start upstream env -i PATH="$PATH" HOME="$HOME" KUBECONFIG="$CP/karpenter.kubeconfig" CLUSTER_NAME=sim \
        LEADER_ELECTION_NAMESPACE=kube-system METRICS_PORT="${METRICS_PORT[upstream]}" HEALTH_PROBE_PORT="${HEALTH_PORT[upstream]}" CPU_REQUESTS=1000 \
        "$UPSTREAM/karpenter-kwok"
}
upstream_class() {
    apply <<Y
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
Y
}
bench_pool() { # NAME INTENT GROUP KIND
    apply <<Y
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: $1}
spec:
  template:
    metadata:
      labels: {intent: $2}
    spec:
      nodeClassRef: {group: $3, kind: $4, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: kubernetes.io/os, operator: In, values: [linux]}
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: ${5:-Never}
    budgets: [{nodes: "100%"}]
Y
}
# shellcheck disable=SC2119
side_start() { # ours|upstream
    if [ "$1" = ours ]; then
        ec2_start --create-fleet-delay 0s --boot 0s --ready 0s --terminate-delay 0s --quiet
        agent_start ours
        class
        bench_pool default apps karpenter.k8s.aws EC2NodeClass
    else
        karpenter_start
        upstream_class
        bench_pool default apps karpenter.kwok.sh KWOKNodeClass
    fi
    deployment
    expect 30 "readiness of $1" '200 *' readyz "$1"
    expect 60 "pool of $1" True condition nodepool default Ready
    expect 30 "leader" "*[a-z]*" lease_holder
}
side_stop() {
    local n
    for n in ours upstream ec2; do
        [ ! -e "$CP/pids/$n" ] || proc_stop $n KILL
    done
    python3 "$ROOT/tests/e2e/kube.py" wipe || die "the cluster cannot be put back"
}

# ---- speed -----------------------------------------------------------------------------------------

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

measure() { # ours|upstream
    local n took
    for n in 10 1000; do
        side_start "$1"
        if [ $n = 10 ]; then
            sleep 10
            rss_mib "$1" >>"$LOG_DIR/idle.$1"
        fi
        took=$(python3 "$ROOT/tests/bench/bound.py" inflate $n 240) || die "$1, 0 to $n: ${took:-no result}"
        echo "$took" >>"$LOG_DIR/$n.$1"
        if [ $n = 1000 ]; then
            sleep 2
            rss_mib "$1" >>"$LOG_DIR/loaded.$1"
        fi
        echo "  $1 0->$n: $took s, $(nodes) node(s), $(rss_mib "$1") MiB"
        side_stop
    done
}

compare() { # FILE TITLE
    local o u
    o=$(median "$LOG_DIR/$1.ours") u=$(median "$LOG_DIR/$1.upstream")
    printf '%-32s %10s %10s %8s\n' "$2" "$o" "$u" "$(awk -v a="$o" -v b="$u" 'BEGIN { printf "%.2f", a / b }')"
}
at_most() { # WHAT LIMIT VALUE
    awk -v v="$3" -v l="$2" 'BEGIN { exit !(v <= l) }' || failed "$1: $3, at most $2"
}

speed() {
    local round side
    for round in $(seq "$ROUNDS"); do
        echo "round $round"
        for side in $([ $((round % 2)) = 1 ] && echo ours upstream || echo upstream ours); do measure "$side"; done
    done
    printf '\n%-32s %10s %10s %8s\n' "medians of $ROUNDS" karp Karpenter ratio
    compare 10 "0 -> 10 pods bound, s"
    compare 1000 "0 -> 1000 pods bound, s"
    compare idle "resident idle, MiB"
    compare loaded "resident with 1000 pods, MiB"
    echo
    for n in 10 1000; do
        at_most "0 -> $n, ratio to upstream" 1.0 "$(awk -v a="$(median "$LOG_DIR/$n.ours")" -v b="$(median "$LOG_DIR/$n.upstream")" 'BEGIN { print a / b }')"
    done
    at_most "resident idle, MiB" 20 "$(median "$LOG_DIR/idle.ours")"
    at_most "resident with 1000 pods, MiB" 40 "$(median "$LOG_DIR/loaded.ours")"
}

# ---- together --------------------------------------------------------------------------------------

in_charge() {
    case $(lease_holder) in '') echo nobody ;; karp-agent-*) echo ours ;; *) echo upstream ;; esac
}
# Whoever does not lead: started again, it must find that out by itself.
start_again() { if [ "$1" = ours ]; then agent_start ours; else karpenter_start; fi; }
other() { if [ "$1" = ours ]; then echo upstream; else echo ours; fi; }
user_of() { if [ "$1" = ours ]; then echo "$AGENT_USER"; else echo karpenter; fi; }

doubles() { ec2 doubles; }

# One stretch: LEADER works, the other one stands by; both Deployments go up and down.
stretch() { # LEADER SECONDS
    local end mark waits n
    waits=$(other "$1")
    mark=$(audit_mark)
    end=$(($(now_ms) + $2 * 1000))
    while [ "$(now_ms)" -lt "$end" ]; do
        for n in 12 3 30 0 7; do
            scale $n
            scale $n far
            sleep 5
            equal "claims with two instances" 0 "$(doubles)"
            equal "who is in charge" "$1" "$(in_charge)"
            [ "$(now_ms)" -lt "$end" ] || break
        done
    done
    n=$(audit "$mark" writes "$(user_of "$waits")" | wc -l)
    echo "  $1 led $2 s; $waits stood by: $n writes; $(instances) instances, $(claims) claims"
    if [ "$waits" = ours ]; then
        [ "$n" = 0 ] || failed "karp-agent wrote $n times while standing by: $(audit "$mark" writes | head -n 3)"
        equal "karp_standby" 1 "$(metric ours karp_standby)"
    fi
}

# shellcheck disable=SC2119
together() {
    local leader=upstream i turns=4 each
    each=$((MINUTES * 60 / turns))
    ec2_start --create-fleet-delay 200ms --boot 1s --ready 1s --terminate-delay 1s
    class
    upstream_class
    bench_pool default apps karpenter.k8s.aws EC2NodeClass 10s
    bench_pool far far karpenter.kwok.sh KWOKNodeClass 10s
    deployment
    deployment far 1 1.5Gi far
    karpenter_start
    expect 40 "upstream leads" upstream in_charge
    agent_start ours
    expect 20 "karp_standby" 1 metric ours karp_standby
    for i in $(seq $turns); do
        stretch $leader $each
        [ "$i" = $turns ] && break
        proc_stop $leader KILL
        leader=$(other $leader)
        expect 90 "$leader takes over" $leader in_charge
        sleep 1
        start_again "$(other $leader)"
        sleep 5
    done
    # The turns are even in number: in the end ours leads, and what is there must fit together.
    scale 10
    expect 120 "running pods" 10 running
    expect 120 "pairs" ok ec2 pairs
    side_stop
    echo "together: ok"
}

# ---- go --------------------------------------------------------------------------------------------

cp_up "$LOG_DIR/cp" || { echo "the control plane does not come up" >"$LOG_DIR/why"; exit 1; }
kubectl apply -f "$UPSTREAM/crds/karpenter.kwok.sh_kwoknodeclasses.yaml" >/dev/null
# What upstream watches beside: without them it does not start.
kubectl apply -f "$UPSTREAM/crds/karpenter.sh_nodeoverlays.yaml" -f "$UPSTREAM/crds/autoscaling.x-k8s.io_capacitybuffers.yaml" >/dev/null
[ $# -gt 0 ] || set -- speed together
for part in "$@"; do
    case $part in speed | together) echo "== $part" && $part ;; *) die "e2e.sh: unknown part $part" ;; esac
done
[ $fails = 0 ]
