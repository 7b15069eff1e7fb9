#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# losses.bats: each ring is starved in turn: what was sent is what was stored and what was lost.
# Long: a minute.

load common

# How often a kind of loss was counted.
lost() { # NAME
	ask "[.losses[] | select(.name == \"$1\") | .count] | add // 0"
}

# Records of these kinds.
stored() { # KIND...
	"$GCPROF" dump | grep -cE "\"record\":\"($(IFS='|' && echo "$*"))\""
}

@test "system calls: the totals are exact; records, losses and the ceiling add up to them" {
	need_root
	GCPROF_TEST_RING=syscall=4K record --max-overhead off --syscall-rate 10000000 -- "$WORKLOADS/calls" flood
	holds '.syscalls[] | select(.name == "write") | .count == 2000000'
	[ "$(lost SYSCALL_RING)" -gt 0 ]
	same sent "$(($(stored syscall) + $(lost SYSCALL_RING) + $(lost SYSCALL_CEILING)))" \
		"$(ask '[.syscalls[].count] | add')"
	record --max-overhead off -- "$WORKLOADS/calls" flood
	holds '.streams.syscall | .lost == 0 and .held > 1000000'
	same sent "$(($(stored syscall) + $(lost SYSCALL_CEILING)))" "$(ask '[.syscalls[].count] | add')"
}

@test "long system calls have a ceiling, too, and add up" {
	need_root
	GCPROF_TEST_CEILING=200 record --max-overhead off --syscalls slow=0 -- "$WORKLOADS/waits" pipe 20000
	[ "$(lost LONG_CEILING)" -gt 1000 ]
	same sent "$(($(stored syscall) + $(lost LONG_CEILING) + $(lost SYSCALL_RING)))" \
		"$(ask '[.syscalls[].count] | add')"
	holds '.streams.syscall.lost == 0 and .streams.syscall.held > 1000'
}

@test "waits: records, losses and the ceiling add up to what threads waited" {
	need_root
	GCPROF_TEST_RING=sched=4K record --off-cpu --off-cpu-min 0 -- "$WORKLOADS/waits" pipe 20000
	[ "$(lost SCHED_RING)" -gt 0 ]
	same sent "$(($(stored wait) + $(lost SCHED_RING) + $(lost WAIT_CEILING)))" \
		"$(ask '[.threads[].off_cpu[].count] | add')"
}

@test "page faults: records, losses and the ceiling add up to what the kernel counted" {
	need_root
	GCPROF_TEST_RING=fault=4K record --faults --fault-rate 10000000 -- "$WORKLOADS/waits" touch 40000
	[ "$(lost FAULT_RING)" -gt 0 ]
	same sent "$(($(stored fault) + $(lost FAULT_RING) + $(lost FAULT_CEILING)))" \
		"$(ask '.faults.minor + .faults.major')"
	record --faults -- "$WORKLOADS/waits" touch 40000
	holds '.streams.fault | .lost == 0 and .held > 0'
	same sent "$(($(stored fault) + $(lost FAULT_CEILING)))" "$(ask '.faults.minor + .faults.major')"
}

# One thread, always the same collections, none of them major and each by itself, and no samples.
collect() {
	GCPROF_GC_CEILING=0 GCPROF_PERIOD=1024G GC_MIN_HEAP=1G record -F 0 --syscalls off -- "$WORKLOADS/churn" --bytes 4G
}

# Events of collections and threads that were sent. A thread that began before the recorder had written
# to the control block announces itself once more, at its next allocation: that is chance, and not counted.
sent() {
	echo $(($(ask .streams.gc.events) + $(lost GC_RING) + $(lost GC_CEILING) -
		$("$GCPROF" dump | jq -s '[.[] | select(.record == "mutator" and .event == 3)] | length')))
}

# In another run the one thread's second announcement may be among what was lost.
same_sent() { # IN_ANOTHER_RUN
	local more=$(($(sent) - $1))
	echo "$1 events of collections, and $more more"
	[ "$more" = 0 ] || [ "$more" = 1 ]
}

@test "collections: records and losses add up to what the program did" {
	need_root
	collect
	holds '.streams.gc.lost == 0'
	local all
	all=$(sent)
	[ "$all" -gt 1000 ]
	GCPROF_TEST_RING=gc=4K collect
	same_sent "$all"
}

# The same samples each time, some alone and some by the batch, whose fates come in pieces. Whoever
# records the whole machine meanwhile may ask for fewer.
allocate() {
	for _ in $(seq 5); do
		GCPROF_SEED=1 GC_MIN_HEAP=1G record -F 0 --syscalls off -R 16K -- "$WORKLOADS/churn" --bytes 1G
		[ "$(ask .alloc.period_changes)" != 0 ] || return 0
	done
	needs_nobody_else same 'changes of the period' "$(ask .alloc.period_changes)" 0
}

@test "allocation: records and losses add up to what the program did" {
	need_root
	allocate
	holds '.streams.alloc.lost == 0'
	local kinds='alloc fate period type code' all
	all=$(stored $kinds)
	[ "$all" -gt 50000 ]
	GCPROF_TEST_RING=alloc=32K allocate
	[ "$(($(lost ALLOC_RING) + $(lost ALLOC_SHARE)))" -gt 0 ]
	needs_nobody_else same sent "$(($(stored $kinds) + $(lost ALLOC_RING) + $(lost ALLOC_SHARE)))" "$all"
}

