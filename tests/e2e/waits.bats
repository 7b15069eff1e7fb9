#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# waits.bats: time off the CPU: how long, why, where; page faults.
# Parallel: no other recorder matters.

load common

@test "waits are recorded unless they are not wanted, and the report says so" {
	need_root
	record -- "$WORKLOADS/waits" sleep 20
	holds '.streams.sched | .attached and .events >= 10'
	for option in --no-off-cpu "--syscalls off"; do
		record $option -- "$WORKLOADS/waits" sleep 3
		holds '.streams.sched | .attached == false and (.why_not | test("--off-cpu"))'
		holds '.waits == [] and .threads[0].off_cpu == null'
		[ "$("$GCPROF" dump | grep -c '"record":"wait"')" = 0 ]
	done
}

@test "sleeps: the count, the time, the call, the function" {
	need_root
	record --off-cpu -- "$WORKLOADS/waits" sleep 20
	holds '.streams.sched | .attached and .events >= 10 and .lost == 0'
	# Where the machine is busy, a nap may be over before the thread is off its CPU.
	holds '.waits[] | select(.name == "clock_nanosleep") |
		.reason == "call" and .count <= 20 and .count >= 10 and .total_ns >= 50000000 and
		.max_ns >= 5000000'
	holds '.syscalls[] | select(.name == "clock_nanosleep") |
		.count == 20 and .off_cpu_ns <= .total_ns and .off_cpu_ns >= 50000000'
	holds '([.syscalls[], .waits[] | select(.name == "clock_nanosleep")] |
		.[0].off_cpu_count == .[1].count)'
	holds '.functions[] | select(.name == "do_sleep") | .off_cpu_ns >= 50000000'
	"$GCPROF" export -f folded --by off-cpu -o out.folded
	grep -q '^_start;.*main;do_sleep;.*nanosleep.* [0-9]*$' out.folded
}

@test "a thread's time on and off the CPU is its wall time" {
	need_root
	record --off-cpu -- "$WORKLOADS/waits" sleep 20
	holds '.threads[0] | .wall_ns == .on_cpu_ns + .off_cpu_ns and
		.off_cpu_ns == ([.off_cpu[].ns] | add) and .off_cpu.call.ns >= 50000000'
	# The recorder may notice the end late.
	holds '.threads[0].wall_ns >= 100000000 and .threads[0].wall_ns < .duration_ns + 1000000'
	"$GCPROF" report --off-cpu | tee text
	grep -q 'clock_nanosleep' text
	# What it had of a CPU is the same in both tables.
	tid=$(jq .threads[0].tid report.json)
	same 'CPU time' "$(awk -v tid="$tid" '$1 == tid {print $4, $5}' text)" \
		"$("$GCPROF" report --threads | awk -v tid="$tid" '$1 == tid {print $3, $4}')"
}

@test "long: short waits are counted exactly, whether they are recorded or not" {
	need_root
	record --off-cpu --off-cpu-min 1h -- "$WORKLOADS/waits" sleep 20
	holds '.streams.sched.events == 0'
	holds '([.syscalls[], .waits[] | select(.name == "clock_nanosleep")] |
		.[0].off_cpu_count == .[1].count and .[1].count >= 10)'
	# And the report says that no function has them.
	holds '.off_cpu.with_stack_ns == 0 and .off_cpu.total_ns == ([.waits[].total_ns] | add)'
	"$GCPROF" report --off-cpu | tr -s ' \n' ' ' | grep -q '0%, have a stack and are shown by function'
	# The longest wait is known as well: within the longest call, at least as long as the mean.
	record --off-cpu --off-cpu-min 1h -- sleep 0.8
	holds '([.waits[], .syscalls[] | select(.name == "clock_nanosleep")] |
		.[0].max_ns >= 500000000 and .[0].max_ns <= .[1].max_ns)'
	holds '[.waits[] | select(.max_ns < .total_ns / .count)] == []'
	record --off-cpu --off-cpu-min 0 -- "$WORKLOADS/waits" pipe 2000
	holds '.waits[] | select(.name == "read") | .count > 1000'
	# What the records stand for is never more than the exact totals.
	"$GCPROF" dump >dump.jsonl
	jq -es '([.[] | select(.record == "wait") | .duration + .held_ns] | add) <=
		([.[] | select(.record == "usage") |
		  .call_ns + .fault_ns + .preempted_ns + .stopped_ns] | add)' dump.jsonl
}

