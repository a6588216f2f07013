#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of asapctl that need no patched kernel, as TAP.
#
# usage: test.sh ASAPCTL
# shellcheck disable=SC2317 # the functions are called by check()
set -u
ctl=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
scratch=$(mktemp -d)
python=
for p in python3 /usr/bin/python3; do
	! "$p" -c 'import jsonschema' 2>/dev/null || python=$p
done
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

# says PATTERN ARGUMENT...: a line of what asapctl prints matches.
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

# A kernel's files, made up: an app "web" that had two switches, and nothing wrong.
# The test process itself is its only member.
fake() {
	root=$(mktemp -d "$scratch/root.XXXXXX")
	export ASAPCTL_ROOT=$root ASAPCTL_STATE=$root/state
	local asap=$root/sys/kernel/mm/asap knob
	mkdir -p "$asap/apps/web" "$root/proc/sys/vm" "$root/proc/$pid"
	mkdir -m 700 "$root/state"
	for knob in enabled learn prefetch anon_enabled file_enabled; do
		echo 1 >"$asap/$knob"
	done
	: >"$asap/apps/create"
	: >"$asap/apps/remove"
	printf 'apps 1\nprocesses 1\nswitches 2\n' >"$asap/stat"
	{
		printf 'processes 1\nswitches 2\nnovel_figure 7\nnovel_word seven\n'
		printf 'last_window_us 1234\ntotal_window_us 5678\n'
		printf 'last_file_recall_percent 66\ntotal_timeouts 0\n'
	} >"$asap/apps/web/stat"
	echo idle >"$asap/apps/web/switch"
	echo 2/10 >"$asap/apps/web/profile"
	echo "$pid" >"$asap/apps/web/procs"
	: >"$asap/apps/web/candidates"
	printf 'Rss: 100 kB\nPss: 90 kB\nSwap: 80 kB\n' >"$root/proc/$pid/smaps_rollup"
	printf '%s\n' 'none /sys sysfs rw 0 0' 'none /sys/fs/cgroup cgroup2 rw 0 0' \
		>"$root/proc/mounts"
	printf 'Filename Type Size Used Priority\n%s\n' \
		'/dev/zram0 partition 1000 10 100' >"$root/proc/swaps"
	echo 0 >"$root/proc/sys/vm/page-cluster"
	echo 60 >"$root/proc/sys/vm/swappiness"
	app=$asap/apps/web
}

# got FILE TEXT: the file holds exactly that.
got() {
	[ "$(cat "$1")" = "$2" ]
}

# finds ID: doctor names this finding, and no other.
finds() {
	[ "$("$ctl" doctor | grep -v '^  cure: ' | sed 's/:.*//')" = "$1" ] && status 1 doctor
}

# valid VERB ARGUMENT...: the output fits the schema.
valid() {
	"$ctl" "$@" >"$scratch/json"
	"$python" - "$1" "$here/asapctl.schema.json" "$scratch/json" <<-'END'
		import json, sys
		import jsonschema
		verb, schema, output = sys.argv[1:]
		schema = json.load(open(schema))
		jsonschema.Draft7Validator.check_schema(schema)
		schema["$ref"] = "#/definitions/" + verb
		jsonschema.validate(json.load(open(output)), schema)
	END
}

# check_json NAME VERB ARGUMENT...
check_json() {
	local name=$1
	shift
	if [ -n "$python" ]; then
		check "$name" valid "$@"
	else
		n=$((n + 1))
		echo "ok $n $name # SKIP no python3 here has jsonschema"
	fi
}

table() {
	printf 'asap-candidates 1\nend 0 0 00000000\n'
}

# A table in the state folder, as asapctl leaves it.
put_table() {
	table >"$ASAPCTL_STATE/web.table"
	chmod 600 "$ASAPCTL_STATE/web.table"
}

# Set aside, with one line, and the kernel was given nothing.
set_aside() {
	local lines
	lines=$("$ctl" load web 2>&1 | wc -l)
	[ "$lines" = 1 ] && [ -e "$ASAPCTL_STATE/web.bad" ] &&
		[ ! -e "$ASAPCTL_STATE/web.table" ] && [ ! -s "$app/candidates" ]
}

