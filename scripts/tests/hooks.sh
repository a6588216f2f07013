#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The series keeps to its budget of hooks, and hooks.sh tells when one does not.
. "$(dirname "$0")/lib.sh"

hooks=$ASAP_TOP/scripts/hooks.sh

check "the series keeps to the budget" "$hooks"

# patch LINE...: a series that adds these lines to mm/memory.c.
export ASAP_SERIES=$scratch/series
patch_adding() {
	mkdir -p "$ASAP_SERIES/mm"
	{
		printf -- '--- a/mm/memory.c\n+++ b/mm/memory.c\n@@ -1,1 +1,2 @@\n'
		printf '%s\n' "$@"
	} >"$ASAP_SERIES/mm/memory.c.patch"
	"$hooks"
}

many=$(printf '+\tasap_hook(%d);\n' {1..16})
check "a hook" patch_adding ' x' '+	asap_hook(mm);'
check "a condition that gains a term" patch_adding '-	if (a)' '+	if (a ||' '+	    asap_hook(mm))'
check "16 lines are too many" fails_saying "gains 16 lines" patch_adding "$many"
check "15 are not" patch_adding "${many#*$'\n'}"
check "a line that is no hook" fails_saying "no hook: 	mm->x = 1;" \
	patch_adding '+	mm->x = 1;'
check "two in place of one" fails_saying "no hook" patch_adding '-	a();' '+	b();' '+	c();'
done_testing
