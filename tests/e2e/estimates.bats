#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# estimates.bats: system calls that were not traced are estimated, and it is told.
# Parallel: what this recorder takes counts, not what others do.

load common

# Records so many reads and writes of one byte, of which only some are traced.
record_blocks() { # BLOCKS
	# A quarter of a percent of one CPU: a fifth of a second's worth is saved up, these take longer.
	record -F 0 --max-overhead "$(awk -v n="$(nproc)" 'BEGIN {p = 0.25 / n; print p < 0.01 ? 0.01 : p}')" \
		-- dd if=/dev/zero of=/dev/null bs=1 count="$1" status=none
	"$GCPROF" report --json >estimate.json
	jq -c '{syscall_coverage, syscall_windows, syscall_traced_ns, syscall_untraced_ns}, .syscalls[0, 1]' estimate.json
}

# The machine may do other things in windows than in gaps: three times as far is near enough.
is_near() { # BLOCKS
	jq -e --argjson truth "$1" '.syscall_coverage < 1 and
		([.syscalls[] | select(.name == "read" or .name == "write")] |
		all(.count_low / 3 <= $truth and $truth <= .count_high * 3))' estimate.json
}

@test "the estimate of a known number of calls holds, in the report, JSON, SQL and text" {
	need_root
	local blocks=2000000
	# Who stops the program just in its windows, or in gaps, does not do so each time.
	for _ in $(seq 4); do
		record_blocks $blocks
		! is_near $blocks || break
	done
	is_near $blocks
	# Windows and gaps are together the recording, with nothing of the time in which it is completed.
	jq -e '.duration_ns - .syscall_traced_ns - .syscall_untraced_ns | . >= 0 and . < 100000000' estimate.json
	jq -e '.duration_ns / 1e6 + 1 >= ([.losses[] | select(.name == "SYSCALLS_UNTRACED").count] | add)' estimate.json
	jq -e --argjson truth $blocks '.syscall_coverage < 1 and .syscall_coverage > 0 and .syscall_untraced_ns > 0 and
		([.syscalls[] | select(.name == "read" or .name == "write")] | length == 2 and
		all(.estimated and .traced_count > 0 and .traced_count < $truth and .traced_count <= .count_low and
			.count_low <= .count and .count <= .count_high))' estimate.json
	same 'SQL' "$("$GCPROF" query -f csv \
		"SELECT count, traced_count, estimated FROM syscall_totals WHERE name = 'write'" | tail -n 1 | tr -d '\r')" \
		"$(jq -r '.syscalls[] | select(.name == "write") | "\(.count),\(.traced_count),1"' estimate.json)"
	same 'windows in SQL' "$("$GCPROF" query -f csv 'SELECT sum(finish - start) FROM call_windows' | tail -n 1 | tr -d '\r')" \
		"$(jq .syscall_traced_ns estimate.json)"
	"$GCPROF" report >text
	tr -s ' \n' ' ' <text | grep -q 'System calls were traced for .* ~ marks estimates'
	grep -qE '^ +(~|≥ )[0-9.,]+ ?[kM]? .* write$' text
	# Each of its characters has a form in ASCII.
	LC_ALL=C "$GCPROF" report >ascii
	run grep -F '\u{' ascii
	same 'characters without a form' "$output" ''
	"$GCPROF" info | grep -q 'system calls traced for .* their totals are estimates'
	# One of each is exact where all were traced.
	record --max-overhead off -F 0 -o all.data -- dd if=/dev/zero of=/dev/null bs=1 count=1000 status=none
	ask '[.syscall_coverage == 1, (.syscalls[] | select(.name == "write") | .count, .estimated)] | join(" ")' all.data |
		grep -qx 'true 1000 false'
	"$GCPROF" diff all.data gcprof.data >changes
	grep -q 'system calls' changes
}

# CPU time of all processes in the profile, ms, while system calls were traced or were not.
cpu_ms() { # traced_ns|untraced_ns
	"$GCPROF" dump | jq -s --arg which "$1" '[.[] | select(.record == "call_cpu")] |
		map(.[$which]) | add / 1e6 | floor'
}

