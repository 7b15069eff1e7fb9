#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# python.bats: unchanged Python programs, beside what they know of themselves.
# Parallel: no other recorder matters.

load common

PYTHON=/usr/bin/python3
PROGRAMS=$BATS_TEST_DIRNAME/programs

need_python() {
	need_root
	"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip 'there is no Python 3.11'
}

# The collections are those that the program's own callbacks had in a span of time, which it prints.
holds_collections() { # FILE
	local begin end zero one two unreachable
	read -r begin end zero one two unreachable <"$1"
	[ "$zero" -gt 10 ] && [ "$one" -gt 10 ] && [ "$two" -gt 10 ]
	same collections "$("$GCPROF" query "SELECT name, count(*), sum(unreachable) FROM collections
		WHERE start BETWEEN $begin AND $end GROUP BY name ORDER BY name" 2>/dev/null |
		awk '/^ *(automatic|generation)/ { counts = counts $(NF - 1) " "; all += $NF } END { print counts all }')" \
		"$zero $one $two $unreachable"
}

@test "collections are those of gc.callbacks" {
	need_python
	record -F 0 -- "$PYTHON" "$PROGRAMS/cycles.py" 0.3
	holds_collections out
	holds '.gc.named | map(.name) | sort == ["generation 0", "generation 1", "generation 2"]'
	# Each has the memory of the process, here some 10 MB.
	same 'collections with that' "$("$GCPROF" query "SELECT count(*) = count(rss_bytes), min(rss_bytes) > 4e6,
		max(rss_bytes) < 1e8 FROM collections" 2>/dev/null | tail -n 1 | xargs)" '1 1 1'
	"$GCPROF" report >report.txt
	grep -E "^ *runtime cpython $("$PYTHON" -c 'import platform; print(platform.python_version())')" report.txt
	# It has no samples, so that is not said of each pause.
	absent 'was sampled' report.txt
	grep -F ", $(ask '.gc.minor.count + .gc.major.count') gc," record.log
}

@test "long: collections of a Python without notes" {
	need_python
	# Its notes are another provider's.
	sed 's/python\x00gc__/pythox\x00gc__/g' "$(realpath "$(command -v "$PYTHON")")" >python
	chmod +x python
	! cmp -s python "$PYTHON" || skip 'it has none'
	record -F 0 -- ./python "$PROGRAMS/cycles.py" 0.3
	holds_collections out
	strip -o stripped python
	record -F 0 -- ./stripped "$PROGRAMS/cycles.py" 0.3
	holds_collections out
}

# As clang makes it of sources of 3.14. The functions are as far from each other as there.
@test "long: collections of a Python whose PyGC_Collect() ends with a jump to the function that collects" {
	need_root
	printf '%s\n' 'unsigned long Py_Version = 0x030e00f0;' 'char _PyRuntime[4096];' \
		'__attribute__((noipa)) long collects(void *thread, int generation, int reason)' \
		'{ return thread && reason ? generation + 5 : 0; }' \
		'__attribute__((noipa, aligned(4096))) long PyGC_Collect(void) { return collects(_PyRuntime, 2, 1); }' \
		'int main(void) { for (int i = 0; i < 20; i++) PyGC_Collect(), collects(_PyRuntime, 1, 2); }' >jumps.c
	gcc -O2 -rdynamic jumps.c -o jumps
	objdump -d jumps | grep -q 'jmp.*<collects>'
	record -F 0 -- ./jumps
	same collections "$("$GCPROF" query "SELECT name, count(*), sum(unreachable) FROM collections
		GROUP BY name ORDER BY name" 2>/dev/null | tail -n +3 | xargs)" 'generation 1 20 120 generation 2 20 140'
}

@test "a program that only starts Python: collections from its start on" {
	need_python
	echo 'import gc, os
gc.set_threshold(700) # releases differ
kept = [[i] for i in range(100000)]
print(*(g["collections"] for g in gc.get_stats()), flush=True)
os._exit(0)' >keeps.py
	for command in env 'sh -c'; do
		arguments=("$PYTHON" -I -S keeps.py)
		[ "$command" != 'sh -c' ] || arguments=("exec ${arguments[*]}")
		# shellcheck disable=SC2086 # two words
		record -F 0 -- $command "${arguments[@]}"
		same "collections below $command" "$("$GCPROF" query "SELECT count(*) FROM collections
			GROUP BY name ORDER BY name" 2>/dev/null | tail -n +3 | xargs)" "$(cat out)"
		holds '[.losses[] | select(.name == "UNPROBED")] == []'
	done
	# Its child is attached to when it is known.
	record -F 0 -- timeout 100 "$PYTHON" -I -S keeps.py
	said=$(ask '[.losses[] | select(.name == "UNPROBED").count] | add // 0')
	[ "$(ask '.gc.minor.count + .gc.major.count')" = "$(awk '{ print $1 + $2 + $3 }' out)" ] || [ "$said" -gt 0 ]
}

