#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Write the series as patches to mail: the file "series" says the order, the
# subjects and messages, and which paths each step brings.
#
# usage: series.sh [--git DIR] [TREE]
#
# TREE is the kernel to make them against, $ASAP_SOURCE by default. Left in
# $ASAP_OUT/series:
#
#   NNNN-SUBJECT.patch   for git am, and with "series" beside them for quilt
#   cover-letter.txt     for git send-email, before the patches
#
# --git DIR keeps the git repository they were made in: the touched files alone,
# a commit for each step over one for TREE's.
#
# In "series" a line "patch: SUBJECT" begins a step ("cover: SUBJECT" the cover
# letter), "@ PATH" names a file of the kernel that it brings in its final form, or a folder,
# "PATH/", for all in it that is not named more closely; other lines are the
# message. "@ PATH | SCRIPT" brings a stage of the file: what the sed script
# makes of the final form. A later step has to bring the final form. A file of
# the series that no step brings is an error, and so is a name without a file.
#
# The sender is who git says that you are, else the one that MAINTAINERS names.
set -euo pipefail
. "$(dirname "$0")/env.sh"

keep=''
if [ "${1:-}" = --git ]; then
	keep=${2:?--git needs a folder}
	shift 2
	[ ! -e "$keep" ] || die "$keep is there already"
