#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run the tests and sum them up.
#
# usage: run-tests.sh [GROUP...]
#
#   host    scripts/tests/*.sh, and "make test" in each folder of tools/asap
#           that knows it (the policy, in user space)
#   asap    the selftests and KUnit suites, in a guest with the asap kernel
#   debug   the same in a guest with the debug kernel
#   params  after asap: its kernel again, with knobs on the command line
#   off     CONFIG_ASAP=n adds no byte: builds two more kernels' objects
#   check   host without what boots a guest: what to run before a commit
#   steps   every patch of the exported series builds, with CONFIG_ASAP and without
#   releases  all 6.12 that Debian serves take the series; downloads 300 MB once
#   cocci   the kernel's coccinelle rules, which take two minutes
#
# host, asap and params by default. Each suite's TAP lies in $ASAP_OUT/tests/GROUP/; a
# guest's console beside it. The last line is "N passed, N failed, N skipped"; the exit
# status is 1 when a test failed or a planned suite did not report.
set -euo pipefail
. "$(dirname "$0")/env.sh"

scripts=$ASAP_TOP/scripts
groups=("$@")
[ $# -gt 0 ] || groups=(host asap params)

"$scripts/deps.sh"
"$scripts/fetch.sh"
"$scripts/sync.sh"

# host_suite NAME COMMAND...: run it here, its words into the suite's file, in
# the group $g.
host_suite() {
	local tap=$results/$g/$1.tap rc=0
	mkdir -p "$(dirname "$tap")"
	say "test: $g/$1"
	shift
	"$@" >"$tap" 2>&1 </dev/null || rc=$?
	printf '# exit-status %d\n' "$rc" >>"$tap"
}

# The KUnit suites that our files define.
kunit_suites() {
	local f
	for f in "$ASAP_TREE"/mm/asap/tests/*.c; do
		[ ! -e "$f" ] || awk '
			/struct kunit_suite .*= *\{/ { suite = 1 }
			suite && /\.name *=/ { gsub(/.*= *"|".*/, ""); print "kunit/" $0 }
			/^\}/ { suite = 0 }' "$f"
	done
}

