# SPDX-License-Identifier: GPL-2.0
#
# Split what scripts/guest/tests wrote to the second channel into a TAP file for
# each suite, DIR/NAME.tap with "/" in a name as ".". The kernel's own older
# selftests say it all by their exit status: it becomes their one result.
#
# usage: awk -v dir=DIR -f suites.awk RESULTS

/^@suite / {
	name = $2
	gsub("/", ".", name)
	file = dir "/" name ".tap"
	tap = $2 ~ /^(asap|kunit)\//
	last = ""
	# A file that is empty would not be seen when the results are summed up.
	print "# suite " $2 >file
	next
}

/^@end / {
	if (!tap && $3 == 4)
		print "ok - " $2 " # SKIP " last >file
	else if (!tap)
		print ($3 ? "not " : "") "ok - " $2 >file
	print "# exit-status " $3 >file
	close(file)
	file = ""
	next
}

/^\|/ && file != "" {
	last = substr($0, 2)
	if (last ~ /^ *((not )?ok|1\.\.|TAP|KTAP)/)
		tap = 1
	print last >file
}