saves() {
	table >"$app/candidates"
	"$ctl" save web && cmp -s "$app/candidates" "$ASAPCTL_STATE/web.table" &&
		[ "$(stat -c %a "$ASAPCTL_STATE/web.table")" = 600 ] &&
		[ "$(find "$ASAPCTL_STATE" -type f | wc -l)" = 1 ]
}

# The kernel gives no table: the old file stays.
keeps_old() {
	put_table
	rm "$app/candidates"
	! "$ctl" save web 2>/dev/null && [ -s "$ASAPCTL_STATE/web.table" ]
}

# persist gives a new app its table, and saves what it learned when it ends.
persists() {
	local service
	put_table
	sed -i 's/^switches .*/switches 0/' "$app/stat"
	"$ctl" persist --delay 0.01 &
	service=$!
	until [ -s "$app/candidates" ]; do sleep 0.05; done
	sed -i 's/^switches .*/switches 3/' "$app/stat"
	{ table; echo learned; } >"$app/candidates"
	kill "$service"
	wait "$service" && grep -q learned "$ASAPCTL_STATE/web.table"
}

# documented FILE: it has each verb.
documented() {
	local verb
	for verb in $("$ctl" help | awk '/^  / { print $1 }'); do
		grep -q -w -e "$verb" "$1" || { echo "# $1 has no $verb"; return 1; }
	done
}

completes() {
	bash -c '. "$1"; COMP_WORDS=(asapctl sw); COMP_CWORD=1; _asapctl
		[ "${COMPREPLY[*]}" = switch ]' - "$here/asapctl.bash"
}

formats() {
	[ -z "$(groff -man -Tutf8 -ww -z "$here/asapctl.8" 2>&1)" ]
}

sleep 1000 &
pid=$!
trap 'kill "$pid"; rm -rf "$scratch"' EXIT
while [ "$(cat "/proc/$pid/comm")" != sleep ]; do
	sleep 0.1
done

check "no verb" status 3
check "an unknown verb" status 3 dance
check "help" status 0 help
check "help names the verbs" says meminfo help
check "help for a verb" says --watch help meminfo
check "help for an unknown verb" status 3 help dance
check "meminfo without a process" status 3 meminfo
check "meminfo of no number" status 3 meminfo 12x
check "meminfo of 0" status 3 meminfo 0
check "meminfo with an unknown option" status 3 meminfo --dance 1
check "meminfo with a rate of 0" status 3 meminfo --watch 0 1
check "meminfo with a count alone" status 3 meminfo --count 2 1
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

fake
for verb in run add remove switch profile save load; do
	check "$verb without arguments" status 3 "$verb"
	check "$verb of a name that is none" status 3 "$verb" ../web start end
done
for verb in run add switch stat top doctor persist; do
	check "$verb with an unknown option" status 3 "$verb" --dance
done
check "run without a command" status 3 run web --
check "add of no process" status 3 add web 12x
check "switch to nowhere" status 3 switch back web
check "switch: the order of words" status 3 switch web start
check "switch --wait start" status 3 switch --wait start web
check "switch of an app that is not there" status 1 switch start nobody
check "profile of an app that is not there" status 1 profile nobody
check "profile sideways" status 3 profile sideways web
check "save of an app that is not there" status 1 save nobody
check "load of an app that is not there" status 1 load nobody
check "load of a file that is not there" status 1 load web "$scratch/nothing"
check "stat of an app that is not there" status 1 stat nobody
check "stat of a name that is none" status 3 stat a/b
check "top with a delay of 0" status 3 top --delay 0
check "top with a count of 0" status 3 top --count 0
check "top with a word" status 3 top web
check "doctor with a word" status 3 doctor web
check "persist with a word" status 3 persist web

check "add" status 0 add web "$pid"
check "add makes the app" got "$root/sys/kernel/mm/asap/apps/create" web
check "add lets the process join" got "$app/procs" "$pid"
check "remove" status 0 remove web
check "remove names the app" got "$root/sys/kernel/mm/asap/apps/remove" web
check "run gives the command's status" status 7 run web -- sh -c 'exit 7'
check "run of what is not there" status 127 run web -- "$scratch/nothing"
check "run of what is no program" status 126 run web -- /dev/null
fake
check "switch start" status 0 switch start web
check "switch start is told" got "$app/switch" start
check "profile start" status 0 profile start web
check "profile start is told" got "$app/profile" start
fake
check "profile shows the progress" says '^2/10$' profile web
check "stat has a line for the app" says '^web  *1  *2  *1234 ' stat
check "stat shows a figure that it does not know" says '^  novel_figure  *7$' stat web
check "stat shows last and total on one line" says '^  window_us  *1234  *5678$' stat web
check "top shows memory" says '^web  *idle  *100  *90  *80  *2 ' top --count 1
check_json "stat --json fits the schema" stat --json
check_json "stat --json of an app fits the schema" stat --json web
check_json "meminfo --json fits the schema" meminfo --json "$pid"
check_json "doctor --json fits the schema" doctor --json

