# shellcheck shell=bash
# What the cases say. Sourced by case.sh, in a shell of its own per case, with the control plane up.
#
# A case is a file of plain commands under `set -e`: it passes if it ends. die TEXT fails it with a
# reason. Waiting is always bounded and says what it saw last. Whatever a case starts (karp-ec2,
# agents, taps) is ended by run.sh, which also puts the cluster back to the state after installation.
. "$ROOT/tests/e2e/cp.sh"
BIN=$(cd "$ROOT" && realpath "${KARP_BUILD:-build}")
PATH=$BIN:$PATH
AGENT_USER=system:serviceaccount:karp:karp-agent
declare -A METRICS_PORT HEALTH_PORT

die() {
    echo "$*" >"$LOG_DIR/why"
    exit 1
}
note() { echo "$*" >>"$LOG_DIR/note"; } # stands behind the case's name in the result

# ---- waiting ---------------------------------------------------------------------------------------

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# Waits until the command prints WANT ("*" patterns allowed).
expect() { # SECONDS WHAT WANT command...
    local end seen what=$2 want=$3 secs=$1
    shift 3
    end=$(($(now_ms) + secs * 1000))
    while :; do
        seen=$("$@" 2>&1) || seen="(failed) $seen"
        # shellcheck disable=SC2053
        [[ $seen == $want ]] && return
        [ "$(now_ms)" -lt $end ] || die "$what: wanted $want, saw ${seen:0:300} after $secs s"
        sleep 0.2
    done
}

# The command prints WANT all the time.
stays() { # SECONDS WHAT WANT command...
    local end seen what=$2 want=$3
    end=$(($(now_ms) + $1 * 1000))
    shift 3
    while [ "$(now_ms)" -lt $end ]; do
        seen=$("$@" 2>&1) || seen="(failed) $seen"
        # shellcheck disable=SC2053
        [[ $seen == $want ]] || die "$what: wanted $want, saw ${seen:0:300}"
        sleep 0.5
    done
}

# shellcheck disable=SC2053
equal() { [[ $3 == $2 ]] || die "$1: wanted $2, saw ${3:0:300}"; } # WHAT WANT SEEN

# ---- the cluster -----------------------------------------------------------------------------------

apply() { kubectl apply -f - >/dev/null || die "kubectl apply failed"; }
names() { kubectl get "$@" -o name 2>/dev/null | wc -l; }
nodes() { names nodes -l karpenter.sh/nodepool; }
claims() { names nodeclaims; }
bound() { names pods -n default -l "app=${1:-inflate}" --field-selector spec.nodeName!=; }
running() { names pods -n default -l "app=${1:-inflate}" --field-selector status.phase=Running; }
scale() { kubectl scale -n default deployment "${2:-inflate}" --replicas "$1" >/dev/null || die "kubectl scale failed"; }
field() { kubectl get "$1" ${2:+"$2"} -o "jsonpath={$3}"; } # KIND NAME PATH; no name: the list
condition() { field "$1" "$2" ".status.conditions[?(@.type==\"$3\")].${4:-status}"; } # KIND NAME TYPE [FIELD]
first() { field "$1" '' '.items[0].metadata.name'; } # KIND

# shellcheck disable=SC2120
class() { # [NAME [TAG_VALUE]]
    apply <<Y
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: ${1:-default}}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: sim}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: sim}}]
  instanceProfile: node
  tags: {round: "${2:-0}"}
Y
}

pool() { # [NAME [CAPACITY_TYPE [REQUIREMENT [INTENT [CLASS]]]]]
    apply <<Y
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: ${1:-default}}
spec:
  template:
    metadata:
      labels: {intent: ${4:-apps}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: ${5:-default}}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [${2:-spot}]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        ${3:-}
  limits: {cpu: "1000", memory: 1000Gi}
  weight: 10
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 0s
    budgets: [{nodes: "100%"}]
Y
}

# shellcheck disable=SC2120
deployment() { # [NAME [CPU [MEMORY [INTENT [REPLICAS]]]]]
    apply <<Y
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${1:-inflate}, namespace: default}
spec:
  replicas: ${5:-0}
  selector: {matchLabels: {app: ${1:-inflate}}}
  template:
    metadata: {labels: {app: ${1:-inflate}}}
    spec:
      nodeSelector: {intent: ${4:-apps}}
      terminationGracePeriodSeconds: 30
      containers:
        - name: inflate
          image: registry.k8s.io/pause:3.9
          resources: {requests: {cpu: "${2:-1}", memory: ${3:-1.5Gi}}}
Y
}

# Section A of the field reports.
# shellcheck disable=SC2119
workload() { class && pool default "${1:-spot}" && deployment; }

# A watch from now on; "NOW WORST" of it (witness.py).
witness_start() { # NAME WHAT OF
    proc_start "$1" env KUBECONFIG="$CP/admin.kubeconfig" python3 "$ROOT/tests/e2e/witness.py" "$2" "$3" "$LOG_DIR/$1"
    expect 10 "what $1 sees" '[0-9]* [0-9]*' cat "$LOG_DIR/$1"
}
# It has seen everything that the API server did until now.
witness() { # NAME now|worst
    proc_pid "$1" >/dev/null || die "witness $1 ended: $(tail -n 1 "$LOG_DIR/$1.log")"
    cut -d' ' -f"$([ "$2" = now ] && echo 1 || echo 2)" "$LOG_DIR/$1"
}

