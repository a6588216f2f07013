#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Pack an initramfs: static BusyBox, scripts/guest/init as /init, and what the
# caller adds. Prints nothing; the archive is uncompressed, which boots fastest.
#
# usage: initramfs.sh ARCHIVE [SRC:DST]...
#
# Each SRC (a file or a folder) is put at DST in the guest. A guest that is to
# run something has it at /guest: an executable whose exit status, 0 to 27, is
# the verdict of the boot, and which may write lines to fd 3 (see boot.sh).
set -euo pipefail
. "$(dirname "$0")/env.sh"

[ $# -ge 1 ] || die "usage: initramfs.sh ARCHIVE [SRC:DST]..."
archive=$1
shift

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,dev,proc,sys,tmp,run,root,mnt,etc}
cp "$(command -v busybox)" "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
install -m 755 "$ASAP_TOP/scripts/guest/init" "$root/init"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'nobody:x:65534:65534:nobody:/:/bin/sh' >>"$root/etc/passwd"
for pair; do
	src=${pair%%:*} dst=$root/${pair#*:}
	[ -e "$src" ] || die "$src is not there"
	mkdir -p "$(dirname "$dst")"
	cp -rL "$src" "$dst"
done
mkdir -p "$(dirname "$archive")"
(cd "$root" && find . -print0 | sort -z |
	cpio --quiet -0 -o -H newc -R 0:0) >"$archive.new"
mv "$archive.new" "$archive"