# judge_boot DIR STATUS: the boot is a test of its own, and so is the report of
# each suite that stdin names.
judge_boot() {
	local dir=$1 rc=$2 t
	awk -v dir="$dir" -f "$scripts/suites.awk" "$dir/results"
	{
		case $rc in
		0 | 1)	echo "ok - verdict" ;;
		*)	sed -n 's/^@splat/#/p' "$dir/results"
			tail -n 30 "$dir/console.log" | sed 's/^/# /'
			echo "not ok - verdict $rc" ;;
		esac
		while IFS= read -r t; do
			if [ -f "$dir/${t//\//.}.tap" ]; then
				echo "ok - $t reported"
			else
				echo "not ok - $t reported"
			fi
		done
		if [ "$rc" = 1 ] && ! grep -q '^# exit-status [1-35-9]' "$dir"/*.tap; then
			echo "not ok - a guest that says failed has a failed suite"
		fi
	} >"$dir/boot"
	rc=0
	! grep -q '^not ok' "$dir/boot" || rc=1
	printf '# exit-status %d\n' "$rc" >>"$dir/boot"
	mv "$dir/boot" "$dir/boot.tap"
}

# make_disks DIR: the file systems that a guest cannot make, an image each. Tests find
# theirs by its type and may write to it: the boot keeps the images as they are.
make_disks() {
	local dir=$1 files
	[ ! -f "$dir/done" ] || return 0
	say "test: making disks; log in $ASAP_OUT/log/disks.log"
	rm -rf "$dir"
	mkdir -p "$dir" "$ASAP_OUT/log"
	files=$(mktemp -d)
	seq 1 99999 | head -c 262144 >"$files/asap.data"
	{
		truncate -s 256M "$dir/ext4.img" "$dir/f2fs.img"
		mke2fs -q -F -t ext4 -N 16384 "$dir/ext4.img"
		mkfs.f2fs -q "$dir/f2fs.img"
		mkfs.erofs "$dir/erofs.img" "$files"
	} >"$ASAP_OUT/log/disks.log" 2>&1 || die "making disks failed; the log is $ASAP_OUT/log/disks.log"
	rm -rf "$files"
	: >"$dir/done"
}

# guest_suites FLAVOUR: boot that kernel and run the selftests in it.
guest_suites() {
	local flavour=$1 dir=$results/$1 kernel rc=0 targets=() t
	local tests=$ASAP_CACHE/images/tests-$flavour disks=$ASAP_CACHE/images/disks
	mkdir -p "$dir" "$tests"
	kernel=$("$scripts/build.sh" "$flavour")
	for t in $guest_targets; do
		[ ! -d "$ASAP_TREE/tools/testing/selftests/$t" ] || targets+=("$t")
	done
	if [ ${#targets[@]} -gt 0 ]; then
		"$scripts/selftests.sh" "$tests" "$ASAP_CACHE/build/$flavour" "${targets[@]}"
	else
		: >"$tests/list"
	fi
	"$scripts/initramfs.sh" "$ASAP_CACHE/images/tests-$flavour.cpio" \
		"$scripts/guest/tests:/guest" "$tests:/tests"
	make_disks "$disks"
	say "test: booting the $flavour kernel; console in $dir/console.log"
	"$scripts/boot.sh" --kernel "$kernel" --initrd "$ASAP_CACHE/images/tests-$flavour.cpio" \
		--drive "$disks/ext4.img,snapshot=on" --drive "$disks/f2fs.img,snapshot=on" \
		--drive "$disks/erofs.img,snapshot=on" \
		--out "$dir" --mem 2048 --timeout 1800 --append kunit.enable=1 || rc=$?
	{ cat "$tests/list"; kunit_suites; } | judge_boot "$dir" "$rc"
}

# The asap kernel again, with knobs on its command line: right ones, wrong ones,
# and some given twice. The test reads there what to expect.
params_suites() {
	local dir=$results/params kernel rc=0
	local tests=$ASAP_CACHE/images/tests-asap archive=$ASAP_CACHE/images/tests-params.cpio
	mkdir -p "$dir"
	kernel=$("$scripts/build.sh" asap)
	[ -d "$tests/asap" ] || die "group params needs what group asap builds: run both"
	# In the archive, as a kernel that refuses a parameter hands init no arguments.
	echo asap/boot_params >"$ASAP_CACHE/images/tests-params.list"
	"$scripts/initramfs.sh" "$archive" "$scripts/guest/tests:/guest" "$tests:/tests" \
		"$ASAP_CACHE/images/tests-params.list:/tests/list"
	say "test: booting the asap kernel with parameters; console in $dir/console.log"
	"$scripts/boot.sh" --kernel "$kernel" --initrd "$archive" --out "$dir" \
		--append "asap=maybe asap=on asap.policy=paper \
asap.learn=0 asap.prefetch=2 asap.anon_enabled=x asap.anon_ttl_switches=7 \
asap.file_enabled=0 asap.merge_gap_pages=-1 asap.extent_max_pages=0x40 \
asap.profile_switches=256 asap.window_timeout_ms=banana \
asap.max_pages_per_switch=100 asap.max_pages_per_switch=many" || rc=$?
	echo asap/boot_params | judge_boot "$dir" "$rc"
}

# The host's tests boot the asap kernel too.
case " ${groups[*]} " in
*" host "* | *" asap "* | *" params "*) "$scripts/build.sh" asap >/dev/null ;;
esac

results=$ASAP_OUT/tests
guest_targets=${GUEST_TARGETS:-asap}
for g in "${groups[@]}"; do
	rm -rf "${results:?}/$g"
	case $g in
	host | check)
		for t in "$scripts"/tests/*.sh; do
			case $g/${t##*/} in
			*/lib.sh | */off.sh | */steps.sh | */releases.sh | */cocci.sh) continue ;;
			check/boot.sh) continue ;;
			esac
			host_suite "$(basename "$t" .sh)" "$t"
		done
		for t in "$ASAP_TREE"/tools/asap/{,*/}Makefile; do
			grep -q -s '^test:' "$t" || continue
			name=$(basename "$(dirname "$t")")
			host_suite "tools-$name" make -s -C "$(dirname "$t")" test \
				KERNEL="$ASAP_TREE" O="$ASAP_CACHE/build/tools-$name"
		done
		;;
	off | steps | releases | cocci)
		host_suite "$g" "$scripts/tests/$g.sh"
		;;
	asap | debug)
		guest_suites "$g" ;;
	params)
		params_suites ;;
	*)	die "no group of tests is called $g" ;;
	esac
done

say
taps=()
for g in "${groups[@]}"; do
	taps+=("$results/$g"/*.tap)
done
exec awk -v prefix="$results/" -f "$scripts/tap.awk" "${taps[@]}"