@test "long: threads that share a CPU are preempted, and each waits as long as the other runs" {
	need_root
	# Whoever takes the CPU from both takes from the first only, until the second has begun.
	record --off-cpu -- "$WORKLOADS/waits" spin 600
	holds '[.threads[].off_cpu.preempted.ns] | min > 75000000'
	holds '.waits[] | select(.reason == "preempted") | .total_ns > 200000000'
	# Where they were is known, although it is no system call.
	holds '.functions[] | select(.name == "burn") | .off_cpu_ns > 100000000'
}

@test "long: what of a wait was for a CPU: all waits together have what the kernel says of the threads" {
	need_root
	# Each byte that goes through the pipe wakes a thread, which has to wait for the others. What a new
	# process waits for before it begins is no wait: some milliseconds for each of five.
	record --off-cpu --off-cpu-min 0 --max-overhead off -- taskset -c 0 sh -c \
		"'$WORKLOADS/waits' pipe 8000 & timeout 3 sh -c 'while :; do :; done'; wait"
	holds '.cpu.queued_ns as $all | ([.waits[].queued_ns] | add) | . <= $all * 1.02 and . >= $all * 0.9'
	holds '[.waits[] | select(.name == "read")][0] | .queued_ns > 0 and .queued_ns <= .total_ns'
	holds '.waits[] | select(.reason == "preempted") | .queued_ns == .total_ns'
	same 'in SQL' "$("$GCPROF" query --format csv 'SELECT sum(queued_ns) FROM wait_totals' | tail -n 1)" \
		"$(jq '[.waits[].queued_ns] | add' report.json)"
}

@test "who ends waits for a lock: the thread that has it, for as long as the waiting one says" {
	need_root
	gcc -O1 -D_GNU_SOURCE "$BATS_TEST_DIRNAME/programs/locks.c" -o locks -lpthread
	record --off-cpu -- ./locks 50
	read -r waited whole <out
	echo "waited $waited ns, $whole in all"
	# A thread that wants the lock when it is free again does not wait, nor one that has no CPU on its way to sleep.
	holds "([.threads[] | select(.name == \"waiter\") | .queued_ns + (.off_cpu.stopped.ns // 0)] | add) as \$late |
		.wakers[0] | .name == \"holder\" and .count >= 40 and .max_ns >= 4000000 and
		.total_ns + \$late > 0.9 * $waited - 1e7 and .total_ns < 1.1 * $whole"
	holds '([.wakers[].total_ns] | add) <= ([.waits[] | select(.name == "futex") | .total_ns] | add)'
	"$GCPROF" report --off-cpu | grep -qE '^ +[0-9]+ .* holder$'
	same 'in SQL' "$("$GCPROF" query --format csv "SELECT t.name FROM waits w JOIN threads t ON t.id = w.waker
		GROUP BY 1 ORDER BY sum(w.duration_ns) DESC LIMIT 1" | tail -n 1)" holder
}

@test "kernel stacks: where in the kernel waits and calls waited, on request only" {
	need_root
	record --kernel-stacks -- "$WORKLOADS/waits" sleep 20
	holds '[.functions[] | select(.runtime == "kernel" and (.name | test("nanosleep")) and
		.off_cpu_ns >= 50000000 and .syscall_ns >= 20000000)] | length > 0'
	# They stand on the user stack that called them, and only there.
	"$GCPROF" export -f folded --by syscall -o out.folded
	grep -q '^_start;.*;do_sleep;[^_]*.*nanosleep[^;]*;[^;]*_\[k\];.*nanosleep_\[k\]' out.folded
	record --off-cpu -- "$WORKLOADS/waits" sleep 20
	holds '[.functions[] | select(.runtime == "kernel" and (.off_cpu_ns > 0 or .syscall_ns > 0))] == []'
}

@test "long: kernel stacks of waits outside of calls stand on the user stack at their begin" {
	need_root
	record --kernel-stacks -- "$WORKLOADS/waits" spin 150
	"$GCPROF" export -f folded --by off-cpu -o out.folded
	grep -q ';burn.*;[^;]*_\[k\] [0-9]*$' out.folded
}

asleep() { # PID
	grep -qs nanosleep "/proc/$1/wchan"
}

# Records a program that has slept for 0.3 s when the recording ends, and sleeps on.
record_asleep() { # OPTIONS...
	local recorder pid
	"$GCPROF" record -v "$@" -- /bin/sleep 600 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until grep -qs 'ms  the program runs' record.log
	pid=$(pgrep -P "$recorder" -x sleep)
	started+=("$pid")
	wait_until asleep "$pid"
	sleep 0.3
	kill -TERM "$recorder"
	wait "$recorder"
	kill "$pid"
}