@test "outcomes do not go with collections that are lost: each adds up by itself" {
	need_root
	local kinds='alloc fate period type code' alloc all
	export GCPROF_GC_CEILING=0
	allocate
	holds '.streams.gc.lost == 0 and .streams.alloc.lost == 0'
	alloc=$(stored $kinds)
	all=$(sent)
	GCPROF_TEST_CEILING=10 allocate
	[ "$(lost GC_CEILING)" -gt 0 ]
	needs_nobody_else same 'of the allocations' "$(stored $kinds)" "$alloc"
	same_sent "$all"
	# Those that wait for the next collection that is reported are reported as well.
	unset GCPROF_GC_CEILING
	GCPROF_TEST_CEILING=10 allocate
	[ "$(lost GC_CEILING)" -gt 0 ]
	needs_nobody_else same 'of the allocations' "$(stored $kinds)" "$alloc"
}

# Ticks cannot be known beforehand, but for how much time on the CPU there are. A virtual
# machine that does not run for a moment misses some.
@test "timer: records and losses add up to the time on the CPU" {
	need_root
	GCPROF_TEST_RING=cpu=4K record -F 5000 --syscalls off -- "$WORKLOADS/waits" spin 1500
	[ "$(lost CPU_RING)" -gt 0 ]
	local sent=$(($(stored cpu) + $(lost CPU_RING) + $(lost SCRATCH_BUSY)))
	echo "$sent ticks, $(lost CPU_RING) of them lost"
	[ "$sent" -gt 11000 ]
	[ "$sent" -lt 17500 ]
}

@test "processes: records and losses add up to what was started" {
	need_root
	# However prompt the recorder is, it is kept from emptying the ring meanwhile.
	start() {
		# shellcheck disable=SC2016 # the inner shell's variables
		record -F 0 --syscalls off -- /bin/sh -c \
			'kill -STOP $PPID; for i in $(seq 300); do /bin/true & done; wait; kill -CONT $PPID'
	}
	start
	local kinds='fork exec exit comm usage' all
	# The kernel may refuse room in a ring that is not full, if a CPU was taken away from whoever held its lock.
	all=$(($(stored $kinds) + $(lost PROCESS_RING)))
	[ "$all" -gt 1500 ]
	GCPROF_TEST_RING=process=4K start
	[ "$(lost PROCESS_RING)" -gt 0 ]
	same sent "$(($(stored $kinds) + $(lost PROCESS_RING)))" "$all"
	GCPROF_TEST_CEILING=20 start
	[ "$(lost PROCESS_CEILING)" -gt 0 ]
	same sent "$(($(stored $kinds) + $(lost PROCESS_CEILING) + $(lost NAME_CEILING) + $(lost PROCESS_RING)))" "$all"
	holds '.streams.process.lost >= ([.losses[] | select(.name == "PROCESS_CEILING").count][0])'
}

@test "a recorder that is stopped for a while loses, counts and goes on" {
	need_root
	GCPROF_TEST_RING=syscall=4K "$GCPROF" record --max-overhead off --syscall-rate 10000000 -- \
		"$WORKLOADS/calls" flood >out 2>record.log &
	local pid=$!
	sleep 0.4
	kill -STOP "$pid"
	sleep 0.3
	kill -CONT "$pid"
	wait "$pid"
	same sent "$(($(stored syscall) + $(lost SYSCALL_RING) + $(lost SYSCALL_CEILING)))" \
		"$(ask '[.syscalls[].count] | add')"
}

@test "losses are told second by second, with the time" {
	need_root
	GCPROF_TEST_RING=syscall=4K record --max-overhead off --syscall-rate 10000000 -- \
		/bin/sh -c "$WORKLOADS/calls flood; sleep 1.2; $WORKLOADS/calls flood"
	"$GCPROF" dump | jq -es '[.[] | select(.record == "loss_kind" and .name == "SYSCALL_RING")][0].kind as $kind |
		[.[] | select(.record == "loss" and .kind == $kind)] |
		length >= 2 and all(.count > 0) and .[-1].time - .[0].time > 500000000'
	holds '([.timeline.windows[].lost] | add) == ([.streams[].lost] | add) and ([.timeline.windows[] | select(.lost > 0)] | length >= 2)'
	"$GCPROF" report --timeline | grep -qE '^  lost .* up to [0-9,]+ events$'
	"$GCPROF" export -f perfetto -o trace 2>/dev/null
	# As often as it was told.
	same 'moments of the trace' "$(strings -n 20 trace | grep -c 'system calls were not recorded individually: the ring was full')" \
		"$("$GCPROF" query -f csv "SELECT count(*) FROM markers WHERE kind = 'loss' AND text LIKE 'system calls were not%'" | tail -n 1)"
}

@test "collections survive a flood of system calls" {
	need_root
	GC_MIN_HEAP=1G record -F 0 --max-overhead off --syscall-rate 10000000 -- \
		/bin/sh -c "$WORKLOADS/calls flood & $WORKLOADS/churn --bytes 4G; wait"
	# A program behind a shell gets its probes a moment after it began: from then on none is missing.
	"$GCPROF" dump | jq -es '[.[] | select(.record == "gc_end") | .cycle] |
		length > 500 and .[-1] - .[0] + 1 == length'
	holds '.streams.gc.lost == 0 and .streams.alloc.lost == 0'
	holds '.syscalls[] | select(.name == "write") | .count >= 2000000'
}

@test "more busy threads than CPUs: each sample is of one firing, with its stack, or is counted as lost" {
	need_root
	gcc -std=gnu11 -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/storm.c" -o storm
	record --max-overhead off -- ./storm 16 2
	"$GCPROF" dump | awk -v fired="$(jq .fired out)" -f "$ROOT/tests/e2e/programs/storm.awk" >checked
	cat out checked
	jq -e '.samples > 1000 and .mixed == 0 and .twice == 0 and .wrong == 0 and .missing == 0 and
		.starved == 0 and .unseen == 0' checked
}
