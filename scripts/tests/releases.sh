#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The oldest and the newest 6.12 that Debian serves take the series without fuzz:
# by apply.sh, by git am and by quilt, which all end with the same files.
. "$(dirname "$0")/lib.sh"

# The patches that series.sh makes against the installed release.
export ASAP_OUT=$scratch/out
patches=$ASAP_OUT/series

# base TREE DIR: the files of TREE that are edited, alone.
base() {
	mkdir -p "$2" &&
		"$ASAP_TOP/scripts/apply.sh" --list | sed -n 's/\.patch$//p' |
			(cd "$1" && cpio -pdm --quiet "$2")
}

mail() {
	base "$1" "$2" && cd "$2" && git init -q && git config user.name x &&
		git config user.email x@example.org && git add -Af && git commit -qm base &&
		git am -q "$patches"/*.patch
}

pushed() { base "$1" "$2" && cd "$2" && QUILT_PATCHES=$patches quilt push -a --fuzz=0; }

# The end of it all must be the same files.
equal() { diff -r -x .git -x .pc "$1" "$2"; }

rc=0
"$ASAP_TOP/scripts/releases.sh" >"$scratch/releases" 2>"$scratch/words" || rc=$?
if [ $rc = 4 ]; then
	skip "other point releases" "$(tail -n 1 "$scratch/words")"
	done_testing
	exit
fi
check "releases are there" test $rc = 0 -a -s "$scratch/releases"
[ $rc = 0 ] || sed 's/^/# /' "$scratch/words"
check "the series" "$ASAP_TOP/scripts/series.sh" "$ASAP_SOURCE"
while read -r version tree; do
	to=$scratch/$version
	check "$version: apply" "$ASAP_TOP/scripts/apply.sh" --stage "$to.stage" "$tree"
	check "$version: git am" mail "$tree" "$to.am"
	check "$version: git am ends with what apply makes" equal "$to.stage" "$to.am"
	check "$version: quilt without fuzz" pushed "$tree" "$to.quilt"
	check "$version: quilt ends with what apply makes" equal "$to.stage" "$to.quilt"
done <"$scratch/releases"
done_testing
