#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# The demo: real programs, one at a time in the foreground, on a kernel in QEMU.
# Prints a table and bars; leaves result.json, switches.csv and logs in out/demo.
#
# Parameters, from the environment:
#   KERNEL   the image to boot (default: scripts/build.sh asap)
#   APPS     default: every file of guest/apps
#   MODES    default: off asap warm ideal (also: mapped, see README)
#   LEARN    switches an app has to learn before measuring (10)
#   ROUNDS   measured switches an app and mode (16)
#   SEED     of the order, the requests and the repertoires (1)
#   PUSH     how anonymous pages are pushed out: madvise or reclaim (madvise)
#   KNOBS    settings of /sys/kernel/mm/asap, as "policy=paper ..." (none)
#   STORAGE  none: file pages stay; ufs or emmc: they are dropped as well, and lie on a
#            storage model with that profile (none)
#   MEM_MB   memory of the guest (2048, and with a storage model what that takes),
#   ZRAM_MB  its swap (1024)
#   OUT      default: out/demo
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)

: "${APPS:=$(cd "$here/guest/apps" && basename -s .py -- *.py | xargs)}"
: "${MODES:=off asap warm ideal}" "${LEARN:=10}" "${ROUNDS:=16}" "${SEED:=1}"
: "${PUSH:=madvise}" "${KNOBS:=}" "${STORAGE:=none}" "${ZRAM_MB:=1024}" "${OUT:=$top/out/demo}"
# A run takes minutes; this only ends a guest that hangs.
: "${TIMEOUT:=14400}"

mkdir -p "$OUT"
image=$("$here/image.sh")
if [ -z "${MEM_MB:-}" ]; then
	MEM_MB=2048
	[ "$STORAGE" = none ] || MEM_MB=$((MEM_MB + $(stat -c %s "$image") / 1048576 + 128))
fi
if [ -z "${KERNEL:-}" ]; then
	KERNEL=$("$top/scripts/build.sh" asap)
fi

python3 "$here/report.py" config "$OUT/config.json" \
	"apps=$APPS" "modes=$MODES" "learn=$LEARN" "rounds=$ROUNDS" "seed=$SEED" \
	"push=$PUSH" "knobs=$KNOBS" "mem_mb=$MEM_MB" "zram_mb=$ZRAM_MB"
rm -rf "$OUT/guest"
cp -r "$here/guest" "$OUT/guest"
mv "$OUT/config.json" "$OUT/guest/"
"$top/scripts/initramfs.sh" "$OUT/initramfs" "$OUT/guest/guest.sh:/guest" "$OUT/guest:/demo"

echo "demo: booting ${KERNEL##*/} with $MEM_MB MiB (console: $OUT/console.log)" >&2
rm -f "$OUT/results" "$OUT/result.json" "$OUT/switches.csv"
set -m	# a process group of its own, to end QEMU with it
"$top/scripts/boot.sh" --kernel "$KERNEL" --initrd "$OUT/initramfs" --out "$OUT" \
	--mem "$MEM_MB" --drive "$image,snapshot=on" --args "$ZRAM_MB $STORAGE" \
	--append no_timer_check --timeout "$TIMEOUT" &
boot=$!
set +m
# Ctrl-C ends the guest; what it measured is still reported.
trap 'kill -- "-$boot" 2>/dev/null || true' EXIT INT TERM
python3 "$here/report.py" watch "$OUT/results" "$boot" || true
status=0
wait "$boot" || status=$?
trap - EXIT INT TERM
[ "$status" -eq 0 ] || echo "demo: the guest ended with status $status; see $OUT/console.log" >&2

python3 "$here/report.py" report "$OUT"
exit "$status"
