#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Keep $ASAP_CACHE/tree the kernel source with the clone's series applied.
# Only files whose content changes are written, so make rebuilds only what
# depends on them; files that left the series are restored or removed.
#
# usage: sync.sh
set -euo pipefail
. "$(dirname "$0")/env.sh"

[ -f "$ASAP_SOURCE/Makefile" ] || die "$ASAP_SOURCE is not there: run scripts/fetch.sh first"
exec 9>"$ASAP_CACHE/sync.lock"
flock 9

stamp=$ASAP_CACHE/tree.version
touched=$ASAP_CACHE/tree.files

# A fresh tree, or another point release: bring all of it up to date.
if ! cmp -s "$ASAP_CACHE/source.version" "$stamp"; then
	say "sync: copying the kernel source to $ASAP_TREE"
	rm -f "$stamp"
	[ -f "$touched" ] || : >"$touched"
	sed 's|^|/|' "$touched" | rsync -rlp --checksum --delete --exclude='/build-*' \
		--exclude-from=- "$ASAP_SOURCE/" "$ASAP_TREE/"
	cp "$ASAP_CACHE/source.version" "$stamp"
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$ASAP_TOP/scripts/apply.sh" --stage "$scratch/stage" "$ASAP_SOURCE"
(cd "$scratch/stage" && find . -type f | sed 's|^\./||' | sort) >"$scratch/now"

# Written before the files, so that an interrupted run is cleaned up by the next.
sort -u "$touched" "$scratch/now" >"$scratch/both"
cp "$scratch/both" "$touched"

changed=0
while IFS= read -r f; do
	if [ -f "$scratch/stage/$f" ]; then
		want=$scratch/stage/$f
	elif [ -f "$ASAP_SOURCE/$f" ]; then
		want=$ASAP_SOURCE/$f
	else
		if [ -e "$ASAP_TREE/$f" ]; then
			rm "$ASAP_TREE/$f"
			rmdir -p --ignore-fail-on-non-empty "$ASAP_TREE/$(dirname "$f")"
			changed=$((changed + 1))
		fi
		continue
	fi
	if ! cmp -s "$want" "$ASAP_TREE/$f"; then
		mkdir -p "$ASAP_TREE/$(dirname "$f")"
		rm -f "$ASAP_TREE/$f"
		cp --preserve=mode "$want" "$ASAP_TREE/$f"
		changed=$((changed + 1))
	fi
done <"$scratch/both"
cp "$scratch/now" "$touched"
say "sync: $changed files changed in $ASAP_TREE"
