#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Print the path of a QEMU whose CPUs may run in threads of their own.
#
# Before 8.1, QEMU could translate a page of guest code while another CPU
# patched it, and go on running an int3 that the jump label code had long taken
# away: a guest in a hundred or so died of it while booting, and one that turns
# static keys on and off died soon. Debian 12 has 7.2, its backports 10.0. When
# the installed one is too old, the newer one is unpacked into the cache, and
# nothing in the system changes: the installed one's libraries are its own too.
#
# QEMU=path uses that one, whatever its version.
#
# usage: qemu.sh
set -euo pipefail
. "$(dirname "$0")/env.sh"

name=qemu-system-x86_64
here=$ASAP_CACHE/qemu

if [ -n "${QEMU:-}" ]; then
	command -v "$QEMU" || die "QEMU=$QEMU cannot be run"
	exit 0
fi

version=$("$name" --version | sed -n 's/^QEMU emulator version \([0-9.]*\).*/\1/p')
if printf '%s\n' 8.1 "$version" | sort -V -C; then
	command -v "$name"
	exit 0
fi

mkdir -p "$ASAP_CACHE"
exec 9>"$here.lock"
flock 9
if ! [ -x "$here/run" ]; then
	keys=/usr/share/keyrings/debian-archive-keyring.gpg
	# shellcheck disable=SC2016	# these are apt's variables
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
		sed -n 's/ bookworm$//p' | head -n 1)
	[ -n "$mirror" ] || die "apt knows no mirror of Debian 12, to fetch a newer QEMU from"
	log=$ASAP_OUT/log/qemu.log
	mkdir -p "$ASAP_OUT/log"
	say "qemu: $version is installed, fetching 10.0 from bookworm-backports; log in $log"
	new=$(mktemp -d "$ASAP_CACHE/qemu.XXXXXX")
	trap 'rm -rf "$new"' EXIT
	mkdir -p "$new"/apt/{lists,cache/archives}/partial
	echo "deb [signed-by=$keys] $mirror bookworm-backports main" >"$new/apt/sources.list"
	apt=(apt-get -o "Dir::Etc::sourcelist=$new/apt/sources.list"
		-o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$new/apt/lists"
		-o "Dir::Cache=$new/apt/cache" -o APT::Sandbox::User=root)
	(
		"${apt[@]}" update
		cd "$new"
		"${apt[@]}" download qemu-system-x86/bookworm-backports \
			qemu-system-common/bookworm-backports qemu-system-data/bookworm-backports
		for p in ./*.deb; do dpkg -x "$p" .; done
	) >"$log" 2>&1 </dev/null || { grep '^E:' "$log" >&2; die "no newer QEMU; the log is $log"; }
	rm -rf "$new"/{apt,*.deb}
	cat >"$new/run" <<-E
		#!/bin/sh
		exec "$here/usr/bin/$name" -L "$here/usr/share/qemu" -L /usr/share/seabios "\$@"
	E
	chmod 755 "$new" "$new/run"
	"$new/usr/bin/$name" --version >/dev/null || die "$name of bookworm-backports does not run here"
	rm -rf "$here"
	mv "$new" "$here"
fi
printf '%s\n' "$here/run"
