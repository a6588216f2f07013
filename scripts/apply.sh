#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Apply the series to a Linux 6.12 tree: copy the new files, and patch each file
# F that has an F.patch. Fuzz is 0; offsets are fine.
#
# usage: apply.sh TREE               apply; "already applied" changes nothing
#        apply.sh --reverse TREE     take the series out again
#        apply.sh --stage DIR TREE   write the resulting files to the new folder
#                                    DIR and leave TREE alone
#        apply.sh --list             list the series' files
#
# Everything is worked out in a scratch folder first. Only when every file and
# every hunk fits is TREE touched, so a failure leaves it as it was.
set -euo pipefail
. "$(dirname "$0")/env.sh"

# What belongs to the series is what has its place in a kernel tree.
series_files() {
	cd "${ASAP_SERIES:-$ASAP_TOP}"
	if [ -e .git ]; then
		git ls-files -co --exclude-standard
	else
		find . -type f ! -name '*~' ! -name '*.orig' ! -name '*.rej' |
			sed 's|^\./||'
	fi | grep -v -E '^(\.|configs/|out/|scripts/|(Makefile|series|README\.md|CONTRIBUTING\.md|COPYING)$)' |
		while IFS= read -r f; do [ ! -f "$f" ] || printf '%s\n' "$f"; done |
		sort
}

action=apply
stage=
case ${1:-} in
--list)		series_files; exit ;;
--reverse)	action=reverse; shift ;;
--stage)	action=stage; stage=${2:?--stage needs a folder}; shift 2 ;;
esac
[ $# -eq 1 ] || die "usage: apply.sh [--reverse | --stage DIR] TREE | --list"
tree=$1

if [ ! -f "$tree/Makefile" ] || [ ! -f "$tree/Kconfig" ]; then
	die "$tree is not a Linux source tree"
fi
release=$(kernel_release "$tree")
case $release in
6.12.*) ;;
*) die "$tree holds Linux $release; the series is for 6.12.x" ;;
esac

series=${ASAP_SERIES:-$ASAP_TOP}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
series_files >"$scratch/list"
[ -s "$scratch/list" ] || die "the series in $series is empty"
grep '\.patch$' "$scratch/list" >"$scratch/patches" || true
grep -v '\.patch$' "$scratch/list" >"$scratch/new" || true

# A patch edits the one file beside which it lies.
while IFS= read -r p; do
	heads=$(grep -c '^+++ ' "$series/$p") || true
	names=$(sed -n 's|^+++ b/\([^\t]*\).*|\1|p' "$series/$p")
	if [ "$heads" != 1 ] || [ "$names" != "${p%.patch}" ]; then
		die "$p must edit ${p%.patch} and nothing else"
	fi
done <"$scratch/patches"

# patched FLAG DIR: patch every file into DIR; FLAG is -N (forward) or -R.
# The names of the patches that do not fit go to DIR.failed, with patch's words.
patched() {
	local p f
	: >"$2.failed"
	while IFS= read -r p; do
		f=${p%.patch}
		mkdir -p "$2/$(dirname "$f")"
		if [ ! -f "$tree/$f" ]; then
			printf '%s: %s is not in the tree\n' "$p" "$f" >>"$2.failed"
		elif ! patch -s -f -F0 "$1" -r - -o "$2/$f" "$tree/$f" "$series/$p" \
			>"$scratch/words" 2>&1 </dev/null; then
			sed "s|^|$f: |" "$scratch/words" >>"$2.failed"
		else
			chmod --reference="$tree/$f" "$2/$f"
		fi
	done <"$scratch/patches"
}

same=0 differ=() count=0
while IFS= read -r f; do
	count=$((count + 1))
	if [ -e "$tree/$f" ] || [ -L "$tree/$f" ]; then
		if cmp -s "$series/$f" "$tree/$f"; then
			same=$((same + 1))
		else
			differ+=("$f")
		fi
	fi
done <"$scratch/new"

mkdir "$scratch/back" "$scratch/forth"
patched -R "$scratch/back"
applied=no
if [ "$same" = "$count" ] && [ ! -s "$scratch/back.failed" ]; then
	applied=yes
fi

if [ $action = reverse ]; then
	if [ $applied = no ]; then
		[ ! -s "$scratch/back.failed" ] || cat "$scratch/back.failed" >&2
		die "$tree does not hold this version of the series; nothing was changed"
	fi
	cp -r "$scratch/back/." "$tree/"
	while IFS= read -r f; do
		rm "$tree/$f"
		rmdir -p --ignore-fail-on-non-empty "$tree/$(dirname "$f")"
	done <"$scratch/new"
	say "apply: taken out of $tree ($release)"
	exit
fi

if [ $applied = yes ] && [ $action = apply ]; then
	say "apply: already applied to $tree ($release)"
	exit
fi

patched -N "$scratch/forth"
if [ "$same" != 0 ] || [ ${#differ[@]} -ne 0 ]; then
	[ ${#differ[@]} -eq 0 ] || printf '%s: differs from the series\n' "${differ[@]}" >&2
	cat "$scratch/forth.failed" >&2
	die "$tree holds another version of the series, or only a part of it; nothing was changed. Take that version out with its own 'apply.sh --reverse', or unpack the kernel afresh"
fi
if [ -s "$scratch/forth.failed" ]; then
	cat "$scratch/forth.failed" >&2
	die "the series does not fit $tree ($release); nothing was changed"
fi

while IFS= read -r f; do
	mkdir -p "$scratch/forth/$(dirname "$f")"
	cp -p "$series/$f" "$scratch/forth/$f"
done <"$scratch/new"

if [ $action = stage ]; then
	mkdir "$stage"
	cp -r "$scratch/forth/." "$stage/"
	exit
fi
cp -r "$scratch/forth/." "$tree/"
say "apply: $(wc -l <"$scratch/patches") files edited, $count new files in $tree ($release)"
