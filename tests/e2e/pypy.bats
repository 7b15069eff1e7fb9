#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# pypy.bats: functions of unchanged PyPy programs, beside what they know of themselves.
# Parallel: no other recorder matters.

load common

PROGRAMS=$BATS_TEST_DIRNAME/programs

need_pypy() {
	need_root
	command -v pypy3 >/dev/null || skip 'pypy3 is not installed'
}

# Functions have the parts of the CPU time that the program says, within 6 points: a busy machine keeps some from their ticks.
has_parts() { # OUTPUT [POINTS]
	read_report gcprof.data
	jq -e --slurpfile said "$1" --argjson points "${2:-6}" '
		([.functions[] | select(.file // "" | test("/parts.py$|^<made>$")) | {(.name): .cpu_total_ns}] | add) as $seen |
		$said[0] as $said | ([$said | keys[] | $seen[.]] | add) as $all |
		[$said | to_entries[] | {key, said: .value, seen: ($seen[.key] / $all)}] |
		if all(.said - .seen | fabs * 100 < $points) then true else tostring | halt_error end' .report.json
}

# Most CPU time is in functions with names. Modules that PyPy imports at its start are gone before theirs are read.
all_have_names() {
	holds '(.cpu.on_cpu_ns - .cpu.recording_ns) as $all |
		([.functions[] | select(.name == "main" and (.file // "" | endswith("parts.py")))] | first.cpu_total_ns) > 0.5 * $all and
		([.functions[] | select(.name | startswith("[jit]")) | .cpu_total_ns] | add // 0) < 0.3 * $all'
	holds '(.stacks.unfinished.managed_torn // 0) <= 0.01 * .stacks.samples'
}

@test "compiled functions have their shares of the CPU time" {
	need_pypy
	record -F 4999 -- pypy3 "$PROGRAMS/parts.py" 2 plain
	has_parts out
	all_have_names
	are_whole 1000
	line=$(grep -n '^def light' "$PROGRAMS/parts.py")
	holds "[.functions[] | select(.name == \"light\")][0].line == ${line%%:*}"
	holds '[.functions[] | select(.name == "light")][0] | .runtime == "managed" and .cpu_self_ns > 0.8 * .cpu_total_ns'
	# They are where they were called; one that the interpreter entered before it was compiled is there once.
	"$GCPROF" export -f folded -o - >stacks
	grep -E '^pypy3[^;]*;.*;<module>;(.*;)?main;(.*;)?run;(.*;)?heavy;(.*;)?inner ' stacks
	absent ';inner;(.*;)?inner ' stacks
	"$GCPROF" report --frames managed --top 1000 | grep -E ' heavy +'
	"$GCPROF" report | tr -s '\n ' ' ' >report
	grep -F 'runtime pypy: no allocation samples' report
	absent perf-basic-prof report
}

@test "interpreted functions have their shares" {
	need_pypy
	record -F 4999 -- pypy3 --jit off "$PROGRAMS/parts.py" 2 plain
	has_parts out
	all_have_names
	are_whole 1000
	"$GCPROF" export -f folded -o - | grep -E ';<module>;[^;]*(;[^;]+)*;main;.*;run;.*;heavy;.*;inner;'
}

@test "long: generators, recursion, callbacks from C and code made by exec have their shares" {
	need_pypy
	record -F 4999 -- pypy3 "$PROGRAMS/parts.py" 2 ways
	has_parts out
	"$GCPROF" export -f folded --frames managed -o - >stacks
	grep -E ';generates;(.*;)?numbers;inner ' stacks
	grep -E ';sorts;(.*;)?key;inner ' stacks
	grep -E ';recurses;fib ' stacks
}

@test "long: functions have their shares in threads, each of which has a list" {
	need_pypy
	record -F 4999 -- pypy3 "$PROGRAMS/parts.py" 3 threads
	# Ticks favour some of several threads that take turns.
	has_parts out 7
}

@test "long: functions of a program that runs already" {
	local pid
	need_pypy
	pypy3 "$PROGRAMS/parts.py" 6 plain >said &
	started=($!)
	pid=${started[0]}
	wait_on "$pid" 100
	record -F 1999 -p "$pid"
	wait "$pid"
	all_have_names
	holds '[.functions[] | select(.name | IN("heavy", "light", "parse")) | {(.name): .cpu_total_ns}] | add |
		.heavy > 1.5 * .light and .parse > 0'
}

@test "functions of forked processes have names" {
	need_pypy
	record -F 4999 -- pypy3 "$PROGRAMS/parts.py" 1.5 fork
	[ "$(wc -l <out)" -eq 2 ]
	same processes "$(found_in process inner)" 2
	all_have_names
}

@test "system calls have the functions that made them" {
	need_pypy
	record -- pypy3 "$PROGRAMS/parts.py" 0.3 waits
	holds '[.functions[] | select(.name == "waits")][0].syscall_ns > 100e6'
}

@test "where functions are listed is found in code, and nothing is if its uses differ" {
	local ways
	need_root
	for ways in 1 2; do
		gcc -O2 -rdynamic -s -DLISTS=$ways "$PROGRAMS/sections.c" -o sections
		"$GCPROF" doctor --json ./sections >doctor.json
		same stacks "$(jq '.[0].records.stacks' doctor.json)" "$([ $ways = 1 ] && echo true || echo false)"
	done
	# A list that is none.
	record -F 0 -- ./sections
}
