#!/usr/bin/env bash
# Plays three rows of the field report in virtual time.   usage: demo.sh BUILD
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
rc=0
for s in b01-scale-out-spot b02-scale-out-further b04-scale-to-zero; do
    echo
    "$1/karp-sim" run "tests/scenarios/$s.yaml" || rc=1
done
exit $rc
