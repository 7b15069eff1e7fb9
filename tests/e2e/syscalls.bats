#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# syscalls.bats: which system calls are counted and recorded, with what; compared with strace.
# Parallel: no other recorder matters.

load common

# Calls of a name in the report.
count() { # NAME
	ask "[.syscalls[] | select(.name == \"$1\") | .count] | add // 0"
}

@test "32-bit calls are of another table" {
	need_root
	"$WORKLOADS/calls" compat || skip 'no 32-bit system calls on this machine'
	record -- "$WORKLOADS/calls" compat
	same 'getpid by int 0x80' "$(count 'getpid (32-bit)')" 100
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
	# Each way to look at single calls shows them as people write them.
	same rows "$("$GCPROF" query --format csv "SELECT count(*) FROM syscalls WHERE path = '/nowhere/at/all' AND
		arguments LIKE 'AT_FDCWD, \"/nowhere/at/all\", %' AND result = -2" | tail -n 1 | tr -d '\r')" 100
	"$GCPROF" export -f firefox -o - 2>/dev/null | gzip -dc | jq -e '[.threads[].markers.data[] |
		select(.arguments? // "" | startswith("AT_FDCWD, \"/nowhere/at/all\", "))] | length == 100'
	same slices "$("$GCPROF" export -f perfetto -o - 2>/dev/null | grep -aoc 'AT_FDCWD, "/nowhere/at/all"')" 100
	record --no-args --syscall-rate 100000 -- "$WORKLOADS/calls" files
	"$GCPROF" dump >dump.jsonl
	jq -es '[.[] | select(.record == "syscall") | .arg0, .arg1, .arg2, .path] | max == 0' dump.jsonl
	absent /nowhere/at/all dump.jsonl
	holds '.slow_calls[] | .text | test("^[a-z0-9_]+\\(...\\)")'
}

# The arguments of calls with a result, each once.
arguments_of() { # CALL RESULT
	"$GCPROF" query --format csv "SELECT DISTINCT arguments FROM syscalls WHERE name = '$1' AND result $2" |
		tr -d '\r' | sed '1d; s/^"//; s/"$//; s/""/"/g'
}

@test "programs that are executed have their path, and flags are words; --no-args leaves them out" {
	need_root
	cat >programs.sh <<-'END'
		exec 5<>opened
		/bin/true
		/nonexistent/program
		exec /bin/true
	END
	: >opened
	record --syscall-rate 100000 -- sh programs.sh || true
	arguments_of execve '= 0' | tee executed
	[ "$(grep -cE '^"/bin/true", 0x[0-9a-f]+, 0x[0-9a-f]+$' executed)" -ge 1 ]
	same shell "$(grep -cE '^"[^"]*/sh", ' executed)" 1
	same addresses "$(grep -vc '^"/' executed)" 0
	arguments_of execve '= -2' | grep -q '^"/nonexistent/program", '
	arguments_of openat '>= 0' | grep -x 'AT_FDCWD, ".*opened", O_RDWR|O_CREAT'
	arguments_of mmap '!= 0' | grep -qE '^0x[0-9a-f]+, [0-9]+, PROT_READ\|PROT_EXEC$'
	same paths "$("$GCPROF" query --format csv "SELECT count(*) FROM syscalls WHERE name = 'execve' AND path = '/bin/true'" | tail -n 1 | tr -d '\r')" 2
	record --no-args --syscall-rate 100000 -- sh programs.sh || true
	same "with --no-args" "$("$GCPROF" query --format csv "SELECT count(*) FROM syscalls WHERE path IS NOT NULL OR arguments IS NOT NULL" | tail -n 1 | tr -d '\r')" 0
}

# "getppid 0", of the functions behind calls that the running kernel has types of.
kernels_calls() {
	bpftool -j btf dump file /sys/kernel/btf/vmlinux | jq -r '(.types | map({key: "\(.id)", value: .}) | from_entries) as $types |
		.types[] | select(.kind == "FUNC" and (.name | startswith("__do_sys_"))) |
		"\(.name[9:]) \($types["\(.type_id)"].params | map(select(.name != "__unused")) | length)"' | LC_ALL=C sort
}

@test "long: calls have the arguments that the kernel knows: other registers are not recorded" {
	need_root
	sed -n 's/^SYSCALL([0-9]*, \(.*\), \([0-9]*\))$/\1 \2/p' "$ROOT/bpf/syscalls_x86_64.def" | LC_ALL=C sort >ours
	kernels_calls | LC_ALL=C join - ours >both
	[ "$(wc -l <both)" -gt 30 ]
	same 'other numbers of arguments' "$(awk '$2 != $3' both)" ''
	gcc -x c -o other - <<-'END'
		#include <sys/syscall.h>
		#include <unistd.h>
		int main(void)
		{
			long base, other = 0x5ec2e700;
			for (int i = 0; i < 100; i++) {
				syscall(SYS_getppid, other, other, other);
				syscall(SYS_setsid, other, other, other);
				syscall(SYS_umask, 022, other, other);
				syscall(SYS_arch_prctl, 0x1003, &base, other);
			}
		}
	END
	record --syscall-rate 100000 --max-overhead off -- ./other
	same getppid "$(arguments_of getppid '!= 0')" ''
	same umask "$(arguments_of umask '= 18')" 0x12
	arguments_of arch_prctl '= 0' | grep -xE '0x1003, 0x[0-9a-f]+'
	"$GCPROF" dump | grep '^{"record":"syscall"' >calls
	[ "$(wc -l <calls)" -ge 400 ]
	absent $((0x5ec2e700)) calls
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
	# Who waits: the callers of the function and the table of functions agree.
	"$GCPROF" report --json --callers do_sleep --sort off-cpu >callers.json
	same 'time off the CPU' "$(jq .root.total_off_cpu_ns callers.json)" \
		"$(ask '.functions[] | select(.name == "do_sleep") | .off_cpu_ns')"
	same 'sorted by' "$(jq -r .sorted_by callers.json)" off_cpu_ns
	"$GCPROF" report --callers do_sleep --sort off-cpu | grep -F 'Callers of do_sleep (by time off the CPU)'
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
	ways='vfork files'
	! "$WORKLOADS/calls" compat || ways+=' compat'
	for way in $ways; do
		strace -f -qq -o trace "$WORKLOADS/calls" "$way"
		record -- "$WORKLOADS/calls" "$way"
		for call in openat read close execve wait4 vfork mmap exit_group; do
			same "$way: $call" "$(count $call)" "$(grep -cE "^[0-9]+ +$call\(" trace)"
		done
	done
}

@test "CPU time of calls: nearly all that dd uses is in reading zeroes, as its own account says" {
	need_root
	record -F 1999 --max-overhead off -- bash -c 'dd if=/dev/zero of=/dev/null bs=1M count=40000 2>/dev/null; cat /proc/$$/stat >stat'
	# Of children that were waited for, in ticks of 10 ms: user, kernel.
	used=$(sed 's/.*) //' stat | awk '{print ($14 + $15) * 10000000}')
	# What recording took is no call's.
	holds ".cpu.recording_ns as \$recording | [.syscalls[] | select(.name == \"read\") | .cpu_ns] | add |
		. + \$recording > 0.85 * $used - 5e7 and . < 1.05 * $used + 2e7"
	holds '([.syscalls[].cpu_ns] | add) <= .cpu.kernel_ns'
	same 'in SQL' "$("$GCPROF" query --format csv "SELECT name FROM syscall_totals ORDER BY cpu_ns DESC LIMIT 1" | tail -n 1)" read
	same 'as ticks' "$("$GCPROF" query --format csv "SELECT call FROM ticks WHERE mode = 'kernel'
		GROUP BY call ORDER BY sum(ns) DESC LIMIT 1" | tail -n 1)" read
	"$GCPROF" report --sort cpu >report
	sed -n '/^System calls/,$p' report | awk '$NF == "read" {print NR}' | head -n 1 | grep -qx 3
}

@test "the longest calls are shown with their arguments" {
	need_root
	record -- "$WORKLOADS/waits" sleep 3
	# Others may have been longer, where somebody else had the CPU meanwhile; not seventeen.
	holds '[.slow_calls[].duration_ns] | . == (sort | reverse)'
	holds '[.slow_calls[] | select(.text | test("^clock_nanosleep\\(CLOCK_REALTIME, 0, 0x[0-9a-f]+\\) = 0$")) |
		.duration_ns] | length == 3 and min >= 5000000'
	# One of these waits for the other to open it.
	mkfifo fifo
	record -- sh -c '(sleep 0.1; : >fifo) & exec cat fifo'
	holds '.slow_calls[] | select(.text | test("^openat\\(AT_FDCWD, \"fifo\", O_RDONLY\\) = [0-9]+$"))'
	"$GCPROF" report --syscalls | grep -q 'Longest system calls'
}

# The estimate of one call with a filter: fails if it is taken for exact, or is 2.5 times as far from
# the truth as its interval says (which happens once in a million times).
selects() { # CALL TRUTH TERM
	"$GCPROF" report --json --filter "$3" >selected.json
	jq -c --arg c "$1" '.syscalls[] | select(.name == $c) | {count, count_low, count_high, estimated}' selected.json
	jq -e --arg c "$1" --argjson truth "$2" '.syscalls[] | select(.name == $c) | .estimated and
		.count_low <= .count and .count <= .count_high and .count_high - .count_low < $truth and
		$truth >= .count - 2.5 * (.count - .count_low) and $truth <= .count + 2.5 * (.count_high - .count)' selected.json
}

@test "long: a selection of calls above the ceiling is an estimate that holds, and all of them are exact" {
	need_root
	local border
	record --syscall-rate 2000 --max-overhead off -- /bin/sh -c 'dd if=/dev/zero of=/dev/null bs=1 count=300000 status=none
		sleep 0.2; dd if=/dev/zero of=/dev/null bs=1 count=200000 status=none'
	# One of the two is in each part of the recording; the second begins when its program is executed.
	border=$("$GCPROF" dump | jq -s '(map(select(.record == "recording"))[0].start) as $start |
		(map(select(.record == "exec"))[-1].time - $start) / 1e6 - 50 | floor')
	selects write 300000 "time=..${border}ms"
	selects write 200000 "time=${border}ms.."
	selects write 500000 'thread=dd'
	"$GCPROF" report --filter "time=..${border}ms" >text
	grep -qE '^ +~[0-9.]+ k .* write$' text
	tr -s ' \n' ' ' <text | grep -q '~ marks an estimate'
	# All agree: the whole, what a process decides, single records with what they stand for.
	holds '[.syscalls[] | select(.name == "write") | .count, .estimated] == [500000, false]'
	"$GCPROF" report --json --filter process=dd |
		jq -e '[.syscalls[] | select(.name == "write") | .count, .estimated] == [500000, false]'
	# One of so many is recorded by chance: six standard deviations, which few records make great.
	"$GCPROF" query -f csv "SELECT sum(stands), max(stands), count(*), sum(stands * (stands - 1.0))
		FROM syscalls WHERE name = 'write'" | tail -n 1 | tr -d '\r' >sums
	cat sums
	awk -F , '{off = $1 - 500000; ok = off * off < 36 * $4 && $4 < 1e11 && $2 > 1 && $3 < 100000} END {exit !ok}' sums
}

@test "calls that are not recorded by chance are left out of a selection, which is told" {
	need_root
	record --syscalls slow=1s -- dd if=/dev/zero of=/dev/null bs=1 count=1000 status=none
	"$GCPROF" report --json --filter thread=dd |
		jq -e '.syscalls == [] and .syscalls_left_out > 2000 and .syscalls_left_out_why == "not recorded individually"'
	"$GCPROF" report --filter thread=dd | tr -s ' \n' ' ' | grep -q 'unknown how many are selected'
	holds '.syscalls_left_out == 0 and .syscalls_left_out_why == null'
}

@test "--histogram shows how long a call took how often" {
	need_root
	record -- sh -c 'sleep 0.03; sleep 0.03; sleep 0.6'
	holds '[.syscalls[] | select(.name == "clock_nanosleep")] | length == 1 and (.[0] | .count == 3 and
		([.histogram[].count] | add) == 3 and all(.histogram[]; .to_ns > 3e7) and
		([.histogram[] | select(.from_ns < 6e8 and .to_ns > 6e8 or .from_ns >= 6e8).count] | add) >= 1)'
	for name in clock_nanosleep syscall:clock_nanosleep; do
		"$GCPROF" report --histogram $name >text
		grep -x 'How long clock_nanosleep took' text
		[ "$(grep -c ' ms .*%.*█' text)" -ge 1 ]
		[ "$(awk '/%/ && $5 ~ /^[0-9]+$/ {sum += $5} END {print sum}' text)" = 3 ]
	done
	"$GCPROF" report --histogram clock_nanosleep --json | jq -e 'has("syscalls") and (has("functions") | not)'
	run "$GCPROF" report --histogram nanosleeps
	[ "$status" = 1 ]
	[[ $output == *'no such call was recorded; there are '*clock_nanosleep* ]]
}