# A budget for the pods of a workload.
pdb() { # NAME FIELD
    apply <<Y
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: $1, namespace: default}
spec: {$2, selector: {matchLabels: {app: $1}}}
Y
    # shellcheck disable=SC2329
    pdb_seen() { field pdb "$1" .status.observedGeneration; }
    expect 10 "the status of budget $1" 1 pdb_seen "$1"
}

# ---- EC2 -------------------------------------------------------------------------------------------

# Quick by default; a later flag wins.
ec2_start() { # [flag of karp-ec2...]
    rm -f "$LOG_DIR/ec2.port"
    proc_start ec2 "$BIN/karp-ec2" --port-file "$LOG_DIR/ec2.port" --access-key AKIDE2E --secret-key e2e-secret \
        --kubeconfig "$CP/ec2.kubeconfig" --create-fleet-delay 100ms --boot 500ms --ready 0s --terminate-delay 500ms "$@"
    expect 10 "karp-ec2's port" '[0-9]*' cat "$LOG_DIR/ec2.port"
    EC2_PORT=$(cat "$LOG_DIR/ec2.port")
}
ec2() { python3 "$ROOT/tests/e2e/ec2.py" "$EC2_PORT" "$@"; }
instances() { ec2 count; }

# ---- the agent -------------------------------------------------------------------------------------

# KUBE_PORT and AWS_PORT lead the agent somewhere else than to the API server and karp-ec2 (a tap);
# AGENT_KUBECONFIG is another file.
agent_start() { # NAME [flag...]
    local name=$1 file=$LOG_DIR/$1.kubeconfig
    shift
    kubeconfig "$file" tok-agent "${KUBE_PORT:-$API_PORT}"
    mkdir -p "$LOG_DIR/$name.marker"
    # A port that was free a moment ago may be somebody else's by now: then another one.
    for _ in 1 2 3; do
        read -r "METRICS_PORT[$name]" "HEALTH_PORT[$name]" < <(free_ports 2)
        proc_start "$name" env -i PATH="$PATH" HOME="$HOME" POD_NAME="$name" CLUSTER_NAME=sim AWS_REGION=us-west-2 \
            AWS_ACCESS_KEY_ID=AKIDE2E AWS_SECRET_ACCESS_KEY=e2e-secret AWS_ENDPOINT_URL="http://127.0.0.1:${AWS_PORT:-$EC2_PORT}" \
            ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"} \
            "$BIN/karp-agent" --kubeconfig="${AGENT_KUBECONFIG:-$file}" --listen-address=127.0.0.1 \
            --marker-dir="$LOG_DIR/$name.marker" --metrics-port="${METRICS_PORT[$name]}" --health-probe-port="${HEALTH_PORT[$name]}" "$@"
        expect 10 "start of $name" begun begun "$name"
        proc_pid "$name" >/dev/null && return
        tail -n 1 "$LOG_DIR/$name.log" | grep -q 'Address already in use' || return 0
    done
}
begun() { # NAME: it answers, or has ended
    if ! proc_pid "$1" >/dev/null || curl -s -m 1 -o "$LOG_DIR/healthz" "http://127.0.0.1:${HEALTH_PORT[$1]}/healthz"; then echo begun; fi
}

agent_alive() { proc_pid "$1" >/dev/null || die "$1 ended: $(tail -n 1 "$LOG_DIR/$1.log")"; }

readyz() { # NAME: "200 text"
    proc_pid "$1" >/dev/null || { echo "ended: $(tail -n 1 "$LOG_DIR/$1.log")"; return; }
    curl -s -m 5 -w ' %{http_code}' "http://127.0.0.1:${HEALTH_PORT[$1]}/readyz" | tr '\n' ' ' | awk '{print $NF, $0}'
}
agent_ready() { expect "${2:-20}" "readiness of $1" '200 *' readyz "$1"; }

metric() { # NAME METRIC [LABEL="VALUE"]: sum of the series, 0 if there is none
    curl -s -m 5 "http://127.0.0.1:${METRICS_PORT[$1]}/metrics" |
        awk -v m="$2" -v l="${3:-}" '$0 ~ "^" m "[{ ]" && (l == "" || index($0, l)) { s += $NF } END { print s + 0 }'
}
leading() { metric "$1" leader_election_master_status; }
rss_mib() { awk '/^VmRSS/ { printf "%.1f\n", $2 / 1024 }' "/proc/$(proc_pid "$1")/status"; }

# The orderly end: status 0, and nobody had to be forced.
agent_stop() { # NAME
    local pid rc=0
    pid=$(proc_pid "$1") || die "$1 ended before it was told to: $(tail -n 1 "$LOG_DIR/$1.log")"
    kill -TERM "$pid"
    expect 15 "$1 after SIGTERM" gone gone "$pid"
    wait "$pid" || rc=$?
    rm -f "$CP/pids/$1"
    equal "exit status of $1" 0 "$rc"
}
gone() { if [ -e "/proc/$1" ] && ! grep -q '^State:.*Z' "/proc/$1/status"; then echo there; else echo gone; fi; } # PID

