#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# boot.sh gives the right verdict for guests that pass, fail, crash, hang, or
# lie. Needs the asap kernel (run-tests.sh builds it).
. "$(dirname "$0")/lib.sh"

kernel=$ASAP_CACHE/build/asap/arch/x86/boot/bzImage

# verdict WANT TIMEOUT [OPTION...]: boot a guest that runs the script on stdin.
verdict() {
	local want=$1 timeout=$2 rc=0
	shift 2
	{ echo '#!/bin/sh'; cat; } >"$scratch/guest"
	chmod +x "$scratch/guest"
	"$ASAP_TOP/scripts/initramfs.sh" "$scratch/cpio" "$scratch/guest:/guest"
	"$ASAP_TOP/scripts/boot.sh" --kernel "$kernel" --initrd "$scratch/cpio" \
		--out "$scratch/out" --timeout "$timeout" "$@" || rc=$?
	same "$want" "$rc" || { tail -n 20 "$scratch/out/console.log"; return 1; }
}

check "a guest that passes" verdict 0 300 --args "one two" <<'G'
[ "$(nproc)" = 2 ] || exit 3
[ "$1 $2" = "one two" ] || exit 4
echo "hello from fd 3" >&3
G
check "what it wrote to fd 3 is there" same "hello from fd 3
@verdict 0" "$(cat "$scratch/out/results")"
check "its console is kept" test -s "$scratch/out/console.log"
check "a guest that fails" verdict 7 300 <<'G'
exit 7
G
check "a guest killed by a signal" verdict 29 300 <<'G'
kill -SEGV $$
G
check "one that counts instructions" verdict 0 300 --icount <<'G'
[ "$(nproc)" = 1 ]
G
truncate -s 1M "$scratch/disk"
check "one with two disks" verdict 0 300 --drive "$scratch/disk" --drive "$scratch/disk,snapshot=on" <<'G'
[ -b /dev/vda ] && [ -b /dev/vdb ] || exit 1
echo there >/dev/vda
echo lost >/dev/vdb
G
check "the disk has what was written" same there "$(head -n 1 "$scratch/disk" | tr -d '\0')"
check "a guest that panics" verdict 97 300 <<'G'
echo c >/proc/sysrq-trigger
sleep 1000
G
check "a guest that powers off" verdict 97 300 <<'G'
poweroff -f
G
check "a guest that claims success on one way only" verdict 97 300 <<'G'
printf '\040' | dd of=/dev/port bs=1 seek=244 conv=notrunc
G
check "a guest that hangs" verdict 98 20 <<'G'
sleep 100000
G
check "a guest whose kernel is tainted" verdict 28 300 <<'G'
echo 512 >/proc/sys/kernel/tainted
G
check "and says why" says "@splat the kernel is tainted: 512" "$(cat "$scratch/out/results")"
check "a guest whose lockdep has given up" verdict 28 300 <<'G'
mkdir -p /tmp/proc/sys/kernel
echo 0 >/tmp/proc/sys/kernel/tainted
echo ' debug_locks:                             0' >/tmp/proc/lockdep_stats
mount --bind /tmp/proc /proc
G
check "QEMU's own failure" verdict 99 300 --drive /nonexistent/disk <<'G'
exit 0
G
check "a kernel that is not there is named" fails_saying "no file '/nonexistent'" \
	"$ASAP_TOP/scripts/boot.sh" --kernel /nonexistent --initrd "$scratch/cpio" --out "$scratch/out"
done_testing
