#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Measure smaps_rollup on the stock and on the patched kernel, each in a boot of
# its own under QEMU, and write $ASAP_OUT/smaps/result.json.
#
# usage: run.sh
#
#   ITERATIONS     reads of each file at each size (default 1000)
#   ROUNDS         rounds of the contention test (default 10)
#   VMAS, PAGES    the sizes (default "200 2000 20000" and "1 27 64")
#   CYCLES_VMAS, CYCLES_GIANT
#                  the writer's cycles a round (default 20000 and 10000), 5 s at most
#   MEM            guest memory in MB (default 6656: 20,000 VMAs of 64 pages)
#
# Nothing is compared across boots but ratios: a boot's rollup to its own sum over
# smaps, and the writer's latency to its own spinner.
set -euo pipefail
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/env.sh
. "$bench/../../../scripts/env.sh"

out=$ASAP_OUT/smaps
mkdir -p "$out"
${CC:-gcc} -O2 -Wall -Wextra -Werror -static -o "$out/bench-smaps" "$bench/bench-smaps.c"

for vmas in ${VMAS:-200 2000 20000}; do
	for pages in ${PAGES:-1 27 64}; do
		echo "rate $vmas $pages ${ITERATIONS:-1000}"
	done
done >"$out/jobs"
echo "contention vmas20000 ${ROUNDS:-10} ${CYCLES_VMAS:-20000}" >>"$out/jobs"
echo "contention giant ${ROUNDS:-10} ${CYCLES_GIANT:-10000}" >>"$out/jobs"

"$ASAP_TOP/scripts/initramfs.sh" "$out/bench.cpio" "$bench/guest:/guest" \
	"$out/bench-smaps:/bench-smaps" "$out/jobs:/jobs"
for flavour in stock off; do
	kernel=$("$ASAP_TOP/scripts/build.sh" "$flavour")
	say "bench-smaps: booting $flavour"
	"$ASAP_TOP/scripts/boot.sh" --kernel "$kernel" --initrd "$out/bench.cpio" \
		--out "$out/$flavour" --mem "${MEM:-6656}" --timeout 0
done

"$bench/report.py" "$out/stock/results" "$out/off/results" >"$out/result.json"
say "bench-smaps: $out/result.json"
