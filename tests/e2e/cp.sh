# shellcheck shell=bash
# The control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and KWOK, on
# loopback, each a child of this shell with its pid on record. Sourced by run.sh, up.sh and the bench.
#
# Everything of one control plane lies in one folder, $CP:
#   pids/NAME         "PID STARTTIME" of whatever was started through proc_start
#   log/NAME.log      its output
#   USER.kubeconfig   one per user of tokens.csv; tokens are tok-USER
#   audit.log         every request of the users in audit.yaml, at level Metadata
#   env               what other shells need: ports and folders
#
# A recorded pid is only ever signalled while the process still has the start time on record, so a
# number that the kernel gave to somebody else is left alone.

# ---- processes -------------------------------------------------------------------------------------

proc_born() { sed -n 's/^.*) //p' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; } # PID

proc_pid() { # NAME: its pid if it is alive
    local pid born
    read -r pid born 2>/dev/null <"$CP/pids/$1" || return 1
    [ "$(proc_born "$pid")" = "$born" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null && echo "$pid"
}

proc_start() { # NAME command...
    local name=$1
    shift
    "$@" >>"${LOG_DIR:-$CP/log}/$name.log" 2>&1 </dev/null 8>&- &
    proc_last=$!
    echo "$proc_last $(proc_born $proc_last)" >"$CP/pids/$name"
}

proc_stop() { # NAME [SIGNAL]: ends it, by force after five seconds
    local i pid
    if pid=$(proc_pid "$1"); then
        kill "-${2:-TERM}" "$pid" 2>/dev/null
        # A child of this shell is collected at once, or bash reports its end by itself.
        [ "${2:-TERM}" != KILL ] || wait "$pid" 2>/dev/null || true
        for i in $(seq 50); do
            proc_pid "$1" >/dev/null || break
            [ "$i" != 50 ] || kill -KILL "$pid" 2>/dev/null
            sleep 0.1
        done
    fi
    rm -f "$CP/pids/$1"
}

proc_stop_all() { # GLOB
    local f
    for f in "$CP"/pids/$1; do
        [ -e "$f" ] && proc_stop "${f##*/}" KILL
    done
    return 0
}

# Free TCP ports on 127.0.0.1, below the range that outgoing connections take theirs from; those between
# the two numbers in PORTS, where several look for some at once.
free_ports() { # HOW_MANY
    # shellcheck disable=SC2086
    python3 - "$1" ${PORTS:-15000 32000} <<'PY'
import random, socket, sys
ports, socks = [], []
while len(ports) < int(sys.argv[1]):
    s, p = socket.socket(), random.randrange(int(sys.argv[2]), int(sys.argv[3]))
    try:
        s.bind(("127.0.0.1", p))
    except OSError:
        continue
    socks.append(s)
    ports.append(p)
print(*ports)
PY
}

# ---- identity --------------------------------------------------------------------------------------

cp_keys() {
    local c=$CP/certs
    openssl genrsa -out "$c/sa.key" 2048
    openssl rsa -in "$c/sa.key" -pubout -out "$c/sa.pub"
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$c/ca.key" -out "$c/ca.crt" -days 30 -subj /CN=karp-e2e-ca
    openssl req -newkey rsa:2048 -nodes -keyout "$c/srv.key" -out "$c/srv.csr" -subj /CN=kube-apiserver
    printf 'subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default.svc' >"$c/ext"
    openssl x509 -req -in "$c/srv.csr" -CA "$c/ca.crt" -CAkey "$c/ca.key" -CAcreateserial -days 30 \
        -extfile "$c/ext" -out "$c/srv.crt"
}

kubeconfig() { # FILE TOKEN [PORT]
    cat >"$1" <<K
apiVersion: v1
kind: Config
clusters: [{name: sim, cluster: {server: "https://127.0.0.1:${3:-$API_PORT}", certificate-authority: $CP/certs/ca.crt}}]
users: [{name: user, user: {token: $2}}]
contexts: [{name: sim, context: {cluster: sim, user: user}}]
current-context: sim
K
}

# The agent is the very subject that the shipped RBAC names.
cp_users() {
    local u
    cat >"$CP/tokens.csv" <<'T'
tok-admin,admin,u1,"system:masters"
tok-agent,system:serviceaccount:karp:karp-agent,u2,"system:serviceaccounts,system:serviceaccounts:karp,system:authenticated"
tok-viewer,viewer@example.com,u3,"system:authenticated"
tok-operator,operator@example.com,u9,"system:authenticated"
tok-approver,approver@example.com,u10,"system:authenticated"
tok-karpenter,karpenter,u4,"system:masters"
tok-kwok,kwok,u5,"system:masters"
tok-ec2,karp-ec2,u6,"system:authenticated"
tok-kcm,system:kube-controller-manager,u7,"system:masters"
tok-sched,system:kube-scheduler,u8,"system:masters"
T
    for u in admin agent viewer operator approver karpenter kwok ec2 kcm sched; do
        kubeconfig "$CP/$u.kubeconfig" "tok-$u"
    done
    cat >"$CP/audit.yaml" <<'A'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, users: ["system:serviceaccount:karp:karp-agent", karpenter, viewer@example.com]}
  - {level: None}
A
}

