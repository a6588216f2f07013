#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Install the Debian packages that the other scripts need: through apt-get when
# root, otherwise print the one line to run and stop. Quick, and without the
# network, when all are there.
#
# usage: deps.sh
set -euo pipefail
. "$(dirname "$0")/env.sh"

packages=(
	# the kernel and what builds it
	linux-source-6.12 xz-utils build-essential flex bison bc libelf-dev
	lz4 perl python3 rsync ccache
	# the guest
	qemu-system-x86 busybox-static cpio e2fsprogs f2fs-tools erofs-utils mmdebstrap
	# the policy in user space
	clang libclang-rt-14-dev
	# asapctl: another libc, the check of its JSON and of its man page
	musl-tools python3-jsonschema groff-base
	# the gates
	shellcheck sparse codespell python3-ply python3-git
	git quilt coccinelle python3-sphinx
)

command -v dpkg-query >/dev/null || die "this needs Debian 12 (dpkg is not there)"
mapfile -t missing < <(
	dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null |
		sed -n 's/ installed$//p' | sort -u |
		comm -13 - <(printf '%s\n' "${packages[@]}" | sort)
)
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ]; then
	say "These packages are missing. As root, run:"
	say "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
	exit 1
fi
mkdir -p "$ASAP_OUT/log"
log=$ASAP_OUT/log/deps.log
say "deps: installing ${missing[*]}; log in $log"
if ! { apt-get update &&
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
		"${missing[@]}"; } >"$log" 2>&1 </dev/null; then
	grep '^E:' "$log" >&2 || tail -n 5 "$log" >&2
	die "apt-get failed; the log is $log"
fi
