#!/usr/bin/env bash
# Builds upstream Karpenter with its KWOK provider from the Go module proxy, once, into
# ${XDG_CACHE_HOME:-~/.cache}/karp/karpenter-VERSION, and prints that folder: karpenter-kwok and crds/.
#
# Its two listen addresses become 127.0.0.1; nothing else is changed. An earlier release than the
# newest, because that one wants a newer Go than the tests do.   usage: upstream.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/go.sh
. "$here/../e2e/go.sh"
version=v1.14.1
root=$KARP_CACHE/karpenter-$version
mkdir -p "$root"
exec 9>"$root/.lock"
flock 9
if [ ! -x "$root/karpenter-kwok" ]; then
    go_find
    say "building upstream Karpenter $version with its KWOK provider (kept in $root)"
    dir=$(cd / && "$GO" mod download -json "sigs.k8s.io/karpenter@$version" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)".*/\1/p')
    rm -rf "$root/src" "$root/crds"
    cp -r "$dir" "$root/src"
    chmod -R u+w "$root/src"
    sed -i 's/Sprintf(":%d", options/Sprintf("127.0.0.1:%d", options/' "$root/src/pkg/operator/operator.go"
    [ "$(grep -c '"127.0.0.1:%d"' "$root/src/pkg/operator/operator.go")" = 2 ]
    mkdir "$root/crds"
    cp "$root"/src/pkg/apis/crds/*.yaml "$root"/src/kwok/apis/crds/*.yaml "$root/crds/"
    (cd "$root/src" && "$GO" build -trimpath -ldflags='-s -w' -o "$root/karpenter-kwok.new" ./kwok) >&2
    rm -rf "$root/src"
    mv "$root/karpenter-kwok.new" "$root/karpenter-kwok"
fi
echo "$root"