# ---- up and down -----------------------------------------------------------------------------------

cp_etcd() {
    local client=http://127.0.0.1:$ETCD_PORT peer=http://127.0.0.1:$ETCD_PEER_PORT
    proc_start etcd "$CP_BIN/etcd" --data-dir "$CP/etcd" --unsafe-no-fsync --log-level warn \
        --listen-client-urls "$client" --advertise-client-urls "$client" \
        --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer"
}

cp_apiserver() {
    proc_start apiserver "$CP_BIN/kube-apiserver" --etcd-servers="http://127.0.0.1:$ETCD_PORT" \
        --bind-address=127.0.0.1 --advertise-address=127.0.0.1 --secure-port="$API_PORT" \
        --tls-cert-file="$CP/certs/srv.crt" --tls-private-key-file="$CP/certs/srv.key" --cert-dir="$CP/certs/apiserver" \
        --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$CP/certs/sa.pub" \
        --service-account-signing-key-file="$CP/certs/sa.key" --token-auth-file="$CP/tokens.csv" \
        --authorization-mode=RBAC --service-cluster-ip-range=10.96.0.0/16 --endpoint-reconciler-type=none \
        --disable-admission-plugins=ServiceAccount --audit-policy-file="$CP/audit.yaml" \
        --audit-log-path="$CP/audit.log" --audit-log-maxsize=0
}

cp_apiserver_ready() {
    local i
    for i in $(seq 240); do
        curl -s --cacert "$CP/certs/ca.crt" -H 'Authorization: Bearer tok-admin' \
            "https://127.0.0.1:$API_PORT/readyz" 2>/dev/null | grep -q '^ok' && return
        proc_pid apiserver >/dev/null || break
        sleep 0.25
    done
    echo "kube-apiserver does not come up:" >&2
    tail -n 5 "$CP/log/apiserver.log" "$CP/log/etcd.log" >&2
    return 1
}

cp_controllers() {
    proc_start kcm "$CP_BIN/kube-controller-manager" --kubeconfig="$CP/kcm.kubeconfig" --leader-elect=false \
        --secure-port="$KCM_PORT" --bind-address=127.0.0.1 --cert-dir="$CP/certs/kcm" \
        --service-account-private-key-file="$CP/certs/sa.key" --root-ca-file="$CP/certs/ca.crt" \
        --kube-api-qps=500 --kube-api-burst=1000 --pvclaimbinder-sync-period=1s \
        --controllers='*,-nodeipam,-cloud-node-lifecycle,-service-lb-controller,-node-route-controller'
    proc_start sched "$CP_BIN/kube-scheduler" --kubeconfig="$CP/sched.kubeconfig" --leader-elect=false \
        --secure-port="$SCHED_PORT" --bind-address=127.0.0.1 --cert-dir="$CP/certs/sched" \
        --kube-api-qps=500 --kube-api-burst=1000
    proc_start kwok "$CP_BIN/kwok" --config="$CP_BIN/stages" --kubeconfig="$CP/kwok.kubeconfig" \
        --manage-all-nodes=false --manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake \
        --node-lease-duration-seconds=40 --node-ip=127.0.0.1 --cidr=10.0.0.1/16 \
        --server-address="127.0.0.1:$KWOK_PORT"
}

# What somebody who installs karp would apply, and what the simulated EC2 may do: register nodes.
cp_install() {
    kubectl apply -f "$ROOT/deploy/crds" -f "$ROOT/deploy/base/00-namespace.yaml" -f "$ROOT/deploy/base/10-rbac.yaml" \
        -f "$ROOT/tests/e2e/rbac.yaml" >"$CP/log/install.log" || return 1
    kubectl wait --for=condition=Established --timeout=30s crd --all >>"$CP/log/install.log"
}

cp_up() { # FOLDER
    local n
    CP=$1
    if [ -d "$CP" ] && [ -n "$(ls -A "$CP")" ] && [ ! -e "$CP/tokens.csv" ]; then
        echo "$CP holds something else than a control plane" >&2
        return 1
    fi
    mkdir -p "$CP/pids"
    proc_stop_all '*'
    rm -rf "$CP"
    mkdir -p "$CP"/{pids,log,certs,etcd}
    read -r API_PORT ETCD_PORT ETCD_PEER_PORT KCM_PORT SCHED_PORT KWOK_PORT < <(free_ports 6)
    cp_keys >"$CP/log/keys.log" 2>&1
    cp_users
    export KUBECONFIG=$CP/admin.kubeconfig
    cp_etcd
    cp_apiserver
    cp_apiserver_ready || return 1
    cp_controllers
    cp_install || return 1
    for n in etcd apiserver kcm sched kwok; do
        proc_pid $n >/dev/null && continue
        echo "$n did not stay up:" >&2
        tail -n 5 "$CP/log/$n.log" >&2
        return 1
    done
    { declare -p CP CP_BIN API_PORT ETCD_PORT | sed 's/^declare --/export/'; } >"$CP/env"
}

# Scratch data: nobody waits for an orderly end.
cp_down() { [ -n "${CP:-}" ] && proc_stop_all '*'; }
