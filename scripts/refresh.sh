#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Make every F.patch of the clone anew from a kernel tree in which the series is
# applied, after its files were edited there. A patch that would only get other
# line numbers stays as it is, so that each point release leaves git clean.
#
# usage: refresh.sh [TREE [FILE...]]
#
# TREE is $ASAP_TREE by default; the source of the same point release that it is
# compared with is $ASAP_SOURCE, or $ORIG. A FILE that has no patch yet gets one;
# a patch of which nothing is left is removed. New files (mm/asap/...) are the
# clone's own: where TREE's differ, that is said, and nothing is copied.
set -euo pipefail
. "$(dirname "$0")/env.sh"

tree=${1:-$ASAP_TREE}	# an empty word is the default, too
[ $# -eq 0 ] || shift
orig=${ORIG:-$ASAP_SOURCE}
series=${ASAP_SERIES:-$ASAP_TOP}
for t in "$tree" "$orig"; do
	[ -f "$t/Makefile" ] || die "$t is not a Linux source tree"
done
want=$(kernel_release "$orig") got=$(kernel_release "$tree")
[ "$want" = "$got" ] || die "$tree holds Linux $got, $orig holds $want: set ORIG to the source that $tree was made from"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$ASAP_TOP/scripts/apply.sh" --list >"$scratch/list"
{
	sed -n 's/\.patch$//p' "$scratch/list"
	[ $# -eq 0 ] || printf '%s\n' "$@"
} | sort -u >"$scratch/files"

# All are made before the first is put in its place.
while IFS= read -r f; do
	[ -f "$orig/$f" ] || die "$f is not in $orig"
	[ -f "$tree/$f" ] || die "$f is not in $tree"
	mkdir -p "$scratch/new/$(dirname "$f")"
	rc=0
	diff -up --label "a/$f" --label "b/$f" "$orig/$f" "$tree/$f" \
		>"$scratch/new/$f.patch" || rc=$?
	[ $rc -le 1 ] || die "$f cannot be compared"
done <"$scratch/files"
while IFS= read -r f; do
	[ -s "$scratch/new/$f.patch" ] || [ -f "$series/$f.patch" ] || die "$f has no edit in $tree"
done <"$scratch/files"
# A tree without the series would leave no patch at all.
if ! find "$scratch/new" -type f -size +0 | grep -q .; then
	die "$tree has none of the series' edits: apply it first"
fi

# edits PATCH: without the places at which they are.
edits() { sed 's/^@@ .*/@@/' "$1"; }

changed=0
while IFS= read -r f; do
	if [ -f "$series/$f.patch" ] &&
	   cmp -s <(edits "$scratch/new/$f.patch") <(edits "$series/$f.patch"); then
		continue
	fi
	changed=$((changed + 1))
	if [ -s "$scratch/new/$f.patch" ]; then
		say "refresh: $f.patch"
		mkdir -p "$series/$(dirname "$f")"
		cat "$scratch/new/$f.patch" >"$series/$f.patch"
	else
		say "refresh: $f.patch removed, no edit is left"
		rm "$series/$f.patch"
	fi
done <"$scratch/files"
while IFS= read -r f; do
	cmp -s "$series/$f" "$tree/$f" || say "refresh: $tree/$f differs from the clone's; not copied"
done < <(grep -v '\.patch$' "$scratch/list")
say "refresh: $changed of $(wc -l <"$scratch/files") patches changed"