@test "a script that starts Python: the time before its probes were attached is said" {
	need_python
	printf '#!/bin/sh\nexec %s "$@"\n' "$PYTHON" >script
	chmod +x script
	record -F 0 -- ./script -I -S "$PROGRAMS/cycles.py" 0.3
	holds '[.losses[] | select(.name == "UNPROBED") | .severity, .unit, .count > 0] == ["gap", "milliseconds", true]'
	grep -q 'passed before their probes were attached' record.log
	# It is no number of events.
	grep -q 'nothing lost' record.log
	holds '([.streams[].lost] | add) == 0 and [.warnings[] | select(.name == "lost_data")] == []'
	same losses "$("$GCPROF" info --json | jq -c '[.losses[] | select(.name == "UNPROBED") | .unit, .severity]')" \
		'["milliseconds","gap"]'
}

@test "queries have lines, and sources instead of where code is made" {
	need_python
	printf '%s\n' 'def spin():' '    for i in range(10000000):' '        pass' 'spin()' >spins.py
	record -- "$PYTHON" spins.py
	"$GCPROF" query --format csv "SELECT DISTINCT frames.runtime, frames.line, functions.module FROM frames
		JOIN functions ON functions.id = function WHERE name = 'spin' ORDER BY 2" | tr -d '\r' >lines
	grep -x "managed,[23],$PWD/spins.py" lines
	same lines "$(grep -cvx "managed,[23],$PWD/spins.py" lines)" 1
	"$GCPROF" query --format csv "SELECT DISTINCT inlined.line > 0 FROM inlined
		JOIN functions ON functions.id = function WHERE name = 'spin'" | grep -x '1.\?'
	holds '[.functions[] | select(.module == "[jit]")] == []'
}

@test "collections of a program that runs already, and no longer than it is recorded" {
	local pid
	need_python
	"$PYTHON" "$PROGRAMS/cycles.py" 1000 >said &
	started=($!)
	pid=${started[0]}
	wait_busy "$pid"
	record_until gc_begin 200 -F 0 -p "$pid"
	holds '.gc.minor.count > 10 and .gc.major.count > 10 and .gc.unreachable_objects > 1000'
	wait_on "$pid" 20
	kill "$pid"
	wait "$pid"
	[ "$(awk '{ print $3 + $4 + $5 }' said)" -gt "$(ask '.gc.minor.count + .gc.major.count')" ]
}

@test "doctor says what there is, --runtime leaves it out" {
	need_python
	"$GCPROF" doctor --json "$PYTHON" >doctor.json
	jq -e '.[0] | .runtime == "cpython" and (.version | test("^3[.]")) and .records.pauses' doctor.json
	record --runtime go -- "$PYTHON" -c 'import gc; gc.collect()'
	holds '.streams.gc.attached | not'
}

# Is a number within 0.1 of another?
near() { # WHAT LEFT RIGHT
	awk -v a="$2" -v b="$3" 'BEGIN { exit !(a - b < 0.1 && b - a < 0.1) }' && return 0
	echo "$1: $2, not $3"
	return 1
}

# Functions and lines of hot.py have the parts of the CPU time that it says, all of it in run(). With the
# 400 samples that they have at least chance makes a part 0.1 too large or small, and then there is what
# a program is charged for while the host has taken its CPU.
holds_shares() {
	local said first second
	read -r said first second <<<"$(tail -n 1 out)"
	near functions "$(ask '[.functions[] | select(.file // "" | endswith("hot.py")) |
		{(.name): .cpu_total_ns}] | add | .one / (.one + .two)')" "$said"
	near lines "$("$GCPROF" dump | "$PYTHON" "$PROGRAMS/lines.py" share "$first" "$second")" "$said"
	holds '([.functions[] | select(.file // "" | endswith("hot.py")) | {(.name): .cpu_total_ns}] | add) as $of |
		$of.share > 0.99 * ($of.one + $of.two) and $of.run >= $of.share'
	are_whole 400
	# A sample may fall between two writes of the interpreter.
	holds '(.stacks.unfinished.managed_torn // 0) <= 1 + 0.002 * .stacks.samples'
}

