#!/usr/bin/env bash
# Builds tests/bench/peer, which runs upstream Karpenter's decisions on the files of karp-bench, with its
# dependencies from the Go module proxy, and prints the program's path.   usage: peer.sh [FOLDER]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/go.sh
. "$here/../e2e/go.sh"
out=$(realpath -m "${1:-$here/../../build/bench}")
mkdir -p "$out"
go_find
[ -x "$out/peer" ] || say "building upstream's decisions (a few minutes the first time)"
(cd "$here/peer" && "$GO" build -mod=readonly -trimpath -ldflags='-s -w' -o "$out/peer" .) >&2
echo "$out/peer"
