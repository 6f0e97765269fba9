#!/usr/bin/env bash
# Proves the layering: every archive of a plain build may leave undefined only what its layer may
# use, and every file may include only what its layer may see.   usage: check.sh BUILD
# The lists below are read through ${!uses} and ${!forbid}.
# shellcheck disable=SC2034
set -uo pipefail
build=$1
bad=0
complain() { echo "layers: $*"; bad=1; }

# What each layer may use of the others, and which foreign symbols (regular expression; libc for
# base and above is open, so there the list names what is forbidden).
uses_base=""
uses_core="base"
uses_net="base"
uses_kube="base net core"
uses_aws="base net core"
uses_agent="base core net kube aws"
uses_cmd="base core net kube aws"
uses_sim="base core net kube aws agent"

# __divti3 and __udivti3 divide 128-bit integers: arithmetic that the compiler does not inline.
core_allow='^(mem(cpy|move|set|cmp|chr)|str(len|cmp|ncmp|chr|rchr|str|spn|cspn|nlen)|qsort|bsearch|abort|(v)?snprintf|__ctype_b_loc|_GLOBAL_OFFSET_TABLE_|__u?divti3|__assert_fail)$'
forbid_base='^(curl_|MHD_|XML_|socket$|connect$|bind$|listen$|accept|fork$|execv|posix_spawn)'
forbid_net='^(json_|yaml_|XML_|MHD_|mbedtls_)'
forbid_kube='^(curl_|yaml_|XML_|MHD_|mbedtls_)'
forbid_aws='^(curl_|yaml_|MHD_|mbedtls_)'
forbid_agent='^(curl_|yaml_|XML_|MHD_|mbedtls_|(clock_gettime|gettimeofday|time|getrandom|getenv|random|rand|sleep|usleep|nanosleep|poll|select|fopen|open|socket|malloc_info)$)'
forbid_cmd='^(yaml_|XML_|MHD_|mbedtls_)'

defined() { nm --defined-only "$build/lib$1.a" 2>/dev/null | awk 'NF==3 && $2 ~ /[A-TV-Z]/ {print $3}' | sort -u; }
undefined() { nm -u "$build/lib$1.a" 2>/dev/null | awk '$1=="U" {print $2}' | sort -u; }

for layer in base core net kube aws agent cmd; do
    [ -f "$build/lib$layer.a" ] || { complain "$layer: no archive in $build"; continue; }
    uses=uses_$layer
    { defined "$layer"; for l in ${!uses}; do defined "$l"; done; } | sort -u >"$build/layer.known"
    undefined "$layer" | comm -23 - "$build/layer.known" >"$build/layer.foreign"
    for l in base core net kube aws agent cmd; do
        [ "$l" = "$layer" ] && continue
        case " ${!uses} " in *" $l "*) continue ;; esac
        hit=$(defined "$l" | comm -12 - "$build/layer.foreign" | head -5 | tr '\n' ' ')
        [ -z "$hit" ] || complain "$layer uses $l: $hit"
    done
    if [ "$layer" = core ]; then
        hit=$(grep -Ev "$core_allow" "$build/layer.foreign" | head -20 | tr '\n' ' ')
        [ -z "$hit" ] || complain "core is not pure, it needs: $hit"
    else
        forbid=forbid_$layer
        hit=$(grep -E "${!forbid}" "$build/layer.foreign" | head -5 | tr '\n' ' ')
        [ -z "$hit" ] || complain "$layer may not call: $hit"
    fi
done
rm -f "$build/layer.known" "$build/layer.foreign"

# Includes: "common/X/…", "agent/…", "cmd/…", "tests/…" by layer; core sees nothing of json, yaml,
# clock and log.
scan() { # layer folder allowed-prefixes(regex)
    local hit
    hit=$(grep -rnE '^#include "(common|agent|cmd|tests)/' "$2" --include='*.c' --include='*.h' | grep -vE "#include \"($3)" | grep -v '/data/' | head -5)
    [ -z "$hit" ] || complain "$1 includes what it may not see:"$'\n'"$hit"
}
scan base common/base 'common/base/'
scan core common/core 'common/core/|common/base/(compat|err|alloc|arena|buf|str|sym|map|quantity|timefmt|cron|hash|sort|price|keysort)\.h'
scan net common/net 'common/(net|base)/'
scan kube common/kube 'common/(kube|net|core|base)/'
scan aws common/aws 'common/(aws|net|core|base)/'
scan agent agent 'common/|agent/'
scan cmd cmd 'common/|cmd/'
hit=$(grep -rnE '#include <(jansson|yaml|time|stdlib|malloc|curl/|expat|microhttpd)' common/core --include='*.c' --include='*.h' | grep -v '/data/' | head -5)
[ -z "$hit" ] || complain "core includes a header of json, yaml, clock or heap:"$'\n'"$hit"
hit=$(grep -rln 'uthash.h' common agent cmd --include='*.[ch]' | grep -v '^common/base/map.c$' | head -3)
[ -z "$hit" ] || complain "uthash.h outside map.c: $hit"

[ $bad = 0 ] && echo "layers: clean"
exit $bad
