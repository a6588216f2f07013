# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of asapctl for bash: source it, or install it as asapctl in
# /usr/share/bash-completion/completions.

_asapctl_apps() {
	local app
	for app in /sys/kernel/mm/asap/apps/*/; do
		[ ! -d "$app" ] || basename "$app"
	done
}

_asapctl() {
	local word=${COMP_WORDS[COMP_CWORD]} words
	if [ "$COMP_CWORD" = 1 ]; then
		words="run add remove switch profile save load stat top meminfo doctor persist help"
	else
		case ${COMP_WORDS[1]} in
		run | add)	words="--load $(_asapctl_apps)" ;;
		remove | save | load) words=$(_asapctl_apps) ;;
		switch)		words="--wait start end $(_asapctl_apps)" ;;
		profile)	words="start stop $(_asapctl_apps)" ;;
		stat)		words="--json $(_asapctl_apps)" ;;
		top)		words="--delay --count" ;;
		meminfo)	words="--json --watch --count" ;;
		doctor)		words=--json ;;
		persist)	words=--delay ;;
		help)		words="run add remove switch profile save load stat top meminfo doctor persist" ;;
		*)		words= ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _asapctl asapctl