# SIGKILL; nobody gives the Lease back, so it is taken away.
# shellcheck disable=SC2119
agent_kill() { # NAME
    proc_stop "$1" KILL
    lease_drop
}

logged() { grep -c "${@:2}" "$LOG_DIR/$1.log" || true; } # NAME [grep flag] TEXT: how many lines

# ---- Leases and the audit log ----------------------------------------------------------------------

# shellcheck disable=SC2120
lease_drop() { kubectl delete lease -n "${1:-kube-system}" karpenter-leader-election --ignore-not-found >/dev/null; }
lease_holder() { kubectl get lease -n "${1:-kube-system}" karpenter-leader-election -o 'jsonpath={.spec.holderIdentity}' 2>/dev/null; }
# Another controller that is in charge: it renews a Lease until `proc_stop foreign`.
foreign_start() { # NAMESPACE
    proc_start foreign python3 "$ROOT/tests/e2e/kube.py" hold "$1" karpenter-5d9f7c6b8-x2kqp_0c1d
    expect 10 "the foreign Lease" 'karpenter-*' lease_holder "$1"
}

audit_mark() { stat -c %s "$CP/audit.log"; }
audit() { python3 "$ROOT/tests/e2e/audit.py" "$CP/audit.log" "$1" "${3:-$AGENT_USER}" "$2"; } # MARK MODE [USER]
# Nothing that the agent asked for since MARK was forbidden or unauthenticated.
no_refusals() { # MARK
    equal "refusals in the audit log" "" "$(audit "$1" codes | grep -E '^40[13] ' | sort | uniq -c | head -n 5)"
}
writes_since() { audit "$1" writes | wc -l; }

# ---- taps ------------------------------------------------------------------------------------------

declare -A TAP_CONTROL
# Puts a tap before the API server and one before EC2: KUBE_PORT and AWS_PORT lead through them.
taps_start() {
    read -r KUBE_PORT AWS_PORT "TAP_CONTROL[kube]" "TAP_CONTROL[aws]" < <(free_ports 4)
    proc_start tap-kube python3 "$ROOT/tests/e2e/tap.py" kube "$KUBE_PORT" "$API_PORT" "${TAP_CONTROL[kube]}" "$LOG_DIR/calls.log" "$CP/certs"
    proc_start tap-aws python3 "$ROOT/tests/e2e/tap.py" aws "$AWS_PORT" "$EC2_PORT" "${TAP_CONTROL[aws]}" "$LOG_DIR/calls.log"
    expect 10 "taps" ok tap kube clear
    expect 10 "taps" ok tap aws clear
}
tap() { # kube|aws COMMAND [KEY=VALUE...]
    local side=$1 command=$2 args=()
    shift 2
    for kv in "$@"; do args+=(--data-urlencode "$kv"); done
    curl -s -m 5 -G "${args[@]}" "http://127.0.0.1:${TAP_CONTROL[$side]}/$command"
}

# ---- killing ---------------------------------------------------------------------------------------

QUICK=--batch-idle-duration=200ms
# One scale-out from nothing: a class of its own (so a launch template of its own), a pool whose nodes
# hold one pod each, one pod.
round_begin() { # N
    class "r$1" "$1"
    pool "r$1" spot '- {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["4"]}' "r$1" "r$1"
    deployment "r$1" 3 1Gi "r$1" 1
}
round_settled() { # N
    [ "$(running "r$1")" = 1 ] || { echo "no pod of round $1 runs"; return; }
    [ "$(kubectl get nodeclaim -l "karpenter.sh/nodepool=r$1" -o 'jsonpath={.items[*].status.conditions[?(@.type=="Initialized")].status}')" = True ] ||
        { echo "the claim of round $1 is not initialized"; return; }
    ec2 pairs
}

# SIGKILL right after CALL was answered for the NTH time, before the answer arrives; then a new
# process. A later occurrence need not come in every run: then the round just ends.
kill_round() { # N NTH CALL
    local side=aws
    [[ $3 == kube:* ]] && side=kube
    tap $side kill "call=$3" "nth=$2" "pid=$(proc_pid agent)" >/dev/null
    round_begin "$1"
    outcome() {
        if [ "$(tap $side hit)" = yes ]; then echo killed; elif [ "$2" != 1 ]; then round_settled "$1"; fi
    }
    expect 30 "$3 ($2) in round $1" '@(killed|ok)' outcome "$1" "$2"
    if [ "$(tap $side hit)" = yes ]; then
        kills=$((kills + 1))
        equal "the agent after $3" gone "$(gone "$(cut -d' ' -f1 "$CP/pids/agent")")"
        agent_kill agent
        agent_start agent "$QUICK"
    fi
    tap $side clear >/dev/null
    expect 60 "after a kill at $3 ($2) in round $1" ok round_settled "$1"
}
