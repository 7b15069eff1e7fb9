# SPDX-License-Identifier: BSD-2-Clause
# completion.bash: completes gcprof's verbs, options and their values; all are asked of gcprof itself.

# What an option can be: of a value that is none gcprof says which there are.
_gcprof_values() # VERB OPTION
{
	local said with=()

	[ "$2" != --by ] || with=(--format folded)
	[ "$1" != query ] || with=('SELECT 1')
	[ "$1" != diff ] || with=(. .)
	case "$1 $2" in
	"export -f" | "export --format") gcprof export --format list 2>/dev/null | sed 's/ .*//' ;;
	"diff --fail-if" | "diff --per" | *--sort | *--filter | *--frames | *--runtime | *--agent | *--syscalls | *--stack | *--follow | *--by | *--view | \
		"query -f" | "query --format")
		said=$(gcprof "$1" "${with[@]}" "$2" '?' 2>&1 </dev/null | sed '1!d; s/ ([^)]*)//g')
		said=${said##*" ?: "}
		said=${said##*" are "} said=${said##*"recorded: "} said=${said#either } said=${said##*" can count "}
		sed 's/, / /g; s/ and / /; s/ or / /' <<<"$said" | tr ' ' '\n' |
			if [ "$2" = --filter ]; then sed 's/$/=/'; else sed 's/=.*/=/'; fi ;;
	esac
}

_gcprof()
{
	local current=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} i

	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(gcprof --help 2>/dev/null |
			sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p') --help --version" -- "$current")
		return
	fi
	# What follows "--" is somebody else's command.
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			else
				mapfile -t COMPREPLY < <(compgen -c -f -- "$current")
			fi
			return
		fi
	done
	mapfile -t COMPREPLY < <(compgen -W "$(_gcprof_values "$verb" "${COMP_WORDS[COMP_CWORD - 1]}")" -- "$current")
	if [ "${#COMPREPLY[@]}" != 0 ]; then
		[[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null || true
		return 0
	fi
	case $current in
	-*) mapfile -t COMPREPLY < <(compgen -W "$(gcprof "$verb" --help 2>/dev/null |
		sed -nE 's/^  (-.,)? *(--[a-z-]+).*/\2/p')" -- "$current") ;;
	*) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
	esac
}
complete -o filenames -F _gcprof gcprof
