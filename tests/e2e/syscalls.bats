#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# syscalls.bats: which system calls are counted and recorded, with what; compared with strace.

load common

# Calls of a name in the report.
count() { # NAME
	ask "[.syscalls[] | select(.name == \"$1\") | .count] | add // 0"
}

@test "32-bit calls are of another table" {
	need_root
	record -- "$WORKLOADS/calls" compat
	same 'getpid by int 0x80' "$(count syscall32_20)" 100
	same getpid "$(count getpid)" 100
	same writev "$(count writev)" 0
}

@test "calls that a signal interrupts, and the handler's return" {
	need_root
	record -- "$WORKLOADS/calls" restart
	same kill "$(count kill)" 10
	# Each signal either interrupts the read or comes before it; each handler returns once.
	handled=$(count rt_sigreturn)
	[ "$handled" -ge 1 ] && [ "$handled" -le 10 ]
	reads=$(count read)
	[ "$reads" -ge 2 ] && [ "$reads" -le $((handled + 2)) ]
}

@test "vfork: parent and child each have their own calls" {
	need_root
	record -- "$WORKLOADS/calls" vfork
	same vfork "$(count vfork)" 10
	same 'execve: ours and ten children' "$(count execve)" 11
	same wait4 "$(count wait4)" 10
	holds '.syscalls[] | select(.name == "exit_group") | .count == 11 and .errors == 0'
}

@test "calls that never return are counted: exit_group, and what other threads were in" {
	need_root
	record -- "$WORKLOADS/calls" open
	same pause "$(count pause)" 5
	same exit_group "$(count exit_group)" 1
	# 50 ms each.
	holds '.syscalls[] | select(.name == "pause") | .total_ns >= 250000000'
}

@test "paths, descriptors and sizes are recorded; --no-args leaves them out" {
	need_root
	record --syscall-rate 100000 -- "$WORKLOADS/calls" files
	"$GCPROF" dump >dump.jsonl
	jq -es '(map(select(.record == "string" and .text == "/nowhere/at/all"))[0].id) as $id |
		[.[] | select(.record == "syscall" and .path == $id and .result == -2)] | length == 100' dump.jsonl
	jq -es '[.[] | select(.record == "syscall" and .number == 0 and .arg2 == 1234 and .result == 1234)] |
		length == 100' dump.jsonl
	record --no-args --syscall-rate 100000 -- "$WORKLOADS/calls" files
	"$GCPROF" dump >dump.jsonl
	jq -es '[.[] | select(.record == "syscall") | .arg0, .arg1, .arg2, .path] | max == 0' dump.jsonl
	absent /nowhere/at/all dump.jsonl
	holds '.slow_calls[] | .text | test("^[a-z0-9_]+\\(...\\)")'
}

@test "--syscalls: all, slow, count, off" {
	need_root
	for mode in all slow=10ms count; do
		record --syscalls "$mode" -- "$WORKLOADS/calls" files
		same "$mode: errors" "$(ask '.syscalls[] | select(.name == "openat") | .errors')" 100
	done
	same 'recorded with count' "$(ask .streams.syscall.events)" 0
	record --syscalls slow=4ms -- "$WORKLOADS/waits" sleep 10
	same 'recorded with slow' "$("$GCPROF" dump | grep '"syscall"' | grep -c '"number":230')" 10
	record --syscalls off -- "$WORKLOADS/calls" files
	holds '.streams.syscall | .attached == false and (.why_not | test("--syscalls off"))'
	holds '.syscalls == []'
	run "$GCPROF" record --syscalls some -- /bin/true
	same status "$status" 2
	[[ $output == *'all, slow=TIME, count or off'* ]]
}

@test "--syscalls off does not keep --off-cpu from working" {
	need_root
	record --syscalls off --off-cpu -- "$WORKLOADS/waits" sleep 10
	holds '.waits[] | select(.name == "clock_nanosleep") | .count >= 5 and .count <= 10'
	# Of 50 ms in all: what takes the CPU from it just before it sleeps makes a wait shorter.
	holds '.functions[] | select(.name == "do_sleep") | .off_cpu_ns > 25000000'
}

@test "--syscall-stacks: every recorded call has a stack" {
	need_root
	record --syscall-stacks --syscall-rate 100000 -- "$WORKLOADS/calls" files
	"$GCPROF" dump >dump.jsonl
	jq -es '[.[] | select(.record == "syscall" and .number == 0 and .arg2 == 1234)] |
		length == 100 and all(.stack > 0)' dump.jsonl
}

@test "counts are strace's" {
	need_root
	command -v strace >/dev/null || skip 'strace is not installed'
	for way in compat vfork files; do
		strace -f -qq -o trace "$WORKLOADS/calls" "$way"
		record -- "$WORKLOADS/calls" "$way"
		for call in openat read close execve wait4 vfork mmap exit_group; do
			same "$way: $call" "$(count $call)" "$(grep -cE "^[0-9]+ +$call\(" trace)"
		done
	done
}

@test "the longest calls are shown with their arguments" {
	need_root
	record -- "$WORKLOADS/waits" sleep 3
	# Others may have been longer, where somebody else had the CPU meanwhile; not seventeen.
	holds '[.slow_calls[].duration_ns] | . == (sort | reverse)'
	holds '[.slow_calls[] | select(.text | test("^clock_nanosleep\\(0, 0x0, 0x[0-9a-f]+\\) = 0$")) |
		.duration_ns] | length == 3 and min >= 5000000'
	# One of these waits for the other to open it.
	mkfifo fifo
	record -- sh -c '(sleep 0.1; : >fifo) & exec cat fifo'
	holds '.slow_calls[] | select(.text | test("^openat\\(AT_FDCWD, \"fifo\", 0x[0-9a-f]+\\) = [0-9]+$"))'
	"$GCPROF" report --syscalls | grep -q 'Longest system calls'
}
