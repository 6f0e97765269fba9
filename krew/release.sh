#!/usr/bin/env bash
# Makes the release archives of the plugin and the krew manifest for them. Nothing is fetched or sent.
#
#   release.sh pack VERSION OS_ARCH BINARY DIR      DIR/kubectl-karp_vVERSION_OS_ARCH.tar.gz
#   release.sh manifest VERSION DIR HOMEPAGE        the manifest on stdout, checksums of DIR's archives
#
# OS_ARCH: linux_amd64 linux_arm64 darwin_amd64 darwin_arm64. An archive holds the binary and LICENSE;
# the same binary gives the same bytes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
platforms="linux_amd64 linux_arm64 darwin_amd64 darwin_arm64"

die() { echo "release.sh: $*" >&2; exit 1; }
usage() { sed -n '4,5s/^# *//p' "$0" >&2; exit 2; }
archive() { echo "kubectl-karp_v$1_$2.tar.gz"; }
sha256() { if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -c1-64; }

check_version() {
    [[ $1 =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || die "$1 is no semantic version (without v)"
}

pack() { # version platform binary folder
    case " $platforms " in *" $2 "*) ;; *) die "unknown platform $2 (there are: $platforms)" ;; esac
    [ -f "$3" ] || die "no binary $3"
    mkdir -p "$4"
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT # at the end of the script, so tmp is no local
    install -m 755 "$3" "$tmp/kubectl-karp"
    install -m 644 "$here/../LICENSE" "$tmp/LICENSE"
    tar -C "$tmp" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - LICENSE kubectl-karp |
        gzip -n >"$4/$(archive "$1" "$2")"
    echo "$4/$(archive "$1" "$2")"
}

manifest() { # version folder homepage
    local p text sum
    text=$(cat "$here/karp.yaml.in")
    text=${text//@VERSION@/$1}
    text=${text//@HOMEPAGE@/${3%/}}
    for p in $platforms; do
        [ -f "$2/$(archive "$1" "$p")" ] || die "no $2/$(archive "$1" "$p")"
        sum=$(sha256 "$2/$(archive "$1" "$p")")
        text=${text//@SHA256_$p@/$sum}
    done
    [[ $text != *@[A-Z]* ]] || die "a placeholder is left"
    printf '%s\n' "$text"
}

case ${1:-} in
pack) [ $# = 5 ] || usage; check_version "$2"; pack "$2" "$3" "$4" "$5" ;;
manifest) [ $# = 4 ] || usage; check_version "$2"; manifest "$2" "$3" "$4" ;;
*) usage ;;
esac
