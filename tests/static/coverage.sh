#!/usr/bin/env bash
# tests/coverage.md names only what there is: every `name` in the right column is a scenario, a crash
# matrix, a golden or an end-to-end case, and every suite/test stands in tests/unit.
# shellcheck disable=SC2016,SC2001
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
bad=0 names=0
complain() { echo "coverage: $*"; bad=1; }

there() { # NAME
    [ -f "tests/scenarios/$1.yaml" ] || [ -f "tests/scenarios/crash/$1.yaml" ] || [ -d "tests/golden/$1" ] ||
        [ -f "tests/e2e/cases/$1.sh" ]
}
where=$(grep '^|' tests/coverage.md | sed 's/^|[^|]*|//')
while read -r name; do
    names=$((names + 1))
    there "$name" || complain "there is no $name"
done < <(grep -o '`[a-z0-9-]*`' <<<"$where" | tr -d '`' | sort -u)
while IFS=/ read -r suite test; do
    names=$((names + 1))
    grep -qw -- "$test" "tests/unit/test_$suite.c" 2>/dev/null || complain "there is no $test in suite $suite"
done < <(sed 's/`[^`]*`//g' <<<"$where" | sed 's/"[^"]*"//g' | grep -oE '\b[a-z0-9_]+/[a-z][a-z0-9_]+\b' | sort -u)
[ $names -gt 100 ] || complain "only $names names found: is the table still read?"
[ $bad = 0 ] && echo "coverage: all of $names names are there"
exit $bad
