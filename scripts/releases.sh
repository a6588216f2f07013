#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Fetch what the series edits of the 6.12 point releases that Debian serves: the
# newest of bookworm-security, bookworm-backports, trixie and trixie-security,
# and the oldest of all. Only the folders with edited files are unpacked.
#
# usage: releases.sh
#
# stdout: "VERSION FOLDER" a line. Lists are a day old at most, and kept apart
# from the system's, like all else in $ASAP_CACHE/releases. Exits with 4, saying
# why, when there is no network.
set -euo pipefail
. "$(dirname "$0")/env.sh"

package=linux-source-6.12
here=$ASAP_CACHE/releases
log=$ASAP_OUT/log/releases.log
mkdir -p "$here"/apt/{lists,cache/archives}/partial "$ASAP_OUT/log"
exec 9>"$here.lock"
flock 9

no_network() { say "$1"; exit 4; }

# mirror SUITE: where apt is told to get it.
mirror() {
	# shellcheck disable=SC2016	# these are apt's variables
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
		sed -n "s/ $1\$//p" | head -n 1
}

keys=/usr/share/keyrings/debian-archive-keyring.gpg
main=$(mirror bookworm) security=$(mirror bookworm-security)
if [ -z "$main" ] || [ -z "$security" ]; then
	no_network "apt knows no mirror of Debian 12"
fi
{
	for s in bookworm-backports trixie; do
		echo "deb [signed-by=$keys] $main $s main"
	done
	for s in bookworm-security trixie-security; do
		echo "deb [signed-by=$keys] $security $s main"
	done
} >"$here/apt/sources.list"
options=(-o "Dir::Etc::sourcelist=$here/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
	-o "Dir::State::lists=$here/apt/lists" -o "Dir::Cache=$here/apt/cache"
	-o APT::Sandbox::User=root -o APT::Update::Error-Mode=any -o Acquire::Retries=2)

if [ -z "$(find "$here/apt/updated" -mtime -1 2>/dev/null)" ]; then
	apt-get "${options[@]}" update >"$log" 2>&1 </dev/null ||
		no_network "apt-get update failed: $(grep -m 1 '^E:' "$log")"
	touch "$here/apt/updated"
fi
apt-cache "${options[@]}" madison "$package" |
	awk '{ print $3, $(NF - 2) }' | sort -V >"$here/served"	# VERSION SUITE/main
[ -s "$here/served" ] || die "no suite serves $package"

# A version that was rebuilt for an older Debian has the same source.
sed 's/~\(deb\|bpo\)[0-9+u]*//' "$here/served" >"$here/sources"
mapfile -t wanted < <({
	sed -n '1s/ .*//p' "$here/sources"
	awk '{ newest[$2] = $1 } END { for (s in newest) print newest[s] }' "$here/sources"
} | sort -uV)

# What is unpacked: the folders in which a file is edited, but at the top only
# the files.
mapfile -t edited < <("$ASAP_TOP/scripts/apply.sh" --list | sed -n 's/\.patch$//p')
mapfile -t parts < <(printf '%s\n' Makefile Kconfig "${edited[@]}" |
	sed 's|/[^/]*$||' | sort -u |
	awk -v top="$package/" '
		last != "" && index($0, last) == 1 { next }	# a folder in the last one
		{ last = $0 "/"; print top $0 }')

complete() {
	local f
	for f in Makefile Kconfig "${edited[@]}"; do
		[ -f "$1/$f" ] || return 1
	done
}

for v in "${wanted[@]}"; do
	folder=$here/$v
	if [ "$v" = "$(sed 's/~\(deb\|bpo\)[0-9+u]*//' "$ASAP_CACHE/source.version")" ]; then
		folder=$ASAP_SOURCE
	elif ! complete "$folder"; then
		full=$(awk -v v="$v" '{ s = $1; sub(/~(deb|bpo)[0-9+u]*/, "", s) }
			s == v { print $1; exit }' "$here/served")
		say "releases: fetching $package $full (about 150 MB); log in $log"
		rm -rf "${folder:?}" "$here/new"
		mkdir "$here/new"
		(cd "$here/new" && apt-get "${options[@]}" download "$package=$full") \
			>"$log" 2>&1 </dev/null ||
			no_network "$package $full cannot be fetched: $(grep -m 1 '^E:' "$log")"
		dpkg-deb --fsys-tarfile "$here"/new/*.deb |
			tar -xO "./usr/src/$package.tar.xz" |
			tar -C "$here/new" --strip-components=1 -xJ "${parts[@]}" ||
			die "$package $full does not unpack, or lacks a file that the series edits"
		rm "$here"/new/*.deb
		complete "$here/new" || die "$package $full lacks a file that the series edits"
		mv "$here/new" "$folder"
	fi
	printf '%s %s\n' "$v" "$folder"
done

# Releases that are served no more.
for folder in "$here"/6.12.*; do
	[ -d "$folder" ] || continue
	[[ " ${wanted[*]} " == *" ${folder##*/} "* ]] || rm -rf "$folder"
done
