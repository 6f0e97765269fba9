#!/usr/bin/env bash
# Brings what a build and the tests need: Debian packages through apt when some are missing; on
# other systems it says what to install and stops.   usage: deps.sh build|test
set -euo pipefail
build="gcc libc6-dev make pkg-config libcurl4-openssl-dev libjansson-dev libyaml-dev libmbedtls-dev libexpat1-dev libmicrohttpd-dev uthash-dev zlib1g-dev tzdata"
test="$build check clang-format shellcheck openssl curl python3 python3-venv ca-certificates"
case ${1:-build} in build) want=$build ;; test) want=$test ;; *) echo "usage: deps.sh build|test" >&2; exit 2 ;; esac

if ! command -v apt-get >/dev/null; then
    for f in libcurl jansson yaml-0.1 expat libmicrohttpd zlib; do
        pkg-config --exists "$f" 2>/dev/null || missing="${missing:-} $f"
    done
    [ -z "${missing:-}" ] && exit 0
    echo "karp needs, by the names of Debian 12's packages: $want" >&2
    echo "missing here (pkg-config):${missing}" >&2
    exit 1
fi
missing=
for p in $want; do
    [ "$(dpkg-query -W -f '${Status}' "$p" 2>/dev/null)" = "install ok installed" ] || missing="$missing $p"
done
# A compiler that did not come as a package is as good.
for tool in gcc make; do command -v $tool >/dev/null && missing=${missing/ $tool/}; done
[ -z "${missing// /}" ] && exit 0
sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "missing packages:$missing" >&2; echo "install them as root: apt-get install$missing" >&2; exit 1; }
    sudo=sudo
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
