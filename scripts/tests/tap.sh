#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tap.awk counts what it should, and fails what it should.
. "$(dirname "$0")/lib.sh"

# sums SUMMARY [TEXT]: the suite on stdin sums to SUMMARY, saying TEXT.
sums() {
	local got
	cat >"$scratch/s.tap"
	got=$(awk -f "$ASAP_TOP/scripts/tap.awk" "$scratch/s.tap")
	same "$1" "$(printf '%s\n' "$got" | tail -n 1)" && says "${2:-}" "$got"
}

# status WANT: the exit status of tap.awk on stdin.
status() {
	local rc=0
	cat >"$scratch/s.tap"
	awk -f "$ASAP_TOP/scripts/tap.awk" "$scratch/s.tap" >/dev/null || rc=$?
	same "$1" "$rc"
}

check "a passing suite" sums "2 passed, 0 failed, 0 skipped" <<'T'
TAP version 13
1..2
ok 1 a
ok 2 b
# exit-status 0
T
check "passes" status 0 <<'T'
1..1
ok 1 a
# exit-status 0
T
check "a failure, with what was said before it" \
	sums "1 passed, 1 failed, 0 skipped" "    # because" <<'T'
1..2
ok 1 a
# because
not ok 2 b
# exit-status 1
T
check "fails" status 1 <<'T'
1..1
not ok 1 a
# exit-status 1
T
check "a skip, with its reason" sums "0 passed, 0 failed, 1 skipped" "a: no such device" <<'T'
1..1
ok 1 a # SKIP no such device
# exit-status 4
T
check "a skip without a reason is a failure" sums "0 passed, 1 failed, 0 skipped" <<'T'
1..1
ok 1 a # SKIP
# exit-status 4
T
check "a suite skipped as a whole" sums "0 passed, 0 failed, 1 skipped" "no zram" <<'T'
1..0 # SKIP no zram
# exit-status 4
T
check "fewer tests than planned" sums "1 passed, 1 failed, 0 skipped" "planned 2" <<'T'
1..2
ok 1 a
# exit-status 0
T
check "a suite that broke off" sums "1 passed, 1 failed, 0 skipped" "did not run to its end" <<'T'
1..1
ok 1 a
T
check "an exit status that no test explains" sums "1 passed, 1 failed, 0 skipped" <<'T'
1..1
ok 1 a
# exit-status 139
T
check "a suite without a test" sums "0 passed, 1 failed, 0 skipped" "reported no test" <<'T'
hello
# exit-status 0
T
check "a bail-out" sums "1 passed, 1 failed, 0 skipped" "Bail out! no memory" <<'T'
ok 1 a
Bail out! no memory
# exit-status 1
T
check "nested results are counted where they are finest" \
	sums "3 passed, 1 failed, 1 skipped" <<'T'
KTAP version 1
1..2
    KTAP version 1
    # Subtest: one
    1..3
        KTAP version 1
        ok 1 x
        not ok 2 y
    not ok 1 p
    ok 2 a
    ok 3 b # SKIP no device
not ok 1 one
ok 2 two
# exit-status 1
T
check "a block that fails though none in it did" sums "1 passed, 1 failed, 0 skipped" <<'T'
    ok 1 a
not ok 1 block
# exit-status 1
T
check "two documents, a plan each" sums "2 passed, 1 failed, 0 skipped" "planned 3" <<'T'
TAP version 13
1..3
ok 1 a
TAP version 13
ok 1 b
1..1
# exit-status 0
T
done_testing