@test "long: kernel stacks of what is still waiting when the recording ends" {
	need_root
	record_asleep --kernel-stacks
	holds '[.functions[] | select(.runtime == "kernel" and (.name | test("nanosleep")) and
		.off_cpu_ns > 200000000)] | length > 0'
}

@test "a stopped process waits because it is stopped" {
	need_root
	# It may be kept from stopping for a while behind the signal.
	record --off-cpu -- "$WORKLOADS/waits" stop 600
	holds '.waits[] | select(.reason == "stopped") | .count == 1 and .total_ns > 300000000'
}

@test "what is still waiting when the recording ends is told, and so is the open call" {
	need_root
	record_asleep --off-cpu
	holds '.waits[] | select(.name == "clock_nanosleep") | .count == 1 and .total_ns > 200000000'
	holds '.syscalls[] | select(.name == "clock_nanosleep") | .count == 1 and .total_ns > 200000000'
	"$GCPROF" dump | jq -es '[.[] | select(.record == "wait" and .flags >= 8)] | length >= 1'
}

@test "a program that sleeps when it is attached to is off the CPU from then on" {
	need_root
	/bin/sleep 600 3>&- &
	local pid=$!
	started+=("$pid")
	wait_until asleep "$pid"
	begin_recording --off-cpu -p "$pid"
	sleep 0.5
	end_recording
	kill "$pid"
	holds '.threads[0] | .off_cpu.call.count == 1 and .off_cpu_ns > 400000000'
	holds '.threads[0] | .on_cpu_ns < 20000000'
}

@test "page faults: exact for threads, and those of collections apart" {
	need_root
	record -- "$WORKLOADS/waits" touch 5000
	holds '.threads[0].minor_faults >= 5000 and .threads[0].minor_faults < 6000'
	holds '.faults | .minor >= 5000 and .in_minor_gc == 0'
	record -- "$WORKLOADS/churn" --bytes 256M
	holds '.faults | .in_minor_gc + .in_major_gc > 0 and .in_minor_gc < .minor'
	"$GCPROF" report --gc | grep -q 'page faults: .* in minor collections'
}

@test "page faults are recorded one by one on request: who touches memory" {
	need_root
	record -- "$WORKLOADS/waits" touch 100
	holds '.streams.fault | .attached == false and (.why_not | test("--faults"))'
	record --faults -- "$WORKLOADS/waits" touch 5000
	holds '.streams.fault | .attached and .lost == 0 and .events > 0'
	holds '.faults | .recorded == .minor + .major and .recorded_in_gc == 0'
	holds '.functions[] | select(.name == "do_touch") | .faults >= 4000 and .gc_faults_self == 0'
	"$GCPROF" report --faults >text
	grep -qE '[0-9.]+% .* do_touch' text
	"$GCPROF" export -f folded --by faults -o out.folded
	grep -q '^_start;.*main;do_touch [0-9]*$' out.folded
	same "in SQL" "$("$GCPROF" query -f csv 'SELECT sum(faults) FROM costs' | tail -n 1)" \
		"$(ask .faults.recorded)"
}

@test "long: page faults above the ceiling: the others stand for them" {
	need_root
	record --faults --fault-rate 500 -- "$WORKLOADS/waits" touch 40000
	holds '.streams.fault.held > 10000'
	holds '.faults | .recorded == .minor + .major and .recorded >= 40000'
	holds '.functions[] | select(.name == "do_touch") | .faults >= 20000'
	# What records stand for is never more than what the kernel counted.
	"$GCPROF" dump | jq -es '([.[] | select(.record == "fault") | .minor + .major] | add) <=
		([.[] | select(.record == "usage") | .minor_faults + .major_faults] | add)'
}

@test "page faults in collections are told apart, and can be filtered" {
	need_root
	record --faults --fault-rate 1000000 -- "$WORKLOADS/churn" --bytes 256M
	# A record stands for earlier faults, too, that were counted and not recorded, so the kernel's own
	# sum over each collection may differ by a few.
	holds '.faults | .in_minor_gc + .in_major_gc > 0 and .recorded_in_gc > 0 and .recorded_in_gc < .recorded'
	same "between begin and end" "$("$GCPROF" dump | jq -s 'sort_by(.time) |
		reduce .[] as $r ({open: 0, recorded: 0};
			if $r.record == "gc_begin" then .open = 1
			elif $r.record == "gc_end" then .open = 0
			elif $r.record == "fault" and .open == 1 then .recorded += $r.minor + $r.major
			else . end) | .recorded')" "$(ask .faults.recorded_in_gc)"
	same filtered "$("$GCPROF" report --json --filter phase=gc | jq .faults.recorded)" \
		"$(ask .faults.recorded_in_gc)"
}
