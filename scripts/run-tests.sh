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
#   off     CONFIG_ASAP=n adds no byte: builds two more kernels' objects
#
# host and asap by default. Each suite's TAP lies in $ASAP_OUT/tests/GROUP/; a guest's
# console beside it. The last line is "N passed, N failed, N skipped"; the exit
# status is 1 when a test failed or a planned suite did not report.
set -euo pipefail
. "$(dirname "$0")/env.sh"

scripts=$ASAP_TOP/scripts
groups=("$@")
[ $# -gt 0 ] || groups=(host asap)

"$scripts/deps.sh"
"$scripts/fetch.sh"
"$scripts/sync.sh"

# host_suite NAME COMMAND...: run it here, its words into the suite's file.
host_suite() {
	local tap=$results/host/$1.tap rc=0
	mkdir -p "$(dirname "$tap")"
	say "test: host/$1"
	shift
	"$@" >"$tap" 2>&1 </dev/null || rc=$?
	printf '# exit-status %d\n' "$rc" >>"$tap"
}

# guest_suites FLAVOUR: boot that kernel and run the selftests in it.
guest_suites() {
	local flavour=$1 dir=$results/$1 kernel rc=0 targets=() t
	local tests=$ASAP_CACHE/images/tests-$flavour
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
	say "test: booting the $flavour kernel; console in $dir/console.log"
	"$scripts/boot.sh" --kernel "$kernel" --initrd "$ASAP_CACHE/images/tests-$flavour.cpio" \
		--out "$dir" --mem 2048 --timeout 1800 || rc=$?
	awk -v dir="$dir" -f "$scripts/suites.awk" "$dir/results"

	# The boot is a test of its own, and so is each suite's report.
	{
		case $rc in
		0 | 1)	echo "ok - verdict" ;;
		*)	sed -n 's/^@splat/#/p' "$dir/results"
			tail -n 30 "$dir/console.log" | sed 's/^/# /'
			echo "not ok - verdict $rc" ;;
		esac
		cat "$tests/list" | while IFS= read -r t; do
			if [ -f "$dir/${t//\//.}.tap" ]; then
				echo "ok - $t reported"
			else
				echo "not ok - $t reported"
			fi
		done
		if [ $rc = 1 ] && ! grep -q '^# exit-status [1-35-9]' "$dir"/*.tap; then
			echo "not ok - a guest that says failed has a failed suite"
		fi
	} >"$dir/boot"
	rc=0
	! grep -q '^not ok' "$dir/boot" || rc=1
	printf '# exit-status %d\n' "$rc" >>"$dir/boot"
	mv "$dir/boot" "$dir/boot.tap"
}

# The host's tests boot the asap kernel too.
"$scripts/build.sh" asap >/dev/null

results=$ASAP_OUT/tests
guest_targets=${GUEST_TARGETS:-asap}
for g in "${groups[@]}"; do
	rm -rf "${results:?}/$g"
	case $g in
	host)
		for t in "$scripts"/tests/*.sh; do
			case ${t##*/} in lib.sh | off.sh) continue ;; esac
			host_suite "$(basename "$t" .sh)" "$t"
		done
		for t in "$ASAP_TREE"/tools/asap/{,*/}Makefile; do
			grep -q -s '^test:' "$t" || continue
			name=$(basename "$(dirname "$t")")
			host_suite "tools-$name" make -s -C "$(dirname "$t")" test \
				KERNEL="$ASAP_TREE" O="$ASAP_CACHE/build/tools-$name"
		done
		;;
	off)
		host_suite off "$scripts/tests/off.sh"
		mkdir -p "$results/off"
		mv "$results/host/off.tap" "$results/off/"
		;;
	asap | debug)
		guest_suites "$g" ;;
	*)	die "no group of tests is called $g" ;;
	esac
done

say
taps=()
for g in "${groups[@]}"; do
	taps+=("$results/$g"/*.tap)
done
exec awk -v prefix="$results/" -f "$scripts/tap.awk" "${taps[@]}"
