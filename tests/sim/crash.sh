#!/usr/bin/env bash
# The crash matrix in virtual time: plays a scenario once to learn which calls the agent makes, then
# once for each distinct call (its first, second and last occurrence), killing the agent right after
# that call was answered and before it could use the answer; all of it again while describes miss
# new instances for 20 s, as EC2's do at times. The end must always be the same.
#
# A scenario joins by lying in tests/scenarios/crash with a line "    # CRASH" where its first step
# may stand, and with room in time for one death anywhere.
# usage: crash.sh BUILD [FILE...]     ends with N passed, N failed
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
build=$1
sim=$build/karp-sim
shift
[ $# -gt 0 ] || set -- tests/scenarios/crash/*.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# Several files: one process each, as many at once as there are cores.
if [ $# -gt 1 ]; then
    printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" sh -c \
        'tests/sim/crash.sh "$0" "$2" >"$1/$(basename "$2")" 2>&1' "$build" "$work"
    for file in "$@"; do
        log=$work/$(basename "$file")
        grep -vE '^[0-9]+ passed, [0-9]+ failed$' "$log"
        if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
            passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
        else
            failed=$((failed + 1)); echo "FAILED  $file: no summary"
        fi
    done
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
fi

# "CALL COUNT" of a scenario's calls, from lines "12.3s answered ec2:CreateFleet" and
# "12.3s karp-agent-0 patch nodeclaims/status /name 200".
calls() { # FILE
    "$sim" run "$1" --trace >"$work/trace" || return 1
    sed -nE 's/^[0-9.]+s answered ([a-z0-9]+:[A-Za-z]+)$/\1/p; s/^[0-9.]+s karp-agent-[0-9]+ (create|patch|update|delete) ([a-z0-9/]+) .*$/kube:\1 \2/p' "$work/trace" |
        grep -v '^kube:update leases' | sort | uniq -c | sed 's/^ *//'
}

die_after() { # FILE CALL NTH HIDE
    grep -q '^    # CRASH' "$1" || return 1
    sed "s|^    # CRASH.*|    - at: 0s\n      agent: {crash: {after: \"$2\", nth: $3}}\n    - at: 0s\n      ec2: {hide: {for: $4}}|" "$1" >"$work/run.yaml"
    "$sim" run "$work/run.yaml" >"$work/out" 2>&1
}

matrix() { # FILE
    local n call nth hide
    calls "$1" >"$work/calls" || { echo "FAILED  $1 without a crash"; failed=$((failed + 1)); return; }
    while read -r n call; do
        for nth in $(printf '%s\n' 1 2 "$n" | sort -nu); do
            [ "$nth" -le "$n" ] || continue
            for hide in 0s 20s; do
                if die_after "$1" "$call" "$nth" "$hide"; then
                    passed=$((passed + 1))
                    continue
                fi
                failed=$((failed + 1))
                echo "FAILED  $1: killed after $call, time $nth of $n, instances hidden for $hide"
                grep -E '^ *(failed|violated)|karp-sim:|ERROR' "$work/out" | head -n 4
            done
        done
    done <"$work/calls"
}

matrix "$1"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
