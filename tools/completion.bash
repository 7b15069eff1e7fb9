# SPDX-License-Identifier: BSD-2-Clause
# completion.bash: completes gcprof's verbs and options; both are asked of gcprof itself.

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
	case $current in
	-*) mapfile -t COMPREPLY < <(compgen -W "$(gcprof "$verb" --help 2>/dev/null |
		sed -nE 's/^  (-.,)? *(--[a-z-]+).*/\2/p')" -- "$current") ;;
	*) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
	esac
}
complete -o filenames -F _gcprof gcprof
