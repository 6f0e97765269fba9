#!/usr/bin/env bash
# Runs the tests that are built and ends with one line: N passed, N failed[, N skipped].
# usage: run.sh [-k PATTERN] PART...      parts: static unit scenarios sanitized e2e
# PATTERN (regular expression) narrows unit binaries, scenario files and e2e cases by name.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
pattern=.
[ "${1:-}" = -k ] && { pattern=$2; shift 2; }
passed=0 failed=0 skipped=0 failures=()
ok() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); failures+=("$1"); echo "FAILED  $1"; }

check() { # name command...: one check that passes or fails
    local name=$1 log; shift
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then ok; tail -n 1 "$log"; else fail "$name"; tail -n 40 "$log"; fi
    rm -f "$log"
}

unit() { # build folder: one process each, as many at once as there are cores
    local b log rc out n f e bins=()
    out=$(mktemp -d)
    for b in "$1"/unit/test_*; do
        [ -x "$b" ] || continue
        case $b in *.d | *.o) continue ;; esac
        [[ $(basename "$b") =~ $pattern ]] && bins+=("$b")
    done
    [ ${#bins[@]} = 0 ] || printf '%s\0' "${bins[@]}" | CK_VERBOSITY=normal xargs -0 -r -n 1 -P "$(nproc)" sh -c \
        'log=$0/$(basename "$1"); "$1" >"$log" 2>&1; echo $? >"$log.rc"' "$out"
    for b in "${bins[@]+"${bins[@]}"}"; do
        log=$out/$(basename "$b")
        rc=$(cat "$log.rc" 2>/dev/null || echo none)
        # check's own line: "100%: Checks: 12, Failures: 0, Errors: 0"
        read -r n f e < <(sed -n 's/.*Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2 \3/p' "$log" | tail -n 1)
        if [ -z "${n:-}" ]; then
            fail "$b (ended with $rc before its summary)"; tail -n 20 "$log"; continue
        fi
        passed=$((passed + n - f - e))
        if [ $((f + e)) -gt 0 ] || [ "$rc" != 0 ]; then
            failed=$((failed + f + e)); [ $((f + e)) -gt 0 ] || failed=$((failed + 1))
            failures+=("$b"); echo "FAILED  $b"; grep -E ':[FE]:|ERROR|SUMMARY|runtime error' "$log" | head -n 20
        fi
        unset n f e
    done
    rm -rf "$out"
}

scenarios() { # build folder
    local f log out files=()
    out=$(mktemp -d)
    for f in tests/scenarios/*.yaml; do
        [[ $(basename "$f") =~ $pattern ]] || continue
        # Ten thousand pods take minutes with sanitizers.
        [ "$1" = build ] || [ "$(basename "$f")" != runaway.yaml ] || continue
        files+=("$f")
    done
    printf '%s\0' "${files[@]+"${files[@]}"}" | xargs -0 -r -n 1 -P "$(nproc)" sh -c \
        '"$0/karp-sim" run "$2" >"$1/$(basename "$2")" 2>&1 && : >"$1/$(basename "$2").passed"' "$1" "$out"
    for f in "${files[@]+"${files[@]}"}"; do
        log=$out/$(basename "$f")
        if [ -e "$log.passed" ]; then ok; else fail "$f ($1)"; tail -n 25 "$log"; fi
    done
    rm -rf "$out"
    # The same seed gives the same bytes: twice, and in every build.
    same_bytes "$1" "$1" tests/scenarios/b01-scale-out-spot.yaml --seed 7
    same_bytes "$1" build tests/scenarios/mixed.yaml --seed 7 --faults harsh
}

same_bytes() { # build folder, build folder, file, flags...
    local a=$1 b=$2 f=$3; shift 2
    [[ $(basename "$f") =~ $pattern ]] || return 0
    if cmp -s <("$a/karp-sim" run "$@" --trace) <("$b/karp-sim" run "$@" --trace); then ok; else fail "$f: traces of one seed differ ($a, $b)"; fi
}

seeds() { # replays what campaigns have found: "FILE PROFILE SEED  what it was"
    local file profile seed what out
    while read -r file profile seed what; do
        case $file in '#'* | '') continue ;; esac
        [[ $file =~ $pattern ]] || continue
        if out=$(build/karp-sim run "tests/scenarios/$file" --faults "$profile" --seed "$seed" 2>&1); then ok; else fail "$file $profile seed $seed ($what)"; grep -E '^ *(failed|violated)' <<<"$out" | head -n 5; fi
    done <tests/scenarios/seeds
}

sum_of() { # name command...: a part that prints its own closing line; its numbers are added
    local name=$1 log line; shift
    log=$(mktemp)
    "$@" 2>&1 | tee "$log"
    rc=${PIPESTATUS[0]}
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
    if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)? ]]; then
        passed=$((passed + BASH_REMATCH[1])); failed=$((failed + BASH_REMATCH[2])); skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
        [ "${BASH_REMATCH[2]}" = 0 ] || failures+=("$name")
        [ "$rc" = 0 ] || [ "${BASH_REMATCH[2]}" != 0 ] || fail "$name (ended with $rc)"
    else
        fail "$name (ended with $rc before its summary)"
    fi
    rm -f "$log"
}

for part in "$@"; do
    echo "== $part"
    case $part in
    static)
        check "layers" make -s check-layers
        check "headers" make -s hdr-check
        check "lint" make -s lint
        for t in tests/static/*.sh; do [ -e "$t" ] && check "$t" bash "$t"; done
        ;;
    unit) unit build ;;
    scenarios)
        scenarios build
        seeds
        sum_of "crash matrix" tests/sim/crash.sh build
        if [[ differential =~ $pattern ]]; then sum_of "differential" build/karp-sim differential --clusters 200; fi
        if [[ differential =~ $pattern ]]; then sum_of "differential (usual)" build/karp-sim differential --kind usual --clusters 8; fi
        if [[ campaign =~ $pattern ]]; then sum_of "campaign" build/karp-sim campaign tests/scenarios/mixed.yaml --seeds 1-100 --faults harsh; fi
        ;;
    sanitized)
        export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 CK_FORK=no
        unit build/san
        unset CK_FORK
        scenarios build/san
        if [[ differential =~ $pattern ]]; then sum_of "differential (sanitized)" build/san/karp-sim differential --clusters 40; fi
        ;;
    e2e) sum_of e2e bash tests/e2e/run.sh "$pattern" ;;
    *) echo "run.sh: unknown part $part" >&2; exit 2 ;;
    esac
done
for f in "${failures[@]+"${failures[@]}"}"; do echo "failed: $f"; done
line="$passed passed, $failed failed"
[ "$skipped" = 0 ] || line="$line, $skipped skipped"
echo "$line"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
