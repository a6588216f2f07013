#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# boot.sh gives the right verdict for guests that pass, fail, crash, hang, or
# lie, and its tests' results arrive. Needs the asap kernel (run-tests.sh builds it).
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
truncate -s 1M "$scratch/disk" "$scratch/disk2"
check "one with two disks" verdict 0 300 --drive "$scratch/disk" --drive "$scratch/disk2,snapshot=on" <<'G'
[ -b /dev/vda ] && [ -b /dev/vdb ] || exit 1
echo there >/dev/vda
echo lost >/dev/vdb
G
check "the disk has what was written" same there "$(head -n 1 "$scratch/disk" | tr -d '\0')"
check "an image with snapshot=on stays as it was" cmp -n 1048576 "$scratch/disk2" /dev/zero
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
# The guest that runs test programs.
suites() {
	mkdir -p "$scratch/tests/asap" "$scratch/tests/proc"
	local name
	: >"$scratch/tests/list"
	for name; do
		{ echo '#!/bin/sh'; cat "$scratch/${name##*/}"; } >"$scratch/tests/$name"
		chmod +x "$scratch/tests/$name"
		echo "$name" >>"$scratch/tests/list"
	done
	"$ASAP_TOP/scripts/initramfs.sh" "$scratch/cpio" \
		"$ASAP_TOP/scripts/guest/tests:/guest" "$scratch/tests:/tests"
	rm -rf "$scratch/out"
	local rc=0
	"$ASAP_TOP/scripts/boot.sh" --kernel "$kernel" --initrd "$scratch/cpio" \
		--out "$scratch/out" --timeout 300 --append kunit.enable=0 || rc=$?
	awk -v dir="$scratch/out" -f "$ASAP_TOP/scripts/suites.awk" "$scratch/out/results"
	return "$rc"
}
sum() { (cd "$scratch/out" && awk -f "$ASAP_TOP/scripts/tap.awk" ./*.tap); }

printf 'echo 1..2\necho ok 1 a\necho "ok 2 b # SKIP no device"\n' >"$scratch/good"
printf 'echo 1..1\necho not ok 1 a\nexit 1\n' >"$scratch/bad"
printf 'exit 0\n' >"$scratch/plain"
printf 'echo no such feature\nexit 4\n' >"$scratch/skips"
printf 'echo ok 1 a\necho c >/proc/sysrq-trigger\nsleep 1000\n' >"$scratch/crash"
check "a guest whose tests pass" suites asap/good proc/plain proc/skips
check "their results arrive" says "2 passed, 0 failed, 2 skipped" "$(sum)"
check "with the reason of a skip" says "proc/skips: no such feature" "$(sum)"
fails_with_1() { local rc=0; suites "$@" || rc=$?; same 1 "$rc"; }
check "a guest whose test fails says so" fails_with_1 asap/good asap/bad
check "and which" says "FAILED ./asap.bad: a" "$(sum)"
check "a test that crashes the kernel" fails_saying "without a verdict" suites asap/crash asap/good
check "is the suite that did not end" says "FAILED ./asap.crash: did not run to its end" "$(sum)"

check "QEMU's own failure" verdict 99 300 --drive /nonexistent/disk <<'G'
exit 0
G
check "a kernel that is not there is named" fails_saying "no file '/nonexistent'" \
	"$ASAP_TOP/scripts/boot.sh" --kernel /nonexistent --initrd "$scratch/cpio" --out "$scratch/out"
done_testing
