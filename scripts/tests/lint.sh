#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The compiler's extra warnings (W=1) and sparse, over the objects that are
# wholly ours: neither may say a word.
. "$(dirname "$0")/lib.sh"

# quiet MAKE-TARGET...: build in a folder of its own, and show any complaint.
quiet() {
	local log=$ASAP_OUT/log/build-lint.log
	"$ASAP_TOP/scripts/build.sh" lint "$@" W=1 C=2 CF=-D__CHECK_ENDIAN__ || return 1
	# sparse follows no lock that a function takes only if it returns a pointer,
	# as pte_offset_map_lock() does: most files of mm get this word from it.
	! grep -E '(warning|error):' "$log" | grep -v 'context imbalance'
}

if [ -d "$ASAP_TREE/mm/asap" ]; then
	# Objects that are up to date would not be compiled, nor looked at.
	rm -rf "$ASAP_TREE/build-lint/mm/asap"
	check "mm/asap" quiet mm/asap/
else
	skip "mm/asap" "the series has no mm/asap"
fi
done_testing