fi
[ $# -le 1 ] || die "usage: series.sh [--git DIR] [TREE]"
tree=${1:-$ASAP_SOURCE}
top=${ASAP_SERIES:-$ASAP_TOP}
[ -f "$top/series" ] || die "$top/series is not there"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
repo=$scratch/repo stage=$scratch/stage steps=$scratch/steps
"$ASAP_TOP/scripts/apply.sh" --stage "$stage" "$tree"
(cd "$stage" && find . -type f | sed 's|^\./||' | sort) >"$scratch/files"

# Each step's message and paths; "PATH", or "PATH<tab>SCRIPT" for a stage.
mkdir "$steps"
awk -v dir="$steps" '
	function fail(why) { print "error: series:" FNR ": " why >"/dev/stderr"; bad = 1; exit 1 }
	/^#/ { next }
	/^(cover|patch): / {
		if (/^cover/ && n != "")
			fail("the cover letter comes first")
		n = sprintf("%04d", /^cover/ ? 0 : n + 1)
		step = dir "/" n
		printf "" >step ".paths"
		sub(/^[a-z]*: /, "")
		print $0 "\n" >step ".message"
		next
	}
	n == """" && NF { fail("text before the first step") }
	/^@ / {
		sub(/^@ */, "")
		sub(/ +\| +/, "\t")
		print >step ".paths"
		next
	}
	n != "" { print >step ".message" }
	END { if (!bad && n == "") { print "error: series has no step" >"/dev/stderr"; exit 1 } }
' "$top/series" || exit 1

# Folders become the files in them that no step names by themselves, nor by a
# deeper folder.
cat "$steps"/*.paths | cut -f 1 | sort -u >"$scratch/named"
errors=0
expand() {
	awk -F '\t' -v errors="$scratch/stale" '
		FILENAME == ARGV[1] { named[$1] = 1; next }
		FILENAME == ARGV[2] {
			file[$0] = 1
			if ($0 in named)
				next
			for (d = $0; sub(/[^\/]*\/?$/, "", d) && d != ""; )
				if (d in named) {
					in_folder[d] = in_folder[d] $0 "\n"
					break
				}
			next
		}
		/\/$/ && NF == 1 {
			if (!($1 in in_folder))
				print $1 >>errors
			printf "%s", in_folder[$1]
			next
		}
		!($1 in file) { print $1 >>errors }
		{ print }' "$scratch/named" "$scratch/files" "$1"
}
: >"$scratch/stale"
for p in "$steps"/*.paths; do
	expand "$p" >"${p%.paths}.files"
done
while IFS= read -r f; do
	say "error: series names $f, and there is no such file"
	errors=1
done < <(sort -u "$scratch/stale")
while IFS= read -r f; do
	say "error: $f is in no step: name it in $top/series"
	errors=1
done < <(cat "$steps"/*.files | cut -f 1 | sort -u | comm -13 - "$scratch/files")

# The last to bring a file brings all of it, and nobody else does.
while IFS=$'\t' read -r what f; do
	say "error: series: $f $what"
	errors=1
done < <(awk -F '\t' '
	$1 in whole && !($1 in told) { print "is named after it came in its final form\t" $1; told[$1] }
	NF == 1 { whole[$1] = 1 }
	{ seen[$1] = 1 }
	END { for (f in seen) if (!(f in whole)) print "never comes in its final form\t" f }
' "$steps"/*.files)
[ $errors = 0 ] || exit 1

# Neither hooks nor settings of whoever runs this change the patches.
name=$(git config user.name || true)
email=$(git config user.email || true)
if [ -z "$name" ] || [ -z "$email" ]; then
	IFS=$'\t' read -r name email < <(sed -n '/^+M:/{s/^+M:\t\(.*\) <\(.*\)>$/\1\t\2/p;q}' \
		"$top/MAINTAINERS.patch" 2>/dev/null) || true
fi
[ -n "$name$email" ] || die "who sends it? Set git's user.name and user.email"
date=$(git -C "$top" log -1 --format=%cD 2>/dev/null) || date='Sun, 17 Nov 2024 22:15:08 +0000'
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=$name GIT_AUTHOR_EMAIL=$email GIT_AUTHOR_DATE=$date
export GIT_COMMITTER_NAME=$name GIT_COMMITTER_EMAIL=$email GIT_COMMITTER_DATE=$date
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

git init -q -b series "$repo"
while IFS= read -r f; do
	[ -f "$tree/$f" ] || continue
	mkdir -p "$repo/$(dirname "$f")"
	cp -p "$tree/$f" "$repo/$f"
done <"$scratch/files"
release=$(kernel_release "$tree")
git -C "$repo" add -Af
git -C "$repo" commit -q --allow-empty -m "Linux $release"
base=$(git -C "$repo" rev-parse HEAD)

for message in "$steps"/*.message; do
	[ "$message" != "$steps/0000.message" ] || continue
	while IFS=$'\t' read -r f script; do
		mkdir -p "$repo/$(dirname "$f")"
		if [ -n "$script" ]; then
			sed "$script" "$stage/$f" >"$scratch/stage-of-file" ||
				die "series: $f: sed does not take: $script"
			! cmp -s "$scratch/stage-of-file" "$stage/$f" ||
				die "series: $f: the script changes nothing: $script"
			cp "$scratch/stage-of-file" "$repo/$f"
			chmod --reference="$stage/$f" "$repo/$f"
		else
			cp -p "$stage/$f" "$repo/$f"
		fi
	done <"${message%.message}.files"
	git -C "$repo" add -Af
	! git -C "$repo" diff --cached --quiet ||
		die "series: the step changes nothing: $(head -n 1 "$message")"
	git -C "$repo" commit -q -s --cleanup=strip -F "$message"
done

out=$ASAP_OUT/series
rm -rf "$out"
mkdir -p "$out"
[ ! -f "$steps/0000.message" ] || {
	git -C "$repo" config branch.series.description "$(cat "$steps/0000.message")"
	cover=(--cover-letter --cover-from-description=subject)
}
git -C "$repo" format-patch -q --no-renames --zero-commit --signature="for Linux $release" \
	--numbered --subject-prefix='PATCH 6.12' \
	${cover[@]+"${cover[@]}"} -o "$out" "$base"
[ ! -f "$out/0000-cover-letter.patch" ] || mv "$out/0000-cover-letter.patch" "$out/cover-letter.txt"
(cd "$out" && printf '%s\n' [0-9]*.patch) >"$out/series"
[ -z "$keep" ] || cp -r "$repo" "$keep"
say "series: $(wc -l <"$out/series") patches against Linux $release in $out"
