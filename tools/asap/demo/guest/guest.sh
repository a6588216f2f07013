#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# /guest of the demo's boot: makes the swap, and runs the driver on the Debian tree
# (/dev/vda, read-only). Fd 3 is the channel to the host. The argument is the size
# of the zram disk in MiB.
set -u

zram_mb=$1
root=/mnt

fail() {
	printf '{"type": "error", "text": "guest: %s"}\n' "$1" >&3
	exit 1
}

# Swap is zram, as on a phone: lz4, no readahead, no huge pages.
echo lz4 >/sys/block/zram0/comp_algorithm || fail "zram has no lz4"
echo "${zram_mb}M" >/sys/block/zram0/disksize || fail "zram took no size"
mkswap /dev/zram0 >/dev/null
swapon /dev/zram0 || fail "no swap on zram"
echo 0 >/proc/sys/vm/page-cluster
echo never >/sys/kernel/mm/transparent_hugepage/enabled
echo +memory >/sys/fs/cgroup/cgroup.subtree_control || fail "no memory controller"

mount -t ext4 -o ro /dev/vda $root || fail "the Debian image does not mount"
for dir in proc sys dev tmp run demo; do
	mount --rbind /$dir $root/$dir || fail "no /$dir in the Debian tree"
done

exec chroot $root /usr/bin/env PYTHONPATH=/demo PYTHONDONTWRITEBYTECODE=1 \
	python3 /demo/driver.py 3 /demo/config.json