hot() { # WAY
	need_python
	record -F 1999 -- "$PYTHON" "$PROGRAMS/hot.py" 1 "$1"
	holds_shares
}

@test "functions and lines have their shares of the CPU time" {
	hot plain
	# Its loop is not the interpreter's, but the function's that runs, but for some ms at its start.
	holds '.cpu.on_cpu_ns as $all |
		([.functions[] | select(.name == "_PyEval_EvalFrameDefault").cpu_total_ns] | add // 0) < 0.2 * $all and
		([.functions[] | select(.name == "leaf")][0] | .cpu_self_ns > 0.1 * .cpu_total_ns)'
}

# Timer samples in the interpreter's loop, and those of them that have no Python function.
loops() {
	"$GCPROF" query "WITH RECURSIVE walk(tick, frame, parent) AS (
			SELECT ticks.id, frame, parent FROM ticks JOIN stacks ON stacks.id = stack
			UNION ALL SELECT tick, stacks.frame, stacks.parent FROM walk JOIN stacks ON stacks.id = walk.parent),
		each AS (SELECT max(name LIKE '_PyEval_EvalFrame%') AS loop, max(file LIKE '%.py' OR file LIKE '<%') AS python
			FROM walk JOIN frames ON frames.id = frame JOIN functions ON functions.id = function GROUP BY tick)
		SELECT count(*) || ' ' || count(CASE WHEN NOT python THEN 1 END) FROM each WHERE loop OR python" 2>/dev/null | tail -n 1
}

@test "functions are known from the first on" {
	local all without
	need_python
	for _ in {1..10}; do
		record -F 9999 -- "$PYTHON" -c 'import json, argparse, email.message'
		read -r all without <<<"$(loops)"
		echo "$all in the loop, $without without a function"
		[ "$all" -gt 30 ]
		# The recorder may be kept from a CPU for the moment that the interpreter needs to begin.
		[ "$without" -lt $((all / 10 + 1)) ] && return 0
	done
	return 1
}

@test "long: functions have their shares in threads" {
	hot threads
	same threads "$(found_in thread share)" 4
}

@test "long: functions have their shares in generators" {
	hot generators
	"$GCPROF" export -f folded -o - 2>/dev/null | grep -E 'run.*;produce.*;share.*;one;one;one'
}

@test "long: functions have their shares in coroutines" {
	hot coroutines
	"$GCPROF" export -f folded -o - 2>/dev/null | grep -E 'run.*;outer.*;inner.*;share.*;one;one;one'
}

@test "functions have their shares in a program that runs already" {
	local pid
	need_python
	"$PYTHON" "$PROGRAMS/hot.py" 1000 plain >said &
	started=($!)
	pid=${started[0]}
	wait_busy "$pid"
	record_until cpu 1500 -F 1999 -p "$pid"
	holds '.cpu.on_cpu_ns as $all | ([.functions[] | select(.name | IN("one", "two", "run")) |
		{(.name): .cpu_total_ns}] | add) as $of | $of.run > 0.8 * $all and
		($of.one / ($of.one + $of.two) - 0.75 | fabs) < 0.1'
}

@test "long: stacks deeper than the limit are marked, and have their innermost functions" {
	need_python
	record -- "$PYTHON" "$PROGRAMS/hot.py" 1 deep
	holds '.stacks.unfinished.managed_cut > 0.3 * .stacks.samples'
	holds '[.functions[] | select(.name == "leaf")] | length == 1'
	holds '(.cpu.on_cpu_ns - .cpu.recording_ns) as $all | [.functions[] | select(.name | IN("one", "two")) | .cpu_total_ns] | add > 0.6 * $all'
}

@test "long: a script, and an environment of its own" {
	need_python
	"$PYTHON" -m venv --without-pip env || skip 'there is no venv'
	hot plain env/bin/python
	{
		echo "#!$PYTHON"
		cat "$PROGRAMS/hot.py"
	} >script
	chmod +x script
	record -- ./script 0.3 plain
	holds '[.functions[] | select(.name == "share" and (.file | endswith("/script")))] | length == 1'
}

