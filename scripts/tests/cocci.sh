#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's own coccinelle rules (what "make coccicheck" runs in its report
# mode) over mm/asap and its headers: none has anything to say.
. "$(dirname "$0")/lib.sh"

# No other file of the folders that these lie in.
mkdir -p "$scratch/src"
cp -r "$ASAP_TOP/mm/asap" "$ASAP_TOP/include/linux/asap.h" "$scratch/src/"

# rule FILE: with the options that it asks for.
rule() {
	local options words
	read -ra options < <(sed -n 's|^// *Options: *||p' "$1")
	words=$(cd "$ASAP_SOURCE" && spatch -D report --very-quiet --cocci-file "$1" \
		${options[@]+"${options[@]}"} --dir "$scratch/src" 2>"$scratch/errors") ||
		{ cat "$scratch/errors"; return 1; }
	same "" "$words"
}

rules=0
while IFS= read -r f; do
	name=${f#"$ASAP_SOURCE/scripts/coccinelle/"}
	grep -q '^virtual .*report' "$f" || continue
	rules=$((rules + 1))
	if grep -q '^@.*script:ocaml\|^@.*initialize:ocaml' "$f" && ! command -v ocamlopt >/dev/null; then
		skip "$name" "the rule is written in OCaml, and there is no compiler for it"
		continue
	fi
	check "$name" rule "$f"
done < <(find "$ASAP_SOURCE/scripts/coccinelle/" -name '*.cocci' | sort)
check "rules were found" test $rules -gt 50

# A mistake that one of them knows is found: a check for NULL before kfree().
mkdir "$scratch/bad"
printf 'void f(void *p)\n{\n\tif (p)\n\t\tkfree(p);\n}\n' >"$scratch/bad/bad.c"
finds() {
	spatch -D report --very-quiet --cocci-file "$ASAP_SOURCE/scripts/coccinelle/free/ifnullfree.cocci" \
		--no-includes --dir "$scratch/bad" 2>/dev/null | grep 'bad\.c:4'
}
check "a mistake is found" finds
done_testing
