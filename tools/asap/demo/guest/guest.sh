#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# /guest of the demo's boot: makes the swap, and runs the driver on the Debian tree
# (/dev/vda, read-only). Fd 3 is the channel to the host. With a storage profile the
# apps, not the driver, run on a copy of that tree on the storage model.
#
# usage: guest.sh ZRAM_MB PROFILE
set -u

zram_mb=$1
profile=$2
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

tree() {
	mount -t ext4 -o ro "$1" "$2" || fail "no Debian tree on $1"
	for dir in proc sys dev tmp run demo; do
		mount --rbind "/$dir" "$2/$dir" || fail "no /$dir in the Debian tree"
	done
}

python() {
	chroot $root /usr/bin/env PYTHONPATH=/demo PYTHONDONTWRITEBYTECODE=1 python3 "$@"
}

tree /dev/vda $root
swapin_us=$(python -c 'import memory; print(round(memory.swapin_us(), 1))') ||
	fail "no swap-in cost"
storage="none 0 0 /"
if [ "$profile" != none ]; then
	model=$(/demo/storage.sh "$profile" "$swapin_us" /dev/vda) ||
		fail "no storage model"
	tree "${model%% *}" $root/mnt
	storage="$profile ${model#* } /mnt"
fi
# shellcheck disable=SC2086	# four words
python /demo/driver.py 3 /demo/config.json "$swapin_us" $storage
