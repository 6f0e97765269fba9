#!/usr/bin/env bash
# Builds a real control plane from Go modules, once, into
# ${XDG_CACHE_HOME:-~/.cache}/karp/control-plane-VERSION/bin, and prints that folder.
#
# What is there already, in the wanted version, is not built again: a stamp beside each binary says
# so. Two of these may run at once (a lock), and an interrupted one leaves nothing half-done.
# Progress goes to stderr.   usage: build.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/go.sh
. "$here/go.sh"

kubernetes=$(sed -n 's/^require k8s.io\/kubernetes //p' "$here/controlplane/kubernetes/go.mod")
etcd=$(sed -n 's/^require go.etcd.io\/etcd\/server\/v3 //p' "$here/controlplane/etcd/go.mod")
kwok=v0.8.0
root=$KARP_CACHE/control-plane-$kubernetes
bin=$root/bin
mkdir -p "$bin"

built() { [ -x "$bin/$1" ] && [ -e "$bin/.$1-$2" ]; } # NAME VERSION
stamp() { # NAME VERSION: the file NAME.new becomes NAME
    mv "$bin/$1.new" "$bin/$1"
    rm -f "$bin/.$1-"*
    : >"$bin/.$1-$2"
}
from_module() { # NAME VERSION MODULE_FOLDER PACKAGE
    built "$1" "$2" && return
    go_find
    say "building $1 $2 (kept in $bin)"
    (cd "$here/controlplane/$3" && "$GO" build -mod=readonly -trimpath -ldflags='-s -w' -o "$bin/$1.new" "$4") >&2
    stamp "$1" "$2"
}
module_dir() { "$GO" mod download -json "$1" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)".*/\1/p'; }

all_built() {
    local n
    for n in kube-apiserver kube-controller-manager kube-scheduler kubectl; do
        built $n "$kubernetes" || return 1
    done
    built etcd "$etcd" && built kwok "$kwok" && [ -e "$bin/.stages-$kwok" ]
}

# KWOK's stock stages are read from its module, not copied into this tree.
stages() {
    local dir f
    [ -e "$bin/.stages-$kwok" ] && return
    go_find
    dir=$(cd / && module_dir "sigs.k8s.io/kwok@$kwok")/kustomize/stage
    for f in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease \
        pod/fast/pod-ready pod/fast/pod-complete pod/fast/pod-delete; do
        cat "$dir/$f.yaml"
        echo ---
    done >"$bin/stages.new"
    stamp stages "$kwok"
}

if ! all_built; then
    exec 9>"$root/.lock"
    flock -n 9 || { say "another build is under way, waiting for it" && flock 9; }
    all_built || say "the control plane is built once; with two cores that takes about ten minutes"
    for name in kube-apiserver kube-controller-manager kube-scheduler kubectl; do
        from_module $name "$kubernetes" kubernetes "k8s.io/kubernetes/cmd/$name"
    done
    from_module etcd "$etcd" etcd go.etcd.io/etcd/server/v3
    if ! built kwok "$kwok"; then
        go_find
        say "building kwok $kwok"
        mkdir -p "$root/kwok.tmp"
        GOBIN=$root/kwok.tmp "$GO" install -trimpath -ldflags='-s -w' "sigs.k8s.io/kwok/cmd/kwok@$kwok" >&2
        mv "$root/kwok.tmp/kwok" "$bin/kwok.new"
        rmdir "$root/kwok.tmp"
        stamp kwok "$kwok"
    fi
    stages
    exec 9>&-
fi
echo "$bin"
