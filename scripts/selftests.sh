#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build kernel selftests of the patched tree, static, for the guest.
#
# usage: selftests.sh DIR BUILD TARGET...
#
# DIR is made anew: DIR/TARGET/ holds the programs, DIR/kselftest/ the shell
# helpers, DIR/list the programs to run ("TARGET/PROG" a line). BUILD is the
# build folder of the kernel (as build.sh prints it); "make headers" is run there.
# TARGETs are folders of tools/testing/selftests that exist in the tree.
set -euo pipefail
. "$(dirname "$0")/env.sh"

[ $# -ge 3 ] || die "usage: selftests.sh DIR BUILD TARGET..."
dir=$1 build=$2
shift 2

log=$ASAP_OUT/log/selftests.log
mkdir -p "$ASAP_OUT/log"
rm -rf "$dir"
mkdir -p "$dir"
selftests=$ASAP_TREE/tools/testing/selftests

say "selftests: building $*; log in $log"
{
	make -C "$ASAP_TREE" "O=$build" "CC=ccache gcc" "HOSTCC=ccache gcc" headers
	cp -r "$selftests/kselftest" "$dir/kselftest"
	for target; do
		output=$ASAP_CACHE/build/selftests/$target
		mkdir -p "$output"
		make -C "$selftests/$target" "OUTPUT=$output" "COLLECTION=$target" \
			"CC=ccache gcc" LDFLAGS=-static \
			"KHDR_INCLUDES=-isystem $build/usr/include" \
			"INSTALL_PATH=$dir/$target" install
		make -s -C "$selftests/$target" "OUTPUT=$output" "COLLECTION=$target" \
			emit_tests >"$output/list"
	done
} >"$log" 2>&1 || {
	grep -E -m 20 'error:|undefined reference|\*\*\*' "$log" >&2 || tail -n 20 "$log" >&2
	die "building the selftests failed; the log is $log"
}
for target; do
	sed 's|:|/|' "$ASAP_CACHE/build/selftests/$target/list"
done >"$dir/list"
