#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boot a kernel once under QEMU and return the guest's verdict.
#
# usage: boot.sh --kernel BZIMAGE --initrd ARCHIVE --out DIR [OPTION]...
#
#   --mem MB          guest memory (default 1024)
#   --smp N           CPUs (default 2)
#   --drive FILE      a raw disk image, /dev/vda, /dev/vdb, ... in order;
#                     FILE,snapshot=on leaves the image as it is
#   --append WORDS    more words for the kernel's command line
#   --args WORDS      arguments for the guest's /init (and so for /guest)
#   --icount          one CPU, counting instructions: time is exactly repeatable
#   --timeout S       kill the guest after S seconds (default 900)
#   --shell           a prompt on this terminal instead of /guest
#
# Left in DIR: console.log, what the kernel said; results, what the guest wrote
# to its fd 3; qemu.log, what QEMU said.
#
# Exit status: what /guest returned (0 to 27), 28 when a checker of the kernel
# complained (results has the "@splat" lines), 29 when /guest returned more; 97
# when the guest stopped without a verdict (panic, oops, warning, power-off), 98
# on time-out, 99 when QEMU failed. The verdict comes over two ways, QEMU's
# exit status and the last line of results, and both must agree; nothing is read
# from the console.
set -euo pipefail
. "$(dirname "$0")/env.sh"

kernel='' initrd='' out='' mem=1024 smp=2 append='' args='' timeout=900
icount=no shell=no
drives=()
while [ $# -gt 0 ]; do
	case $1 in
	--icount)	icount=yes; shift; continue ;;
	--shell)	shell=yes; shift; continue ;;
	esac
	[ $# -ge 2 ] || die "boot.sh: $1 needs a value"
	case $1 in
	--kernel)	kernel=$2 ;;
	--initrd)	initrd=$2 ;;
	--out)		out=$2 ;;
	--mem)		mem=$2 ;;
	--smp)		smp=$2 ;;
	--drive)	drives+=("$2") ;;
	--append)	append=$2 ;;
	--args)		args=$2 ;;
	--timeout)	timeout=$2 ;;
	*)		die "boot.sh: unknown option $1" ;;
	esac
	shift 2
done
for f in "$kernel" "$initrd"; do
	[ -f "$f" ] || die "boot.sh: no file '$f'"
done
[ -n "$out" ] || die "boot.sh: --out is missing"
mkdir -p "$out"
rm -f "$out"/{console.log,results,qemu.log}
: >"$out/results"

accel=(-accel 'tcg,thread=multi' -smp "$smp")
[ $icount = no ] || accel=(-accel 'tcg,thread=single' -smp 1 -icount 'shift=0,sleep=off')

# An emulated timer that a busy host holds up is no broken timer.
clock=no_timer_check
cmdline="console=ttyS0 $clock panic=-1 oops=panic panic_on_warn=1"
cmdline+=" softlockup_panic=1 sysctl.kernel.hung_task_panic=1 watchdog_thresh=30"
cmdline+=" $append"
if [ $shell = yes ]; then
	cmdline="console=ttyS0 $clock panic=-1 quiet $append -- shell"
	serial=(-chardev 'stdio,id=con,mux=on,signal=off' -mon 'chardev=con')
	timeout=0
else
	[ -z "$args" ] || cmdline+=" -- $args"
	serial=(-chardev "file,id=con,path=$out/console.log")
fi

emulator=$("$ASAP_TOP/scripts/qemu.sh")
qemu=("$emulator" -nodefaults -no-user-config -display none -no-reboot
	-machine q35 -cpu max -m "$mem" "${accel[@]}"
	"${serial[@]}" -serial chardev:con
	-device virtio-serial-pci
	-chardev "file,id=results,path=$out/results"
	-device "virtserialport,chardev=results,name=results"
	-device virtio-rng-pci
	-device "isa-debug-exit,iobase=0xf4,iosize=0x04")
n=0
for d in ${drives[@]+"${drives[@]}"}; do
	qemu+=(-drive "if=none,id=disk$n,format=raw,file=$d" -device "virtio-blk-pci,drive=disk$n")
	n=$((n + 1))
done
qemu+=(-kernel "$kernel" -initrd "$initrd" -append "$cmdline")

if [ $shell = yes ]; then
	exec "${qemu[@]}"
fi

rc=0
timeout --foreground -k 5 "$timeout" "${qemu[@]}" >"$out/qemu.log" 2>&1 </dev/null || rc=$?

last=$(tail -n 1 "$out/results")
case $rc in
124 | 137)
	say "boot: no verdict after $timeout s; console in $out/console.log"
	exit 98 ;;
0)
	say "boot: the guest stopped without a verdict; console in $out/console.log"
	exit 97 ;;
esac
if [ "$rc" -lt 65 ] || [ "$rc" -gt 123 ] || [ $((rc % 2)) -eq 0 ]; then
	say "boot: QEMU failed with status $rc:"
	cat "$out/qemu.log" >&2
	exit 99
fi
verdict=$(((rc - 65) / 2))
if [ "$last" != "@verdict $verdict" ]; then
	say "boot: exit status says $verdict, the second channel ends with '$last'"
	exit 97
fi
exit "$verdict"
