#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Print the lines that each of the kernel's own files gains and loses, and hold
# them to the budget: a file gains at most 15 lines, and a line added to code is
# a hook of ours, the #include or #ifdef for it, or one in place of a line that
# was there. What is no hook is counted apart, with its reason.
#
# usage: hooks.sh
#
# The exit status is 1 when a file is over the budget.
set -euo pipefail
. "$(dirname "$0")/env.sh"

series=${ASAP_SERIES:-$ASAP_TOP}
budget=15

# Why a file's lines are no hooks; nothing for one whose lines are.
apart() {
	case $1 in
	Documentation/* | MAINTAINERS)
		echo "documents" ;;
	fs/proc/task_mmu.c)
		echo "smaps_rollup: a change of its own, that does not need ASAP" ;;
	mm/pagewalk.c | include/linux/pagewalk.h)
		echo "preparation for smaps_rollup, that does not need ASAP" ;;
	include/linux/vm_event_item.h | mm/vmstat.c)
		echo "names of counters, a line each" ;;
	esac
}

sum=0 files=0 over=0
while IFS= read -r p; do
	f=${p%.patch}
	read -r gains loses < <(awk '
		/^(\+\+\+|---) / { next }
		/^\+/ { gains++ } /^-/ { loses++ }
		END { print gains + 0, loses + 0 }' "$series/$p")
	why=$(apart "$f")
	printf '%-48s +%-4d -%-4d %s\n' "$f" "$gains" "$loses" "$why"
	[ -z "$why" ] || continue
	files=$((files + 1)) sum=$((sum + gains))
	if [ "$gains" -gt $budget ]; then
		say "error: $f gains $gains lines, more than $budget"
		over=1
	fi
	# Added lines that do not name us, but for one in place of each that went.
	foreign=$(awk '
		function hunk() { if (foreign > gone) print last }
		/^(\+\+\+|---) / { next }
		/^@@/ { hunk(); foreign = gone = 0 }
		/^-/ { gone++ }
		/^\+[ \t]*$/ || /^\+#endif/ { next }
		/^\+/ && !/asap|ASAP/ { foreign++; last = substr($0, 2) }
		END { hunk() }' "$series/$p")
	if [ -n "$foreign" ]; then
		say "error: $f gains a line that is no hook: $foreign"
		over=1
	fi
done < <("$ASAP_TOP/scripts/apply.sh" --list | grep '\.patch$')
printf '%d lines of hooks in %d files\n' "$sum" "$files"
exit $over
