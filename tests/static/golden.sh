#!/usr/bin/env bash
# Screens and machine output, byte by byte: in every folder of tests/golden that has a file `args`
# each line "FILE ARGUMENTS…" runs build/kubectl-karp there, and what it says must equal FILE:
# stdout, then "--- stderr" and stderr if there was any, then "--- exit N" if N is not 0.
# UPDATE=1 rewrites the files. Another binary: KARP=path.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
karp=$(realpath "${KARP:-build/kubectl-karp}")
[ -x "$karp" ] || { echo "golden: no $karp: build it first"; exit 1; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ran=0 bad=0

say() { # folder arguments...: the output in its three parts
    local folder=$1 rc; shift
    (cd "$folder" && env -i HOME=/nonexistent PATH="$PATH" LC_ALL=C COLUMNS=100 \
        ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$karp" "$@") >"$tmp/out" 2>"$tmp/err" </dev/null
    rc=$?
    cat "$tmp/out"
    if [ -s "$tmp/err" ]; then echo "--- stderr"; cat "$tmp/err"; fi
    if [ $rc != 0 ]; then echo "--- exit $rc"; fi
}

for args in tests/golden/*/args; do
    folder=$(dirname "$args")
    while read -r -a words; do
        { [ ${#words[@]} = 0 ] || [[ ${words[0]} == \#* ]]; } && continue
        file=$folder/${words[0]}
        say "$folder" "${words[@]:1}" >"$tmp/got"
        ran=$((ran + 1))
        if [ -n "${UPDATE:-}" ]; then
            cmp -s "$tmp/got" "$file" || { cp "$tmp/got" "$file"; echo "golden: wrote $file"; }
        elif ! cmp -s "$tmp/got" "$file"; then
            bad=$((bad + 1))
            echo "golden: $file differs (UPDATE=1 tests/static/golden.sh rewrites it)"
            diff -u "$file" "$tmp/got" | head -n 40
        fi
    done <"$args"
done
[ $ran -gt 0 ] || { echo "golden: nothing to compare"; exit 1; }
echo "golden: $((ran - bad)) of $ran as expected"
[ $bad = 0 ]
