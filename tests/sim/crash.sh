#!/usr/bin/env bash
# The crash matrix in virtual time: plays a scenario once to learn which calls the agent makes, then
# once for each distinct call (its first, second and last occurrence), killing the agent right after
# that call was answered and before it could use the answer; all of it again while describes miss
# new instances for 20 s, as EC2's do at times. The end must always be the same.
# usage: crash.sh BUILD [FILE]     ends with N passed, N failed
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
sim=$1/karp-sim base=${2:-tests/scenarios/crash/scale.yaml}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$sim" run "$base" --trace >"$work/trace" || { echo "crash.sh: the scenario fails without a crash"; echo "0 passed, 1 failed"; exit 1; }
# "12.3s answered ec2:CreateFleet" and "12.3s karp-agent-0 patch nodeclaims/status /name 200"
sed -nE 's/^[0-9.]+s answered ([a-z0-9]+:[A-Za-z]+)$/\1/p; s/^[0-9.]+s karp-agent-[0-9]+ (create|patch|update|delete) ([a-z0-9/]+) .*$/kube:\1 \2/p' "$work/trace" | grep -v '^kube:update leases' >"$work/calls"
passed=0 failed=0
while read -r n call; do
    for nth in $(printf '%s\n' 1 2 "$n" | sort -nu); do
        [ "$nth" -le "$n" ] || continue
        for hide in 0s 20s; do
        sed "s|^    # CRASH.*|    - at: 0s\n      agent: {crash: {after: \"$call\", nth: $nth}}\n    - at: 0s\n      ec2: {hide: {for: $hide}}|" "$base" >"$work/run.yaml"
        if "$sim" run "$work/run.yaml" >"$work/out" 2>&1; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAILED  killed after $call, time $nth of $n, instances hidden for $hide"
            grep -E '^ *(failed|violated)|karp-sim:|ERROR' "$work/out" | head -n 4
        fi
        done
    done
done < <(sort "$work/calls" | uniq -c | sed 's/^ *//')
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
