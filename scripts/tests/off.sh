#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# With CONFIG_ASAP=n the series adds no byte: every object of the folders that it
# edits is the stock kernel's, or differs from it in line numbers only (the code
# is the same, and so is the size of every section).
. "$(dirname "$0")/lib.sh"

folders=(mm/ kernel/ fs/ drivers/block/)

# Objects that may differ, each with its reason:
#   kernel/configs.o      holds the configuration itself
#   fs/proc/task_mmu.o    the smaps_rollup patches, which stand on their own
#   mm/pagewalk.o         the same
except='^(kernel/configs|fs/proc/task_mmu|mm/pagewalk)\.o$'

# code OBJECT: the disassembly with relocations, and the sections' sizes.
code() {
	objdump -d -r --no-show-raw-insn "$1" | tail -n +4
	objdump -h "$1" | awk '$1 ~ /^[0-9]+$/ && $2 !~ /^\.(comment|note)/ { print $2, $3 }'
}

same_code() {
	[ -f "$2" ] || { echo "$2 was not built"; return 1; }
	! cmp -s "$1" "$2" || return 0
	code "$1" >"$scratch/stock"
	code "$2" >"$scratch/off"
	cmp -s "$scratch/stock" "$scratch/off" ||
		{ diff "$scratch/stock" "$scratch/off" | head -n 20; return 1; }
}

fails_with() { cat "$1"; return 1; }

check "the stock objects build" "$ASAP_TOP/scripts/build.sh" stock "${folders[@]}"
check "the objects with CONFIG_ASAP=n build" "$ASAP_TOP/scripts/build.sh" off "${folders[@]}"

stock=$ASAP_SOURCE/build-stock off=$ASAP_TREE/build-off
objects=0
while IFS= read -r o; do
	[[ ! $o =~ $except ]] || continue
	objects=$((objects + 1))
	same_code "$stock/$o" "$off/$o" >"$scratch/words" 2>&1 ||
		check "$o" fails_with "$scratch/words"
done < <(cd "$stock" && find "${folders[@]}" -name '*.o' ! -name '.*' ! -name '*.mod.o' | sort)
check "$objects objects compared" test "$objects" -gt 300
check "no object more" same "" "$(comm -13 \
	<(cd "$stock" && find "${folders[@]}" -name '*.o' | sort) \
	<(cd "$off" && find "${folders[@]}" -name '*.o' | sort))"
done_testing
