#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# refresh.sh: the patches made anew from an applied tree are the clone's own, so
# that git is left clean; and an edit in the tree comes to its patch.
. "$(dirname "$0")/lib.sh"

refresh=$ASAP_TOP/scripts/refresh.sh

# A copy of the clone's patches, and the files that they edit, patched.
mkdir "$scratch/series"
(cd "$ASAP_TOP" && scripts/apply.sh --list | cpio -pdm --quiet "$scratch/series")
export ASAP_SERIES=$scratch/series
cp -r "$ASAP_SERIES" "$scratch/before"
"$ASAP_TOP/scripts/apply.sh" --stage "$scratch/tree" "$ASAP_SOURCE"
cp "$ASAP_SOURCE/Makefile" "$ASAP_SOURCE/Kconfig" "$scratch/tree/"

# The difference that a refresh has made, in patches.
difference() { diff -rq "$scratch/before" "$ASAP_SERIES"; }

check "refresh" "$refresh" "$scratch/tree"
check "leaves every patch as it was" same "" "$(difference)"

# At another point release, a line further down.
sed 's/^@@ -\([0-9]*\)/@@ -1\1/' "$scratch/before/mm/memory.c.patch" \
	>"$scratch/series/mm/memory.c.patch"
cp "$scratch/series/mm/memory.c.patch" "$scratch/before/mm/memory.c.patch"
check "refresh patches with other line numbers" "$refresh" "$scratch/tree"
check "leaves them as they were" same "" "$(difference)"

echo '/* an edit */' >>"$scratch/tree/mm/memory.c"
check "refresh an edited tree" "$refresh" "$scratch/tree"
check "changes that patch alone" \
	same "Files $scratch/before/mm/memory.c.patch and $ASAP_SERIES/mm/memory.c.patch differ" \
	"$(difference)"
check "by the edit" grep -qxF '+/* an edit */' "$ASAP_SERIES/mm/memory.c.patch"

cp "$ASAP_SOURCE/mm/memory.c" "$scratch/tree/mm/memory.c"
check "refresh a tree without one edit" "$refresh" "$scratch/tree"
check "removes its patch" test ! -e "$ASAP_SERIES/mm/memory.c.patch"

{ cat "$ASAP_SOURCE/mm/swap.c"; echo '/* new */'; } >"$scratch/tree/mm/swap.c"
check "a file is named" "$refresh" "$scratch/tree" mm/swap.c
check "and has a patch" grep -qxF '+/* new */' "$ASAP_SERIES/mm/swap.c.patch"
cp "$ASAP_SOURCE/mm/rmap.c" "$scratch/tree/mm/rmap.c"
check "a file without an edit is refused" fails_saying "mm/rmap.c has no edit" \
	"$refresh" "$scratch/tree" mm/rmap.c

check "a tree without the series is refused" fails_saying "apply it first" "$refresh" "$ASAP_SOURCE"
check "and nothing is removed" test -e "$ASAP_SERIES/mm/filemap.c.patch"
sed -i 's/^SUBLEVEL = .*/SUBLEVEL = 1/' "$scratch/tree/Makefile"
check "another point release is refused" fails_saying "set ORIG" "$refresh" "$scratch/tree"
done_testing
