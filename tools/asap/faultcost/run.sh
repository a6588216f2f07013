#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Count the instructions of page faults on the stock kernel and on ours: built in
# and off, on, in an app, and in a switch window. Prints a table, writes
# $ASAP_OUT/faultcost/result.json; the exit status is 1 when a limit is exceeded.
#
# usage: run.sh
#
#   ROUNDS   rounds of 100 faults for each kind and mode (default 61)
#   STOCK, KERNEL
#            images to boot instead of what build.sh builds
#
# One CPU and -icount: the TSC counts instructions, so that neither caches nor what
# else the host does have a part in the result.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/env.sh
. "$here/../../../scripts/env.sh"

out=$ASAP_OUT/faultcost
mkdir -p "$out"
${CC:-gcc} -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -static -o "$out/faultcost" \
	"$here/faultcost.c"
"$ASAP_TOP/scripts/initramfs.sh" "$out/initramfs.cpio" "$here/guest:/guest" \
	"$out/faultcost:/faultcost"

# measure KERNEL MODE...
measure() {
	local kernel=$1
	shift
	say "faultcost: booting for $*"
	"$ASAP_TOP/scripts/boot.sh" --kernel "$kernel" --initrd "$out/initramfs.cpio" \
		--out "$out/$1" --icount --timeout 3600 --args "${ROUNDS:-61} $*" ||
		die "the guest failed; the console is $out/$1/console.log"
}

measure "${STOCK:-$("$ASAP_TOP/scripts/build.sh" stock)}" stock
measure "${KERNEL:-$("$ASAP_TOP/scripts/build.sh" asap)}" off on app window
rc=0
"$here/report.py" "$out/stock/results" "$out/off/results" >"$out/result.json" || rc=$?
say "faultcost: $out/result.json"
exit $rc
