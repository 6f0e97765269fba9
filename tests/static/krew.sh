#!/usr/bin/env bash
# Packs four archives, fills the krew manifest for them and holds it to what krew's own CI checks:
# kind and version exact, names, semver with v, one-line description, per platform uri, lower-case
# sha256 of the very archive, binary and LICENSE inside, no two platforms alike. Then it breaks the
# manifest on purpose: every rule must be able to fail.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
version=1.2.3
bad=0
complain() { echo "krew: $*"; bad=1; }

value() { sed -n "s/^ *$2: *//p" "$1" | head -n 1; }
count() { grep -cE "$2" "$1"; }

# The rules; prints what is wrong with manifest $1, whose archives lie in $tmp/dist.
check() {
    local m=$1 name os arch uri sum file
    [ "$(value "$m" apiVersion)" = krew.googlecontainertools.github.com/v1alpha2 ] || echo "apiVersion"
    [ "$(value "$m" kind)" = Plugin ] || echo "kind"
    name=$(sed -n '/^metadata:/,/^spec:/s/^  name: *//p' "$m")
    [[ $name =~ ^[A-Za-z0-9_-]+$ && ! $name =~ ^(con|prn|aux|nul|com[0-9]|lpt[0-9])$ ]] || echo "name $name"
    [ "$name.yaml" = "$(basename "$m")" ] || echo "the file is not called after the plugin"
    [[ $(value "$m" version) =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || echo "version"
    [[ $(value "$m" homepage) =~ ^https?://[^\ ]+$ ]] || echo "homepage"
    [[ $(value "$m" shortDescription) =~ ^[^\|\>].{10,}$ && ${#name} -gt 0 ]] || echo "shortDescription"
    [ "$(value "$m" description)" = '|' ] || echo "description"
    grep -q '@' "$m" && echo "a placeholder is left"
    grep -qP '\t' "$m" && echo "a tab"
    for key in uri sha256 files bin; do
        [ "$(count "$m" "^ {6}$key:")" = "$(count "$m" '^    - selector:')" ] || echo "a platform without $key"
    done
    [ "$(count "$m" '^    - selector:')" -ge 1 ] || echo "no platform"
    paste -d ' ' <(sed -n 's/^ *os: //p' "$m") <(sed -n 's/^ *arch: //p' "$m") \
        <(sed -n 's/^ *uri: //p' "$m") <(sed -n 's/^ *sha256: //p' "$m") >"$tmp/platforms"
    [ -z "$(cut -d' ' -f1,2 "$tmp/platforms" | sort | uniq -d)" ] || echo "two platforms are the same"
    while read -r os arch uri sum; do
        [[ $os =~ ^(linux|darwin|windows)$ && $arch =~ ^(amd64|arm64|386|arm)$ ]] || echo "platform $os/$arch"
        [[ $uri =~ ^https://.*\.(tar\.gz|zip)$ ]] || echo "uri $uri"
        [[ $sum =~ ^[0-9a-f]{64}$ ]] || echo "sha256 $sum"
        file=$tmp/dist/$(basename "$uri")
        [ -f "$file" ] && [ "$(sha256sum "$file" | cut -c1-64)" = "$sum" ] || echo "sha256 is not that of $(basename "$uri")"
    done <"$tmp/platforms"
    while read -r file; do
        [ -z "$file" ] || tar -tzf "$tmp/dist/kubectl-karp_v${version}_linux_amd64.tar.gz" | grep -qx "$file" ||
            echo "the archive has no $file"
    done < <(sed -n 's/^ *\(- from\|bin\): *//p' "$m" | sort -u)
    grep -q 'from: LICENSE' "$m" || echo "LICENSE is not installed"
}

echo '#!/bin/sh' >"$tmp/binary"
for p in linux_amd64 linux_arm64 darwin_amd64 darwin_arm64; do
    echo "# $p" >>"$tmp/binary"
    bash krew/release.sh pack $version $p "$tmp/binary" "$tmp/dist" >/dev/null || complain "pack $p failed"
done
first=$(sha256sum "$tmp"/dist/*_darwin_arm64.tar.gz)
bash krew/release.sh pack $version darwin_arm64 "$tmp/binary" "$tmp/dist" >/dev/null
[ "$first" = "$(sha256sum "$tmp"/dist/*_darwin_arm64.tar.gz)" ] || complain "packing twice gives different bytes"

m=$tmp/karp.yaml
bash krew/release.sh manifest $version "$tmp/dist" https://example.com/kubectl-karp/ >"$m" || complain "the manifest was not made"
wrong=$(check "$m")
[ -z "$wrong" ] || complain "the manifest breaks krew's rules:"$'\n'"$wrong"

# Each line: an edit that breaks one rule.
broken=0
while IFS= read -r edit; do
    mkdir -p "$tmp/edit"
    sed -E "$edit" "$m" >"$tmp/edit/karp.yaml"
    if cmp -s "$m" "$tmp/edit/karp.yaml"; then complain "the edit does nothing: $edit"; fi
    [ -n "$(check "$tmp/edit/karp.yaml")" ] || complain "not noticed: $edit"
    broken=$((broken + 1))
done <<'EDITS'
s/v1alpha2/v1alpha1/
s/^kind: Plugin/kind: plugin/
s/^  name: karp/  name: kubectl.karp/
s/^  name: karp/  name: nul/
s/^  name: karp/  name: other/
s/version: v/version: /
s/version: v1.2.3/version: v1.2/
s/^( *shortDescription:).*/\1/
s/^( *shortDescription:).*/\1 |/
s/^( *homepage:).*/\1 none/
s/^( *sha256: )(.*)/\1\U\2/
0,/sha256: ./s/(sha256: )./\1g/
0,/sha256:/{/sha256:/d}
0,/ bin:/{/ bin:/d}
0,/ uri:/{/ uri:/d}
0,/arch: arm64/s/arch: arm64/arch: amd64/
0,/os: linux/s/os: linux/os: plan9/
s/tar\.gz/tar.xz/
s/from: LICENSE/from: COPYING/
s/bin: kubectl-karp/bin: karp/
s/1\.2\.3_linux_amd64/@VERSION@_linux_amd64/
EDITS

# What release.sh must refuse.
bash krew/release.sh manifest v$version "$tmp/dist" https://example.com >/dev/null 2>&1 && complain "took a version with v"
bash krew/release.sh manifest 9.9.9 "$tmp/dist" https://example.com >/dev/null 2>&1 && complain "made a manifest without archives"
bash krew/release.sh pack $version plan9_mips "$tmp/binary" "$tmp/dist" >/dev/null 2>&1 && complain "packed for an unknown platform"
bash krew/release.sh pack $version linux_amd64 "$tmp/none" "$tmp/dist" >/dev/null 2>&1 && complain "packed no binary"

[ $bad = 0 ] && echo "krew: the manifest keeps the rules, $broken broken ones are noticed"
exit $bad
