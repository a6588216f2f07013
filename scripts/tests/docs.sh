#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Sphinx, with the kernel's own extensions, has nothing to say about our
# documents, nor get_abi.pl about the descriptions of our files in sysfs.
. "$(dirname "$0")/lib.sh"
cd "$ASAP_TOP" || exit 1

# A kernel of our documents alone: an index, and the sources they take from.
docs=$scratch/Documentation
mkdir -p "$docs"
ln -s "$ASAP_SOURCE/scripts" "$scratch/scripts"
ln -s "$ASAP_TOP/include" "$ASAP_TOP/mm" "$scratch/"
cp -r "$ASAP_SOURCE/Documentation/"{conf.py,sphinx,sphinx-static} "$docs/"
mapfile -t ours < <(scripts/apply.sh --list | grep '^Documentation/.*\.rst$')
printf '%s\n' Ours ==== '' '.. toctree::' '' >"$docs/index.rst"
for f in "${ours[@]}"; do
	mkdir -p "$scratch/$(dirname "$f")"
	cp "$f" "$scratch/$f"
	f=${f#Documentation/}
	printf '   %s\n' "${f%.rst}" >>"$docs/index.rst"
done

# sphinx FOLDER: no word but of the kernel's own configuration.
sphinx() {
	local words
	words=$(cd "$scratch" && srctree=$scratch BUILDDIR=$scratch/out SPHINXDIRS='' KERNELVERSION=6.12 \
		PYTHONDONTWRITEBYTECODE=1 python3 -m sphinx -q -E -b html -D version=6.12 -D release=6.12 \
		-c "$1" "$1" "$scratch/out" 2>&1) || { printf '%s\n' "$words"; return 1; }
	same "" "$(printf '%s\n' "$words" | grep -F "$1/" | grep -vF "$1/conf.py")"
}

# Debian's own python3 has Sphinx.
PATH=/usr/bin:$PATH

check "our documents are ${ours[*]#Documentation/}" test ${#ours[@]} -ge 2
check "Sphinx" sphinx "$docs"
for f in "${ours[@]#Documentation/}"; do
	check "$f became a page" test -s "$scratch/out/${f%.rst}.html"
done
printf '\nToo long a title\n====\n' >>"$docs/mm/asap.rst"
check "a mistake is found" fails_saying "mm/asap.rst" sphinx "$docs"

abi() {
	same "" "$(perl "$ASAP_SOURCE/scripts/get_abi.pl" validate --dir "$scratch/abi" 2>&1)"
}
mkdir -p "$scratch/abi/testing"
cp Documentation/ABI/testing/sysfs-kernel-mm-asap "$scratch/abi/testing/"
check "get_abi.pl" abi
cp "$scratch/abi/testing/sysfs-kernel-mm-asap" "$scratch/abi/testing/again"
check "a file described twice is found" fails_saying "sysfs-kernel-mm-asap" abi
done_testing
