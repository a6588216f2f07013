#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# series.sh: every file has its step, checkpatch has nothing to say, git am and
# quilt take the patches on a clean tree, and both end with what apply.sh makes.
. "$(dirname "$0")/lib.sh"

# What is made here is not left in out/series/.
export_series() { ASAP_OUT=$scratch/out "$ASAP_TOP/scripts/series.sh" "$@"; }
out=$scratch/out/series

# A small kernel, and a series of a new file, a folder and an edit.
k=$scratch/k
mkdir -p "$k/mm" "$scratch/edit/mm"
printf 'VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 7\n' >"$k/Makefile"
echo 'mainmenu "x"' >"$k/Kconfig"
seq 1 40 >"$k/mm/memory.c"
sed '20s/$/\nhook one/; 30s/$/\nhook two/' "$k/mm/memory.c" >"$scratch/edit/mm/memory.c"
export ASAP_SERIES=$scratch/series
mkdir -p "$ASAP_SERIES/mm/asap/tests/deep"
echo 'int core;' >"$ASAP_SERIES/mm/asap/core.c"
echo 'int a;' >"$ASAP_SERIES/mm/asap/tests/a.c"
echo 'int b;' >"$ASAP_SERIES/mm/asap/tests/deep/b.c"
diff -u --label a/mm/memory.c --label b/mm/memory.c "$k/mm/memory.c" \
	"$scratch/edit/mm/memory.c" >"$ASAP_SERIES/mm/memory.c.patch"
good() {
	cat >"$ASAP_SERIES/series" <<-'S'
		cover: All of it
		Why.
		patch: mm/asap: one
		Because.
		@ mm/asap/core.c
		@ mm/memory.c | /hook two/d
		patch: mm/asap: two
		@ mm/memory.c
		patch: mm/asap: test
		@ mm/asap/tests/
		@ mm/asap/tests/deep/
	S
}
# With "series" edited by the sed script SCRIPT.
edited() {
	good
	sed -i "$1" "$ASAP_SERIES/series"
	export_series "$k"
}

good
check "a small series" export_series --git "$scratch/small" "$k"
check "is three patches" same 3 "$(wc -l <"$out/series")"
check "a stage lacks what the script takes out" \
	same "hook one" "$(git -C "$scratch/small" show series~2:mm/memory.c | grep hook)"
check "the final form is the file's" cmp "$scratch/small/mm/memory.c" "$scratch/edit/mm/memory.c"
check "the letter has its subject" grep -q '^Subject: .*All of it' "$out/cover-letter.txt"
check "a message is in its patch" grep -q '^Because\.$' "$out/0001-mm-asap-one.patch"
check "each is signed" same 3 "$(cat "$out"/*.patch | grep -c '^Signed-off-by: ')"

check "a file that no step names" fails_saying "mm/asap/core.c is in no step" edited /core/d
check "one in a folder that no step names" fails_saying "mm/asap/tests/a.c is in no step" \
	edited '\|tests/$|d'
check "a name without a file" fails_saying "names mm/asap/gone.c" edited 's/core/gone/'
check "a folder without a file" fails_saying "names mm/empty/" edited 's|asap/tests/deep|empty|'
check "a file of which only a stage comes" fails_saying "mm/memory.c never comes" \
	edited '/^@ mm.memory.c$/d; /asap: two/d'
check "a stage after the final form" fails_saying "mm/memory.c is named after" \
	edited '/asap: test/a@ mm/memory.c | /one/d'
check "a script that finds nothing to change" fails_saying "changes nothing" \
	edited 's/hook two/hook three/'
check "a step without a change" fails_saying "the step changes nothing: mm/asap: none" \
	edited 's/.*asap: two$/patch: mm\/asap: none\n&/'
unset ASAP_SERIES

# The real one.
tree_of() { (cd "$1" && find . -type f ! -path './.git/*' ! -path './.pc/*' \
	-exec sha256sum {} + | sort -k 2; find . -type f -perm -u+x ! -path './.git/*' ! -path './.pc/*' | sort); }
apply_mail() {
	git -C "$scratch/am" checkout -q "$(git -C "$scratch/am" rev-list --max-parents=0 series)" &&
		git -C "$scratch/am" -c user.name=x -c user.email=x@example.org am -q "$out"/*.patch
}
apply_quilt() { (cd "$scratch/quilt" && QUILT_PATCHES=$out quilt push -a --fuzz=0); }
on_base() { git -C "$scratch/am" archive "$(git -C "$scratch/am" rev-list --max-parents=0 series)" |
	tar -C "$scratch/quilt" -x; }

check "the series" export_series --git "$scratch/am" "$ASAP_SOURCE"
"$ASAP_TOP/scripts/apply.sh" --stage "$scratch/stage" "$ASAP_SOURCE"
# What is not asked of a patch. Of whole files style.sh asks all but the first,
# with an exception for a file where one is needed:
#   FILE_PATH_CHANGES		MAINTAINERS comes last
#   CONFIG_DESCRIPTION		a patch shows a part of an option's help
#   OPEN_ENDED_LINE, PARENTHESIS_ALIGNMENT	TRACE_EVENT() is written like this
#   CAMELCASE			the name of a fuzzer's entry is libFuzzer's
#   EXECUTE_PERMISSIONS		programs that are no kernel source
#   REPEATED_WORD		"mount -t ramfs ramfs"
#   ENOSYS			a test asks whether there is a system call
# Its helper for licences asks for a git clone of the kernel, and says so on stderr.
checkpatch() {
	PATH=/usr/bin:$PATH perl "$ASAP_SOURCE/scripts/checkpatch.pl" --root="$ASAP_SOURCE" \
		--strict --terse --no-summary --show-types --ignore="FILE_PATH_CHANGES,\
CONFIG_DESCRIPTION,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,CAMELCASE,EXECUTE_PERMISSIONS,\
REPEATED_WORD,ENOSYS" "$1" 2>/dev/null
}
for p in "$out"/*.patch; do
	check "checkpatch ${p##*/}" checkpatch "$p"
done

want=$(tree_of "$scratch/stage")
check "has patches" test -s "$out/series"
check "git am takes it" apply_mail
check "and ends with what apply.sh makes" same "$want" "$(tree_of "$scratch/am")"
mkdir "$scratch/quilt"
check "a clean tree for quilt" on_base
check "quilt takes it without fuzz" apply_quilt
check "and ends with what apply.sh makes as well" same "$want" "$(tree_of "$scratch/quilt")"
done_testing
