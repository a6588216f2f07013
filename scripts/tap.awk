# SPDX-License-Identifier: GPL-2.0
#
# Sum TAP and KTAP files, a suite each. A suite's last line must be
# "# exit-status N", which whoever ran it appends: without it the suite did not
# run to its end, which counts as a failure.
#
# usage: awk -f tap.awk [-v prefix=DIR/] FILE...
#
# Nested results (KTAP) are counted where they are finest. Prints a line for each
# suite, the lines of each failure, the reason of each skip, and at the end
# "N passed, N failed, N skipped". The exit status is 1 when anything failed.

function complain(what) {
	failed++; bad++
	printf "  FAILED %s: %s\n", suite, what
}

function skip(what, reason) {
	if (reason == "") {
		complain(what " was skipped without saying why")
		return
	}
	skipped++; left++
	printf "  skipped %s: %s: %s\n", suite, what, reason
}

function start() {
	suite = FILENAME
	sub(/\.tap$/, "", suite)
	if (prefix != "" && index(suite, prefix) == 1)
		suite = substr(suite, length(prefix) + 1)
	good = bad = left = top = notes = 0
	plan = status = ""
	split("", deeper); split("", deeper_bad)
}

function check_plan() {
	if (plan != "" && plan != top)
		complain("planned " plan " tests, reported " top)
}

function finish() {
	if (status == "")
		complain("did not run to its end")
	else if (status != 0 && status != 4 && bad == 0)
		complain("exit status " status " though no test failed")
	check_plan()
	if (good + bad + left == 0)
		complain("reported no test")
	printf "%s: %d passed, %d failed, %d skipped\n", suite, good, bad, left
}

FNR == 1 {
	if (suite != "")
		finish()
	start()
}

{
	line = $0
	match(line, /^ */)
	indent = RLENGTH
	text = substr(line, indent + 1)
}

text ~ /^# exit-status [0-9]+$/ { status = $3 + 0; next }
# One suite may print several documents, a plan each.
indent == 0 && text ~ /^TAP version/ { check_plan(); plan = ""; top = 0; next }
text ~ /^Bail out!/ { complain(text); next }

indent == 0 && text ~ /^1\.\.[0-9]+/ {
	plan = substr(text, 4) + 0
	if (plan == 0) {
		reason = text
		if (!sub(/^.*# *[Ss][Kk][Ii][Pp]:? */, "", reason))
			reason = ""
		skip("all of it", reason)
	}
	next
}

text ~ /^(not )?ok( |$)/ {
	if (indent == 0)
		top++
	# A result that closes a deeper block only sums that block up.
	sums = deeper[indent]
	sums_bad = deeper_bad[indent]
	is_bad = text ~ /^not ok/
	for (i = 0; i < indent; i++) {
		deeper[i] = 1
		if (is_bad)
			deeper_bad[i] = 1
	}
	deeper[indent] = deeper_bad[indent] = 0
	name = text
	sub(/^(not )?ok *[0-9]* *-? */, "", name)
	if (sums && (!is_bad || sums_bad)) {
		notes = 0
		next
	}
	if (match(name, /# *[Ss][Kk][Ii][Pp]/)) {
		reason = substr(name, RSTART + RLENGTH)
		sub(/^:? */, "", reason)
		name = substr(name, 1, RSTART - 1)
		sub(/ *$/, "", name)
		skip(name, reason)
	} else if (is_bad) {
		complain(name)
		for (i = 0; i < notes; i++)
			print "    " note[i]
	} else {
		passed++; good++
	}
	notes = 0
	next
}

# What a test said before its result.
notes < 40 && text !~ /^(KTAP|TAP) version/ { note[notes++] = line }

END {
	if (suite != "")
		finish()
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit (failed > 0)
}