check "save" saves
check "save to a file" status 0 save web "$scratch/copy"
check "save to the standard output" says '^end 0 0' save web -
check "save that fails leaves the old file" keeps_old
fake
check "load without a table" status 0 load web
put_table
check "load" status 0 load web
check "load gives the table" got "$app/candidates" "$(table)"
fake
put_table
chmod 644 "$ASAPCTL_STATE/web.table"
check "a table that others may read is set aside" set_aside
fake
ln -s /dev/null "$ASAPCTL_STATE/web.table"
check "a link is set aside" set_aside
fake
head -c 20 <(table) >"$ASAPCTL_STATE/web.table"
chmod 600 "$ASAPCTL_STATE/web.table"
check "a table without its end is set aside" set_aside
fake
check "persist loads and saves" persists

fake
check "doctor finds nothing" says '^nothing found$' doctor
check "doctor's exit status then" status 0 doctor
echo 0 >"$root/sys/kernel/mm/asap/enabled"
check "doctor: ASAP is off" finds enabled
fake
echo 3 >"$root/proc/sys/vm/page-cluster"
check "doctor: readahead in zram" finds page-cluster
fake
echo 'Filename Type Size Used Priority' >"$root/proc/swaps"
check "doctor: no swap" finds swap
fake
echo '/dev/sda2 partition 1000 10 200' >>"$root/proc/swaps"
check "doctor: zram comes second" finds swap-priority
fake
echo 'none /sys sysfs rw 0 0' >"$root/proc/mounts"
check "doctor: no cgroup v2" finds cgroup2
fake
chmod 755 "$root/state"
check "doctor: an open state folder" finds state
fake
sed -i 's/^processes .*/processes 0/' "$app/stat"
check "doctor: an app without a process" finds app-empty
fake
sed -i 's/^total_timeouts .*/total_timeouts 2/' "$app/stat"
check "doctor: nobody ends switches" finds app-timeouts
fake
rm "$app/candidates"
check "doctor: a kernel that fetches no files" finds file-option
check_json "doctor --json with a finding fits the schema" doctor --json
fake
sed -i 's|/sys |/somewhere\\040else |' "$root/proc/mounts"
mkdir "$root/somewhere else"
mv "$root/sys/kernel" "$root/somewhere else/"
check "sysfs is found through /proc/mounts" status 0 stat web
rm -r "$root/somewhere else/kernel"
for args in "run a -- true" "add a" "remove a" "switch end a" "profile a" "save a" "load a" \
	stat top persist doctor; do
	# shellcheck disable=SC2086 # words
	check "${args%% *} on a kernel without ASAP" status 2 $args
done
one_line() {
	[ "$("$ctl" stat 2>&1 | wc -l)" = 1 ]
}
check "a kernel without ASAP: one line" one_line
check "doctor says that the kernel has none" says "^kernel: " doctor
check_json "doctor --json on a kernel without ASAP fits the schema" doctor --json
unset ASAPCTL_ROOT ASAPCTL_STATE

check "the man page has every verb" documented "$here/asapctl.8"
check "the completion has every verb" documented "$here/asapctl.bash"
check "the completion completes" completes
if command -v groff >/dev/null; then
	check "the man page formats without a warning" formats
else
	n=$((n + 1))
	echo "ok $n the man page formats without a warning # SKIP no groff"
fi
if command -v musl-gcc >/dev/null; then
	check "it builds with musl" make -s -C "$here" CC=musl-gcc LDFLAGS=-static \
		O="$scratch/musl"
	ctl=$scratch/musl/asapctl
	check "what musl made runs" status 0 help
else
	n=$((n + 1))
	echo "ok $n it builds with musl # SKIP no musl-gcc"
fi
echo "1..$n"
exit $failed
