#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of asapctl that need no patched kernel, as TAP.
#
# usage: test.sh ASAPCTL
# shellcheck disable=SC2317 # the functions are called by check()
set -u
ctl=$1
n=0
failed=0

# check NAME COMMAND...: ok when the command succeeds.
check() {
	local name=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n $name"
	else
		echo "not ok $n $name"
		failed=1
	fi
}

# status WANT ARGUMENT...: asapctl ends with this exit status.
status() {
	local want=$1 got=0
	shift
	"$ctl" "$@" >/dev/null 2>&1 </dev/null || got=$?
	[ "$got" = "$want" ]
}

says() {
	local want=$1
	shift
	"$ctl" "$@" 2>&1 | grep -q -e "$want"
}

# The sum of a field over smaps is what the JSON has, on a sleeping process.
sums_smaps() {
	local field=$1 sum json
	sum=$(awk -v f="$field:" '$1 == f { n += $2 } END { print n }' "/proc/$pid/smaps")
	json=$("$ctl" meminfo --json "$pid" | sed -n "s/.*\"$field\": \([0-9]*\).*/\1/p")
	[ -n "$json" ] && [ "$sum" = "$json" ]
}

json_lines() {
	[ "$("$ctl" meminfo --json --watch 50 --count 3 "$pid" |
		grep -c '^{"time": [0-9.]*, "unit": "kB", "processes": \[{"pid": .*}\]}$')" = 3 ]
}

columns() {
	"$ctl" meminfo "$pid" | awk '{ n[NR] = NF } END { exit !(NR == 2 && n[1] == n[2]) }'
}

full_disk() {
	! "$ctl" meminfo "$pid" >/dev/full 2>/dev/null
}

sleep 1000 &
pid=$!
trap 'kill "$pid"' EXIT
while [ "$(cat "/proc/$pid/comm")" != sleep ]; do
	sleep 0.1
done

check "no verb" status 2
check "an unknown verb" status 2 dance
check "help" status 0 help
check "help names the verbs" says meminfo help
check "help for a verb" says --watch help meminfo
check "help for an unknown verb" status 2 help dance
check "meminfo without a process" status 2 meminfo
check "meminfo of no number" status 2 meminfo 12x
check "meminfo of 0" status 2 meminfo 0
check "meminfo with an unknown option" status 2 meminfo --dance 1
check "meminfo with a rate of 0" status 2 meminfo --watch 0 1
check "meminfo with a count alone" status 2 meminfo --count 2 1
check "meminfo of a process that is not there" status 1 meminfo 4194304
check "meminfo says which process failed" says "process 4194304:" meminfo 4194304
check "meminfo of a process" status 0 meminfo "$pid"
check "meminfo of one that is there and one that is not" status 1 meminfo "$pid" 4194304
check "meminfo prints the one that is there" says sleep meminfo "$pid" 4194304
check "meminfo's columns have heads" columns
for field in Rss Private_Dirty Anonymous Swap; do
	check "meminfo: $field is the sum over smaps" sums_smaps $field
done
check "meminfo --watch gives JSON lines" json_lines
check "output that cannot be written is an error" full_disk
echo "1..$n"
exit $failed
