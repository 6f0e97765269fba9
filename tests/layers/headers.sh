#!/usr/bin/env bash
# Every header compiles alone.   usage: headers.sh CC FLAGS...
set -uo pipefail
bad=0
for h in $(git ls-files -co --exclude-standard '*.h'); do
    case $h in tests/unit/*) extra=$(pkg-config --cflags check) ;; *) extra= ;; esac
    # shellcheck disable=SC2086
    "$@" $extra -Wno-unused-function -fsyntax-only -x c "$h" || { echo "hdr-check: $h does not compile alone"; bad=1; }
done
[ $bad = 0 ] && echo "headers: each compiles alone"
exit $bad
