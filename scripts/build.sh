#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build a kernel flavour in the cache and print the path of its image.
#
# usage: build.sh FLAVOUR [MAKE-TARGET...]
#
#   stock   Debian's source as it is
#   off     the series applied, CONFIG_ASAP=n
#   asap    the series applied and built in, with KUnit (whose suites sleep
#           unless kunit.enable=1 wakes them: measure with this one as well)
#   lint    the asap configuration, for checking single folders
#   debug   asap with KASAN, lockdep and the other checkers
#
# stdout: the path of the kernel image (or, with MAKE-TARGETs such as
# "mm/asap/ W=1", of the build folder); progress goes to stderr.
# The log is $ASAP_OUT/log/build-FLAVOUR.log.
# Call sync.sh first for every flavour but stock: build.sh builds what is there.
set -euo pipefail
. "$(dirname "$0")/env.sh"

usage() { sed -n '/^# usage:/,/^# The log/p' "$0" | sed 's/^# \{0,1\}//' >&2; exit 2; }

[ $# -ge 1 ] || usage
flavour=$1
shift

tree=$ASAP_TREE
fragments=(base realprograms memory storage trace)
case $flavour in
stock)	tree=$ASAP_SOURCE ;;
off)	;;
asap)	fragments+=(kunit asap asap-kunit) ;;
lint)	fragments+=(kunit asap asap-kunit) ;;
debug)	fragments+=(kunit asap asap-kunit debug) ;;
*)	usage ;;
esac

[ -f "$tree/Makefile" ] || die "$tree is not there: run scripts/fetch.sh and scripts/sync.sh first"

# A direct subfolder of the source makes every path the compiler sees relative,
# so that ccache's hits do not depend on where the cache folder lies.
build=$tree/build-$flavour
log=$ASAP_OUT/log/build-$flavour.log
mkdir -p "$build" "$ASAP_CACHE/build" "$ASAP_OUT/log"
ln -sfn "$build" "$ASAP_CACHE/build/$flavour"

exec 9>"$build/.lock"
flock 9

export CCACHE_NOHASHDIR=1
export KBUILD_BUILD_TIMESTAMP='Sun Nov 17 22:15:08 UTC 2024'
export KBUILD_BUILD_USER=asap KBUILD_BUILD_HOST=asap KBUILD_BUILD_VERSION=1
kmake() { make -C "$tree" "O=$build" "CC=ccache ${CC:-gcc}" HOSTCC="ccache gcc" "$@"; }

# The lines that tell why, then where the rest is.
fail() {
	grep -E -m 20 'error:|[Ee]rror [0-9]|undefined reference|\*\*\*|No rule' "$log" >&2 ||
		tail -n 20 "$log" >&2
	die "$1; the log is $log"
}

# What the configuration is made from.
inputs() {
	cat "$ASAP_CACHE/source.version" "$@"
	"${CC:-gcc}" --version
	if [ "$tree" = "$ASAP_TREE" ]; then
		sed -n '/Kconfig/p' "$ASAP_CACHE/tree.files" | (cd "$tree" && xargs -r cat)
	fi
}

configure() {
	local files=() f made
	for f in "${fragments[@]}"; do
		case $f in
		asap*)	[ -f "$tree/Kconfig.asap" ] || {
				say "config: $flavour: no Kconfig.asap in the tree, leaving $f.config out"
				continue
			} ;;
		esac
		files+=("$ASAP_TOP/configs/$f.config")
	done
	made=$(inputs "${files[@]}" | sha256sum)
	if [ "$made" = "$(cat "$build/.config.inputs" 2>/dev/null)" ] &&
	   cmp -s "$build/.config" "$build/.config.made"; then
		return
	fi
	say "config: $flavour: ${fragments[*]}"
	(
		cd "$tree"
		KCONFIG_CONFIG=$build/.config.new \
			scripts/kconfig/merge_config.sh -n -O "$build" \
			"${files[@]}"
	) >"$log" 2>&1 || fail "config $flavour failed"

	# Every option asked for must be in the result; the last fragment wins.
	local missing
	missing=$(awk '
		FNR == 1 { file++; n = split(FILENAME, p, "/"); name = p[n] }
		match($0, /^(# )?CONFIG_[A-Za-z0-9_]+/) {
			opt = substr($0, RSTART, RLENGTH); sub(/^# /, "", opt)
			if (file < ARGC - 1) {
				want[opt] = $0; from[opt] = name
			} else {
				got[opt] = $0
			}
		}
		END {
			for (o in want) {
				if (want[o] ~ /is not set$/ ? (o in got && got[o] != want[o]) \
							    : got[o] != want[o])
					print "  " want[o] " (" from[o] ")"
			}
		}' "${files[@]}" "$build/.config.new" | sort)
	if [ -n "$missing" ]; then
		say "config: $flavour: asked for, but not in the kernel's final configuration:"
		say "$missing"
		die "a dependency is missing, or the kernel lacks the option; compare $build/.config.new"
	fi
	# An unchanged configuration keeps its time stamp.
	if cmp -s "$build/.config.new" "$build/.config"; then
		rm "$build/.config.new"
	else
		mv "$build/.config.new" "$build/.config"
	fi
	cp "$build/.config" "$build/.config.made"
	printf '%s\n' "$made" >"$build/.config.inputs"
}

progress() {
	local objects
	objects=$(grep -c -E '^  (CC|AS|AR|LD) ' "$log") || true
	say "build: $flavour: $objects objects (a full build has about 1900), $((SECONDS / 60)) min $((SECONDS % 60)) s: $(tail -n 1 "$log")"
}

configure
targets=("$@")
[ $# -gt 0 ] || targets=(bzImage)
say "build: $flavour: make ${targets[*]}, $JOBS jobs; log in $log"
# The ticker's sleep outlives it: it must hold neither the lock nor our output.
while sleep 20 >/dev/null 2>&1; do progress; done >&2 9>&- &
ticker=$!
trap 'kill "$ticker" 2>/dev/null || true' EXIT
kmake "-j$JOBS" "${targets[@]}" >"$log" 2>&1 || fail "build $flavour failed"

if [ $# -gt 0 ]; then
	printf '%s\n' "$build"
else
	say "build: $flavour: done in $SECONDS s"
	printf '%s\n' "$build/arch/x86/boot/bzImage"
fi
