#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every step of the series builds, without CONFIG_ASAP and, from the step on that
# brings it, with it: the folders and objects that the series touches, and no
# word from the compiler about them.
#
# usage: steps.sh [STEP...]		numbers; all by default
. "$(dirname "$0")/lib.sh"

targets=(mm/ fs/proc/ fs/exec.o kernel/fork.o)
here=$ASAP_CACHE/steps tree=$ASAP_CACHE/steps/tree
mkdir -p "$here"
exec 9>"$here.lock"
flock 9

# The same objects at the same place each time, for ccache's sake. The files are
# links to the source's own, so one is removed before another takes its place.
unpack() {
	local release
	release=$(cat "$ASAP_CACHE/source.version")
	[ "$release" != "$(cat "$here/version" 2>/dev/null)" ] || return 0
	rm -rf "$here/version" "$tree"
	mkdir -p "$tree"
	rsync -a --exclude='/build-*' --link-dest="$(realpath "$ASAP_SOURCE")/" \
		"$ASAP_SOURCE/" "$tree/" && printf '%s\n' "$release" >"$here/version"
}

# Bring the files that the series touches to their state after COMMIT.
checkout() {
	local f
	git -C "$scratch/git" checkout -q --detach "$1" || return 1
	while IFS= read -r f; do
		if [ ! -f "$scratch/git/$f" ]; then
			rm -f "$tree/$f"
		elif ! cmp -s "$scratch/git/$f" "$tree/$f"; then
			mkdir -p "$tree/$(dirname "$f")"
			rm -f "$tree/$f"
			cp "$scratch/git/$f" "$tree/$f"
		fi
	done <"$scratch/files"
}

kmake() {
	make -C "$tree" "O=$build" "CC=ccache gcc" "HOSTCC=ccache gcc" KBUILD_BUILD_USER=asap \
		KBUILD_BUILD_HOST=asap "-j$JOBS" "$@"
}

# builds WHICH CONFIG...: with these fragments, in the folder of WHICH.
builds() {
	local which=$1 config
	build=$tree/build-$1 config=$scratch/config
	shift
	mkdir -p "$build"
	cat "${@/#/$ASAP_TOP/configs/}" >"$config"
	{
		kmake KCONFIG_ALLCONFIG="$config" allnoconfig &&
		case $which in
		asap)	grep -q '^CONFIG_ASAP=y' "$build/.config" ;;
		*)	! grep -q '^CONFIG_ASAP=y' "$build/.config" ;;
		esac &&
		kmake "${targets[@]}"
	} >"$scratch/log" 2>&1 9>&- || { grep -E 'error|\*\*\*' "$scratch/log"; return 1; }
	! grep -E 'warning:' "$scratch/log"
}

base=({base,realprograms,memory,storage,trace}.config)
check "a tree to build in" unpack
ASAP_OUT=$scratch/out check "the series" \
	"$ASAP_TOP/scripts/series.sh" --git "$scratch/git" "$ASAP_SOURCE"
"$ASAP_TOP/scripts/apply.sh" --stage "$scratch/stage" "$ASAP_SOURCE"
(cd "$scratch/stage" && find . -type f | sed 's|^\./||') >"$scratch/files"

# What another series' last run left is not in the way.
if [ -f "$here/files" ]; then
	while IFS= read -r f; do
		grep -qxF "$f" "$scratch/files" && continue
		rm -f "$tree/$f"
		[ ! -f "$ASAP_SOURCE/$f" ] || ln "$(realpath "$ASAP_SOURCE/$f")" "$tree/$f"
	done <"$here/files"
fi
cp "$scratch/files" "$here/files"

step=0
while IFS=' ' read -r commit subject; do
	step=$((step + 1))
	[ $# -eq 0 ] || [[ " $* " == *" $step "* ]] || continue
	check "step $step: $subject" checkout "$commit"
	check "step $step with CONFIG_ASAP=n" builds off "${base[@]}"
	if grep -q 'Kconfig\.asap' "$tree/mm/Kconfig"; then
		check "step $step with CONFIG_ASAP=y" builds asap "${base[@]}" kunit.config \
			asap.config asap-kunit.config
	fi
done < <(git -C "$scratch/git" log --reverse --format='%h %s' \
	"$(git -C "$scratch/git" rev-list --max-parents=0 series)..series")
check "$step steps" test "$step" -gt 1
done_testing
