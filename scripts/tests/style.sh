#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Style gates over the clone: shellcheck, checkpatch --strict, codespell, SPDX,
# kernel-doc, includes.
. "$(dirname "$0")/lib.sh"
cd "$ASAP_TOP" || exit 1

scripts=(scripts/*.sh scripts/tests/*.sh scripts/guest/* .ci/run)
while IFS= read -r f; do
	scripts+=("$f")
done < <(scripts/apply.sh --list | grep '\.sh$')
for f in "${scripts[@]}"; do
	check "shellcheck $f" shellcheck "$f"
done

# Debian's own python3 has the modules that checkpatch's helper needs.
PATH=/usr/bin:$PATH

checkpatch() {
	perl "$ASAP_SOURCE/scripts/checkpatch.pl" --root="$ASAP_SOURCE" --strict \
		--terse --no-summary --show-types "$@"
}

# A patch beside its file is no mail: it has neither message nor sign-off. It
# comes by stdin, as checkpatch takes a file that git knows for source text.
checkpatch_patch() {
	checkpatch --no-signoff --ignore=COMMIT_MESSAGE - <"$1"
}

# What checkpatch may not ask of a file, each with its reason.
excused() {
	case $1 in
	# TRACE_EVENT() is written like this everywhere in include/trace.
	include/trace/events/*)	echo --ignore=PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE ;;
	# The name of a fuzzer's entry is libFuzzer's.
	*/fuzz_*.c)		echo --ignore=CAMELCASE ;;
	# That is how a FUSE daemon says that it does not know a request.
	*/file_kinds.c)		echo --ignore=ENOSYS ;;
	*)			echo --strict ;;
	esac
}

while IFS= read -r f; do
	case $f in
	*.patch)	check "checkpatch $f" checkpatch_patch "$f" ;;
	*)		check "checkpatch $f" checkpatch "$(excused "$f")" -f "$f" ;;
	esac
done < <(scripts/apply.sh --list)

# Every file of ours that can hold a comment says its licence.
while IFS= read -r f; do
	case $f in
	*.patch | *.md | .* | *.json | series | Documentation/ABI/* | */corpus/*) continue ;;
	esac
	check "SPDX $f" grep -q -m 1 'SPDX-License-Identifier: ' "$f"
done < <(git ls-files -co --exclude-standard | while IFS= read -r f; do
	[ ! -f "$f" ] || printf '%s\n' "$f"; done)

# Every public function says what it takes, where it may be called, what it gives.
kernel_doc() {
	perl "$ASAP_SOURCE/scripts/kernel-doc" -none -Wall -Werror "$1"
}
for f in mm/asap/*.[ch] include/linux/asap.h; do
	check "kernel-doc $f" kernel_doc "$f"
done

mapfile -t sources < <(scripts/apply.sh --list | grep '\.[ch]$')
check "no header is included twice" same "No duplicate includes found." \
	"$(perl "$ASAP_SOURCE/scripts/checkincludes.pl" "${sources[@]}")"

spelling() {
	git ls-files -co --exclude-standard -z | xargs -0 codespell -L damon,filp
}
check "codespell" spelling

# shellcheck disable=SC2016
check "make help lists every verb" same "" "$(
	comm -3 <(grep -o '^[a-z-]*:' Makefile | tr -d : | sort) \
		<(make -s help | awk '{ print $2 }' | sort))"
done_testing