# Functions of subinterpreters lie inside those that entered these, in the first thread and in others.
nests() { # PYTHON
	record -F 2000 -- "$1" "$PROGRAMS/nested.py"
	"$GCPROF" export -f folded -o - 2>/dev/null | awk '
		/inner_function/ { all += $NF; if (/;enters.*;inner_function/) right += $NF
			if (/Thread.*;enters.*;inner_function/) apart += $NF }
		END { print all + 0, right + 0, apart + 0; exit !(right > 0.97 * all && apart > 0.5 * all && apart < 0.8 * all) }'
}

@test "subinterpreters have functions, below those that enter them" {
	need_python
	"$PYTHON" -c 'import _xxsubinterpreters' || skip 'there are none'
	nests "$PYTHON"
}

@test "long: workers that a server forks have functions" {
	local all without
	need_python
	cat >server.py <<'END'
import os, time
def worker():
    end = time.process_time() + 0.6
    while time.process_time() < end:
        sum(range(1000))
    os._exit(0)
for _ in range(3):
    if not os.fork():
        worker()
for _ in range(3):
    os.wait()
END
	record -F 1999 -- "$PYTHON" server.py
	holds '.cpu.on_cpu_ns as $all | [.functions[] | select(.name == "worker") | .cpu_total_ns > 0.5 * $all] == [true]'
	same processes "$(found_in process worker)" 3
	read -r all without <<<"$(loops)"
	echo "$all in the loop, $without without a function"
	[ "$all" -gt 300 ] && [ "$without" -lt $((all / 10)) ]
}

@test "waits, system calls and page faults have functions" {
	need_python
	cat >waits.py <<'END'
import os, time
def reads(fd):
    os.read(fd, 1)
def sleeps():
    time.sleep(0.05)
def touches():
    return bytearray(50 << 20)
read, write = os.pipe()
for _ in range(20):
    sleeps()
    touches()
    os.write(write, b"x")
    reads(read)
END
	# Of 1 s; who has no CPU just before it sleeps may find that its time is over.
	record --off-cpu --faults --syscalls slow=10us -- "$PYTHON" waits.py
	holds '[.functions[] | select(.name == "sleeps") | .off_cpu_ns > 0.4e9 and .syscall_ns > 0.4e9] == [true]'
	holds '[.functions[] | select(.name == "touches") | .faults > 10000] == [true]'
}

@test "long: almost all stacks of compileall are complete" {
	need_python
	mkdir source
	cp -r /usr/lib/python3.*/{*.py,email,json,http} source
	record -- "$PYTHON" -m compileall -q -f source
	are_whole 250
	holds '.cpu.on_cpu_ns as $all | [.functions[] | select(.name == "compile_dir")][0].cpu_total_ns > 0.7 * $all'
}

@test "long: other releases of Python" {
	local other others
	need_python
	mapfile -t others < <(other_pythons 11)
	[ "${#others[@]}" -gt 0 ] || skip 'there are none'
	for other in "${others[@]}"; do
		echo "$other"
		"$GCPROF" doctor --json "$other" | jq -e '.[0] | .runtime == "cpython" and .records.stacks'
		if "$GCPROF" doctor --json "$other" | jq -e '.[0].records.pauses'; then
			record -F 0 -- "$other" "$PROGRAMS/cycles.py" 0.3
			holds_collections out
		fi
		record -F 1999 -- "$other" "$PROGRAMS/hot.py" 1 generators
		holds_shares
		record -- "$other" "$PROGRAMS/hot.py" 0.4 deep
		holds '.stacks.unfinished.managed_cut > 0.3 * .stacks.samples'
		nests "$other"
	done
}

# Two of three wait for it at any time; where others keep one of them from the CPU, that is no such wait.
@test "waits for the global lock have a call of their own" {
	local off waited queued
	need_python
	record --off-cpu -- "$PYTHON" "$PROGRAMS/gil.py" 0.3
	read -r off waited queued <out
	echo "$off ns, $queued without a CPU"
	holds "[.syscalls[] | select(.name == \"futex(GIL)\")] | length == 1 and
		.[0].total_ns > 0.5 * ($off - $queued) and .[0].total_ns < 1.15 * $off"
	holds "[.syscalls[] | select(.name == \"futex\")] | length == 1 and .[0].total_ns > 0.95 * $waited"
	"$GCPROF" query "SELECT count(*) FROM waits WHERE name = 'futex(GIL)' AND stack IS NOT NULL" | grep -qE '^ *[1-9][0-9]'
}
