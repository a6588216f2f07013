#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unpack Debian's linux-source-6.12 into $ASAP_CACHE/source, whatever point
# release the installed package holds. Does nothing when that very package is
# there already.
#
# usage: fetch.sh
set -euo pipefail
. "$(dirname "$0")/env.sh"

package=linux-source-6.12
tarball=/usr/src/$package.tar.xz

[ -r "$tarball" ] || die "$tarball is not there: run scripts/deps.sh first"
version=$(dpkg-query -W -f='${Version}' "$package")
stamp=$ASAP_CACHE/source.version

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$version" ] &&
   [ -f "$ASAP_SOURCE/Makefile" ]; then
	exit 0
fi

say "fetch: unpacking $package $version (takes about a minute)"
mkdir -p "$ASAP_CACHE"
new=$ASAP_CACHE/source.new
rm -rf "$new" "$stamp"
mkdir "$new"
tar -C "$new" --strip-components=1 -xf "$tarball" ||
	die "$tarball does not unpack"
release=$(make -s -C "$new" kernelversion)
case $release in
6.12.*) ;;
*) die "$tarball holds Linux $release, not 6.12.x" ;;
esac
rm -rf "$ASAP_SOURCE"
mv "$new" "$ASAP_SOURCE"
printf '%s\n' "$version" >"$stamp"
say "fetch: Linux $release in $ASAP_SOURCE"
