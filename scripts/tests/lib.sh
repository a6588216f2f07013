# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by the host's tests: prints TAP. A test is a name and a command; what
# the command says becomes the failure's diagnostics.

set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../env.sh"

tests_run=0 tests_failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# check NAME COMMAND...
check() {
	local name=$1 words
	shift
	tests_run=$((tests_run + 1))
	if words=$("$@" 2>&1); then
		printf 'ok %d - %s\n' "$tests_run" "$name"
	else
		tests_failed=$((tests_failed + 1))
		[ -z "$words" ] || printf '%s\n' "$words" | sed 's/^/# /'
		printf 'not ok %d - %s\n' "$tests_run" "$name"
	fi
}

# skip NAME REASON
skip() {
	tests_run=$((tests_run + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tests_run" "$1" "$2"
}

# fails_saying TEXT COMMAND...: the command fails, and its words contain TEXT.
fails_saying() {
	local text=$1 words
	shift
	if words=$("$@" 2>&1); then
		printf 'succeeded: %s\n%s\n' "$*" "$words"
		return 1
	fi
	says "$text" "$words"
}

# says TEXT WORDS: WORDS contain TEXT.
says() {
	case $2 in
	*"$1"*)	return 0 ;;
	esac
	printf 'wanted: %s\ngot: %s\n' "$1" "$2"
	return 1
}

# same WANT GOT
same() {
	[ "$1" = "$2" ] || { printf 'wanted: %s\ngot: %s\n' "$1" "$2"; return 1; }
}

done_testing() {
	printf '1..%d\n' "$tests_run"
	[ "$tests_failed" = 0 ]
}
