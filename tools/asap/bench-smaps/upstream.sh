#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run the kernel's own selftests of proc and mm on the stock and on the patched
# kernel, from the same programs, and print what differs in their results.
#
# usage: upstream.sh
#
# Every program that the two folders build runs once, without arguments and for
# two minutes at most. Exit status 1: there is a difference.
set -euo pipefail
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/env.sh
. "$bench/../../../scripts/env.sh"

out=$ASAP_OUT/smaps
tests=$out/upstream-tests
mkdir -p "$out"
declare -A kernel
kernel[stock]=$("$ASAP_TOP/scripts/build.sh" stock)
kernel[patched]=$("$ASAP_TOP/scripts/build.sh" off)
"$ASAP_TOP/scripts/selftests.sh" "$tests" "$ASAP_CACHE/build/off" proc mm
(cd "$tests" && find proc mm -type f -perm -1 ! -name '*.sh' ! -name '*.so' | sort) \
	>"$tests/list"
"$ASAP_TOP/scripts/initramfs.sh" "$out/upstream.cpio" \
	"$bench/upstream-guest:/guest" "$tests:/tests"

for flavour in stock patched; do
	rc=0
	"$ASAP_TOP/scripts/boot.sh" --kernel "${kernel[$flavour]}" --initrd "$out/upstream.cpio" \
		--out "$out/upstream-$flavour" --mem 3072 --timeout 7200 || rc=$?
	programs=$(grep -c '^@end' "$out/upstream-$flavour/results")
	say "upstream: $flavour: $programs programs, verdict $rc"
	# Only verdicts: addresses, times and counts of bytes differ in every run.
	grep -E '^@end|^\|(not )?ok|^@verdict' "$out/upstream-$flavour/results" |
		sed -E 's/0x[0-9a-f]+/ADDR/g; s/\|((not )?ok [0-9]+).*(# (SKIP|XFAIL)).*/|\1 \3/' \
		>"$out/upstream-$flavour.verdicts"
done
if diff -u "$out/upstream-stock.verdicts" "$out/upstream-patched.verdicts"; then
	echo "no difference in $(grep -c '^@end' "$out/upstream-stock.verdicts") programs"
else
	exit 1
fi
