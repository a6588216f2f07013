#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Do the programs that people sample memory with read the same from smaps_rollup
# as asapctl? Boots the patched kernel with this machine's python3-psutil and
# procps (ps), and compares the numbers of one sleeping process.
#
# usage: readers.sh
set -euo pipefail
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/env.sh
. "$bench/../../../scripts/env.sh"

out=$ASAP_OUT/smaps
root=$out/readers-root
rm -rf "$root"
mkdir -p "$root/usr/lib/python3/dist-packages"
make -s -C "$ASAP_TOP/tools/asap" "O=$out/asapctl" LDFLAGS=-static

python=$(readlink -f "$(command -v python3)")
stdlib=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
psutil=$("$python" -c 'import os, psutil; print(os.path.dirname(psutil.__file__))')
ps=$(command -v ps)
mkdir -p "$root$(dirname "$stdlib")" "$root$(dirname "$psutil")"
cp -r "$stdlib" "$root$stdlib"
rm -rf "${root:?}$stdlib"/{test,idlelib,ensurepip,lib2to3,config-*}
cp -r "$psutil" "$root$(dirname "$psutil")/"
find "$python" "$ps" "$stdlib/lib-dynload" "$psutil" -type f \( -name '*.so' -o -perm -1 \) \
	-exec ldd {} + 2>/dev/null | awk '/=> \// { print $3 } /^\t\// { print $1 }' |
	sort -u | while IFS= read -r lib; do
		install -D "$lib" "$root$lib"
	done

"$ASAP_TOP/scripts/initramfs.sh" "$out/readers.cpio" "$bench/readers-guest:/guest" \
	"$out/asapctl/asapctl:/bin/asapctl" "$python:/bin/python3" "$ps:/bin/ps.procps" \
	"$root/usr:/usr" "$root/lib:/lib" "$root/lib64:/lib64"
kernel=$("$ASAP_TOP/scripts/build.sh" off)
rc=0
"$ASAP_TOP/scripts/boot.sh" --kernel "$kernel" --initrd "$out/readers.cpio" \
	--out "$out/readers" --mem 1024 || rc=$?
cat "$out/readers/results"
exit $rc
