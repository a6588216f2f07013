#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The storage model: a null_blk disk in memory that holds a copy of DISK, whose
# reads take as many times a 4 KiB swap-in fault of this guest as they do on a
# phone with that storage.
#
# usage: storage.sh PROFILE SWAPIN_US DISK
#
#   ufs    a read is  10 swap-ins (120 us against 12 us), 32 at a time
#   emmc   a read is  25 swap-ins (300 us against 12 us),  8 at a time
#
# These are assumptions, no phone's figures. Prints the device and its read_us.
set -eu

profile=$1
swapin_us=$2
disk=$3

case $profile in
ufs)	ratio=10 depth=32 ;;
emmc)	ratio=25 depth=8 ;;
*)	echo "storage.sh: no profile $profile" >&2; exit 1 ;;
esac
read_us=$(awk "BEGIN { printf \"%d\", $swapin_us * $ratio + 0.5 }")

# The disk is named after its folder in configfs.
null=/sys/kernel/config/nullb/asapdisk
mkdir $null
echo $(($(cat "/sys/class/block/${disk#/dev/}/size") / 2048 + 1)) >$null/size
echo 1 >$null/memory_backed
echo 2 >$null/irqmode		# completions come by timer
echo $((read_us * 1000)) >$null/completion_nsec
echo $depth >$null/hw_queue_depth
echo 1 >$null/submit_queues
echo 4096 >$null/blocksize
echo 1 >$null/power

dd if="$disk" of=/dev/asapdisk bs=4M 2>/dev/null
echo 3 >/proc/sys/vm/drop_caches
echo "/dev/asapdisk $read_us $ratio"
