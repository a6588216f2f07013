#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# apply.sh and sync.sh on small made-up kernels and series.
. "$(dirname "$0")/lib.sh"

apply=$ASAP_TOP/scripts/apply.sh
sync=$ASAP_TOP/scripts/sync.sh

# A kernel of three files.
kernel() {
	rm -rf "$1"
	mkdir -p "$1/mm"
	printf 'VERSION = 6\nPATCHLEVEL = %s\nSUBLEVEL = 7\n' "${2:-12}" >"$1/Makefile"
	echo 'mainmenu "x"' >"$1/Kconfig"
	seq 1 40 >"$1/mm/memory.c"
	seq 100 140 >"$1/mm/swap.c"
}

# A series with a new file and two edits.
export ASAP_SERIES=$scratch/series
series() {
	rm -rf "$ASAP_SERIES"
	mkdir -p "$ASAP_SERIES/mm/asap" "$scratch/edit/mm"
	echo 'int asap;' >"$ASAP_SERIES/mm/asap/core.c"
	echo 'not part of it' >"$ASAP_SERIES/README.md"
	kernel "$scratch/k"
	sed '20s/$/\nhook/' "$scratch/k/mm/memory.c" >"$scratch/edit/mm/memory.c"
	sed '20s/$/\nhook/' "$scratch/k/mm/swap.c" >"$scratch/edit/mm/swap.c"
	local f
	for f in mm/memory.c mm/swap.c; do
		diff -u --label "a/$f" --label "b/$f" "$scratch/k/$f" \
			"$scratch/edit/$f" >"$ASAP_SERIES/$f.patch"
	done
}

state() { (cd "$1" && find . -type f -exec sha256sum {} + | sort -k 2; find . -type d | sort); }

series
kernel "$scratch/k"
before=$(state "$scratch/k")
check "applies" "$apply" "$scratch/k"
check "the edit is there" cmp "$scratch/k/mm/memory.c" "$scratch/edit/mm/memory.c"
check "the new file is there" cmp "$scratch/k/mm/asap/core.c" "$ASAP_SERIES/mm/asap/core.c"
check "the README is not" test ! -e "$scratch/k/README.md"

after=$(state "$scratch/k")
check "a second time says so" says "already applied" "$("$apply" "$scratch/k" 2>&1)"
check "a second time changes nothing" same "$after" "$(state "$scratch/k")"

check "is taken out again" "$apply" --reverse "$scratch/k"
check "which restores every file" same "$before" "$(state "$scratch/k")"
check "taking it out twice fails" fails_saying "does not hold this version" \
	"$apply" --reverse "$scratch/k"
check "and changes nothing" same "$before" "$(state "$scratch/k")"

# Offsets are fine, fuzz is not.
kernel "$scratch/k"
sed -i '1s/^/0\n0\n0\n/' "$scratch/k/mm/memory.c"
check "applies at an offset" "$apply" "$scratch/k"
check "at the right place" same hook "$(sed -n 24p "$scratch/k/mm/memory.c")"

kernel "$scratch/k"
sed -i '18s/.*/changed/' "$scratch/k/mm/swap.c"
before=$(state "$scratch/k")
check "a hunk that does not fit names its file" fails_saying "mm/swap.c: " "$apply" "$scratch/k"
check "and leaves the tree untouched" same "$before" "$(state "$scratch/k")"

kernel "$scratch/k"
rm "$scratch/k/mm/swap.c"
check "a missing file is named" fails_saying "mm/swap.c is not in the tree" "$apply" "$scratch/k"
check "nothing was written" test ! -e "$scratch/k/mm/asap"

kernel "$scratch/k"
"$apply" "$scratch/k" 2>"$scratch/words"
echo 'int newer;' >>"$ASAP_SERIES/mm/asap/core.c"
before=$(state "$scratch/k")
check "another version in the tree is told" fails_saying "another version of the series" \
	"$apply" "$scratch/k"
check "with the file that differs" fails_saying "mm/asap/core.c" "$apply" "$scratch/k"
check "and left alone" same "$before" "$(state "$scratch/k")"
series

kernel "$scratch/k"
sed -i '20s/$/\nhook/' "$scratch/k/mm/memory.c"
before=$(state "$scratch/k")
check "a tree with a part of the series is refused" fails_saying "mm/memory.c" "$apply" "$scratch/k"
check "and left alone as well" same "$before" "$(state "$scratch/k")"

kernel "$scratch/k" 13
check "another kernel release is refused" fails_saying "holds Linux 6.13.7" "$apply" "$scratch/k"
kernel "$scratch/k" 1
check "6.1 is not 6.12" fails_saying "holds Linux 6.1.7" "$apply" "$scratch/k"
check "a folder without a kernel is refused" fails_saying "not a Linux source tree" \
	"$apply" "$scratch/series"

cp "$ASAP_SERIES/mm/memory.c.patch" "$ASAP_SERIES/mm/other.c.patch"
kernel "$scratch/k"
check "a patch that edits another file is refused" fails_saying "mm/other.c.patch must edit" \
	"$apply" "$scratch/k"
series

# sync.sh: only what changed is written, and what left the series goes.
export ASAP_CACHE=$scratch/cache
mkdir -p "$ASAP_CACHE"
kernel "$ASAP_CACHE/source"
echo 1 >"$ASAP_CACHE/source.version"
tree=$ASAP_CACHE/tree
check "sync makes a patched tree" "$sync"
check "with the edit" cmp "$tree/mm/memory.c" "$scratch/edit/mm/memory.c"
check "with the new file" cmp "$tree/mm/asap/core.c" "$ASAP_SERIES/mm/asap/core.c"
mkdir "$tree/build-x"
find "$tree" -type f -exec touch -d '2001-01-01' {} +
check "sync again" "$sync"
check "writes nothing" same "" "$(find "$tree" -type f -newermt 2001-01-02)"
echo 'int more;' >>"$ASAP_SERIES/mm/asap/core.c"
check "sync an edited file" "$sync"
check "writes that file only" same "$tree/mm/asap/core.c" \
	"$(find "$tree" -type f -newermt 2001-01-02)"
find "$tree" -type f -exec touch -d '2001-01-01' {} +
rm "$ASAP_SERIES/mm/swap.c.patch" "$ASAP_SERIES/mm/asap/core.c"
check "sync after files left the series" "$sync"
check "restores the kernel's file with a new time" same "$tree/mm/swap.c" \
	"$(find "$tree" -type f -newermt 2001-01-02)"
check "to its content" cmp "$tree/mm/swap.c" "$ASAP_CACHE/source/mm/swap.c"
check "removes ours" test ! -e "$tree/mm/asap"
kernel "$ASAP_CACHE/source"
echo 99 >>"$ASAP_CACHE/source/mm/swap.c"
touch -d '2000-01-01' "$ASAP_CACHE/source/mm/swap.c"
find "$tree" -type f -exec touch -d '2001-01-01' {} +
echo 2 >"$ASAP_CACHE/source.version"
check "sync to another point release" "$sync"
check "takes the kernel's changes with a new time" same "$tree/mm/swap.c" \
	"$(find "$tree" -type f -newermt 2001-01-02)"
check "keeps the edits" cmp "$tree/mm/memory.c" "$scratch/edit/mm/memory.c"
check "keeps the build folders" test -d "$tree/build-x"

done_testing