@test "long: the CPU time of windows and gaps is together what the kernel says that the program used" {
	need_root
	local used traced untraced
	record -F 0 --max-overhead "$(awk -v n="$(nproc)" 'BEGIN {p = 0.25 / n; print p < 0.01 ? 0.01 : p}')" \
		-- bash -c 'TIMEFORMAT="%U %S"; time dd if=/dev/zero of=/dev/null bs=1 count=2000000 status=none'
	used=$(awk 'NF == 2 && $1 + $2 > 0 {print int(($1 + $2) * 1000)}' record.log)
	traced=$(cpu_ms traced_ns) untraced=$(cpu_ms untraced_ns)
	echo "used $used ms; traced $traced ms, untraced $untraced ms"
	[ "$traced" -gt 0 ]
	[ "$untraced" -gt 0 ]
	# The shell has some ms as well.
	[ "$((traced + untraced))" -ge "$((used * 98 / 100 - 10))" ]
	[ "$((traced + untraced))" -le "$((used * 102 / 100 + 50))" ]
	# No window has more than a CPU had time: dd is one thread, the shell waits for it.
	"$GCPROF" dump | jq -es '[.[] | select(.record == "call_window") | .end - .begin] | add' >traced_windows
	[ "$traced" -le "$(awk '{print int($1 / 1e6 * 1.02) + 20}' traced_windows)" ]
}

@test "long: the time of calls that wait longer than a window is estimated, too" {
	need_root
	record -F 0 --max-overhead "$(awk -v n="$(nproc)" 'BEGIN {print 1 / n}')" -- sh -c \
		'dd if=/dev/zero of=/dev/null bs=1 status=none & perl -e "select(undef, undef, undef, .04) for 1 .. 100"; kill $!'
	"$GCPROF" report --json >estimate.json
	# Windows take some 10 ms: hardly one of these begins and ends in the same.
	jq -c '{syscall_coverage, syscall_windows}, (.syscalls[] | select(.name | test("select")))' estimate.json
	jq -e '.syscall_coverage < 0.6 and ([.syscalls[] | select(.name | test("select"))] | length == 1 and
		(.[0] | .total_low_ns <= 4e9 and 4e9 <= .total_high_ns and
			(.traced_count < 20 or (.total_ns > 2.8e9 and .total_ns < 5.6e9))))' estimate.json
}

@test "a call that a program was in before it was recorded counts from then on" {
	need_root
	# The first window ends while most of these threads are in the call that they are in now.
	python3 -c 'import os, threading, time
def sleeper(n):
	time.sleep(n / 20)
	while True: time.sleep(1.5)
for n in range(20): threading.Thread(target=sleeper, args=(n,), daemon=True).start()
while True: os.getppid()' &
	started+=($!)
	sleep 1.2
	# A window that closed late is paid for before the next one opens.
	begin_recording -F 0 --max-overhead 0.5 -p $!
	sleep 3
	wait_until has_stored call_window 8
	end_recording
	"$GCPROF" report --json >estimate.json
	# Figures of each second divide no window that has just begun: a part of it says little of its gap.
	"$GCPROF" dump | jq -es '[.[] | select(.record == "call_window")] | length > 5 and
		([.[:-2], .[1:-1], .[2:]] | transpose | all(.[0].end == .[1].begin or .[1].end < .[2].begin))'
	jq -c '{syscall_coverage, duration_ns}, (.syscalls[] | {name, count, total_ns, total_low_ns, total_high_ns})' estimate.json
	# 20 threads sleep all the time.
	jq -e '.syscall_coverage < 0.9 and (20 * .duration_ns) as $ns | [.syscalls[] | select(.name == "clock_nanosleep")] |
		length == 1 and (.[0] | .total_low_ns < $ns and $ns < .total_high_ns and
			.total_ns > $ns / 2 and .total_ns < $ns * 2)' estimate.json
}

@test "a call that a thread is in when it is attached to counts from the begin of the recording" {
	need_root
	python3 -c 'import time
while True: time.sleep(1)' &
	started+=($!)
	wait_until grep -q '^230 ' /proc/$!/syscall # clock_nanosleep()
	record --max-overhead off --duration 1.8 -p $!
	# But for what it waits for a CPU between two calls.
	holds '.duration_ns as $ns | .threads[0] as $thread | [.syscalls[] | select(.name == "clock_nanosleep").total_ns - $ns |
		. < 1e7 and . > -1e7 - $thread.cpu_ns - $thread.queued_ns] == [true]'
}
