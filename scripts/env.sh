# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by every script: where things lie, and how to speak.
#
#   ASAP_TOP      the clone
#   ASAP_CACHE    everything unpacked or built (default ~/.cache/asap-linux)
#   ASAP_OUT      results and logs (default out/ in the clone)
#   CCACHE_DIR    compiler cache (default $ASAP_CACHE/ccache)
#   JOBS          parallel compiler jobs (default: the number of CPUs)
#
# In $ASAP_CACHE:
#   source/       Debian's kernel source, never edited
#   tree/         the same with the series applied, kept in step by sync.sh
#   build/NAME    link to the build folder of kernel flavour NAME
#   images/       initramfs archives

ASAP_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
ASAP_CACHE=${ASAP_CACHE:-$HOME/.cache/asap-linux}
ASAP_SOURCE=$ASAP_CACHE/source
ASAP_TREE=$ASAP_CACHE/tree
ASAP_OUT=${ASAP_OUT:-$ASAP_TOP/out}
CCACHE_DIR=${CCACHE_DIR:-$ASAP_CACHE/ccache}
JOBS=${JOBS:-$(nproc)}
export ASAP_TOP ASAP_CACHE ASAP_SOURCE ASAP_TREE ASAP_OUT CCACHE_DIR JOBS
export LC_ALL=C
# What "make test" was told is not for the makes that the scripts run.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

# kernel_release TREE: what its Makefile says that it is, such as 6.12.117.
kernel_release() {
	awk '
		/^VERSION = / { v = $3 } /^PATCHLEVEL = / { p = $3 } /^SUBLEVEL = / { s = $3 }
		END { print v "." p "." s }' "$1/Makefile"
}
