#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boot a built kernel to a BusyBox prompt on this terminal.
#
# usage: shell.sh FLAVOUR
set -euo pipefail
. "$(dirname "$0")/env.sh"

[ $# -eq 1 ] || die "usage: shell.sh FLAVOUR"
kernel=$ASAP_CACHE/build/$1/arch/x86/boot/bzImage
[ -f "$kernel" ] || die "$kernel is not there: run scripts/build.sh $1 first"
archive=$ASAP_CACHE/images/shell.cpio
"$ASAP_TOP/scripts/initramfs.sh" "$archive"
say "shell: 'poweroff -f' leaves; so does Ctrl-a x"
exec "$ASAP_TOP/scripts/boot.sh" --shell --kernel "$kernel" --initrd "$archive" \
	--out "$ASAP_OUT/shell" --append "${APPEND:-}"
