#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Make the Debian tree that the demo boots, as an ext4 image, and print its path.
# It is kept in ${ASAP_CACHE}/images and made anew only when the package list or
# the recipe (this file and data.py) changes. Packages come from Debian alone:
# from the mirror that this machine's own apt uses for bookworm, if it uses one.
# shellcheck disable=SC2016	# what is in single quotes others expand
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
images=${ASAP_CACHE:-$HOME/.cache/asap-linux}/images
log=$images/image.log

say() { printf 'image: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

for tool in mmdebstrap mke2fs tar; do
	command -v "$tool" >/dev/null ||
		die "$tool is missing: apt-get install mmdebstrap e2fsprogs tar"
done

# The driver needs python3 and kmod; the rest is what the apps ask for.
mapfile -t packages < <({
	echo python3-minimal kmod
	sed -n 's/^PACKAGES = "\(.*\)"$/\1/p' "$here"/guest/apps/*.py
} | tr ' ' '\n' | sort -u)

key=$({ printf '%s\n' "${packages[@]}"; cat "$0" "$here/data.py"; } | sha256sum | cut -c1-12)
image=$images/demo-$key.ext4

if [ -e "$image" ]; then
	echo "$image"
	exit 0
fi

mkdir -p "$images"
work=$(mktemp -d "$images/tmp.XXXXXX")
trap 'rm -rf "$work"' EXIT

# apt prints the mirrors it knows; those that carry bookworm's main are ours too.
mirrors=()
if command -v apt-get >/dev/null; then
	mapfile -t mirrors < <(apt-get indextargets \
		--format '$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' \
		2>/dev/null | awk '
		$1 == "Debian" && $2 == "main" && $3 ~ /^bookworm(-updates|-security)?$/ {
			print "deb " $4 " " $3 " main" }' | sort -u)
	case "${mirrors[*]-}" in
	*" bookworm main"*) ;;
	*) mirrors=() ;;	# not a bookworm machine: mmdebstrap's own default
	esac
fi

say "Debian bookworm with ${#packages[@]} packages and what they need"
say "(a few minutes; log: $log)"
# From the index of all of Debian's packages comes the data that the apps work on.
data='chroot "$1" sh -c "apt-cache dumpavail | python3 /srv/demo/data.py /srv/demo"'
mmdebstrap --variant=minbase --format=tar \
	--include="$(IFS=,; echo "${packages[*]}")" \
	--aptopt='APT::Install-Recommends "false"' \
	--dpkgopt='path-exclude=/usr/share/man/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' \
	--dpkgopt='path-exclude=/usr/share/doc/*' \
	--dpkgopt='path-include=/usr/share/doc/*/copyright' \
	--customize-hook='mkdir -p "$1/srv/demo" "$1/demo"' \
	--customize-hook="upload $here/data.py /srv/demo/data.py" \
	--customize-hook="$data" \
	bookworm "$work/tree.tar" ${mirrors[@]+"${mirrors[@]}"} >"$log" 2>&1 ||
	die "mmdebstrap failed: $(tail -n 1 "$log") (log: $log)"

say "packing it as ext4"
# Owners must survive: as root by themselves, otherwise in a user namespace.
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(unshare --map-root-user --map-auto)
"${as_root[@]}" bash -euo pipefail -c '
	mkdir "$1/tree"
	tar -C "$1/tree" --exclude="./dev/*" -xf "$1/tree.tar"
	rm "$1/tree.tar"
	mb=$(( $(du -sm --apparent-size "$1/tree" | cut -f1) * 5 / 4 + 128 ))
	mke2fs -q -t ext4 -L asap-demo -d "$1/tree" "$1/image" "${mb}M"
	rm -rf "$1/tree"
' bash "$work" >>"$log" 2>&1 || die "mke2fs failed (log: $log)"

rm -f "$images"/demo-*.ext4
mv "$work/image" "$image"
say "done: $image"
echo "$image"
