#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# attach.bats: recording what runs already: processes, a cgroup; and leaving no trace.
# Parallel: what is asked about semaphores is asked of programs that nobody else runs.

load common

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	gcc -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/processes.c" -o "$PROGRAMS/processes" -lpthread
}

teardown() {
	end_started
	# The first process of a pid namespace takes no other signal from outside.
	[ -z "${inner:-}" ] || kill -KILL "$inner" 2>/dev/null || true
	[ -z "${group:-}" ] || rmdir "$group" 2>/dev/null || true
}

# Records process $pid until it has used 0.3 s of CPU time more.
record_running() { # OPTION...
	begin_recording "$@" -p "$pid"
	wait_on "$pid" 30
	end_recording
}

exited() { # PID
	! kill -0 "$1" 2>/dev/null
}

removed() { # FOLDER
	rmdir "$1" 2>/dev/null
}

# Whether a process is in a state, as one letter.
in_state() { # LETTER PID
	[ "$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$2/status")" = "$1" ]
}

# The time from the recorder's first event to when sampling was switched on, in ms.
latency() {
	"$GCPROF" dump | jq -s '([.[] | select(.record == "period" and .reason == 1).time] | min // empty) as $on |
		(($on - ([.[] | select(.record == "recording").start] | min)) / 1e6)'
}

@test "a process whose main thread has ended is recorded: its threads, and their functions by name" {
	need_root
	gcc -O1 "$ROOT/tests/e2e/programs/leaderless.c" -o "$PROGRAMS/leaderless" -lpthread
	start "$PROGRAMS/leaderless" 300
	wait_until in_state Z "$pid"
	begin_recording -p "$pid"
	wait_on "$pid" 100
	end_recording
	cat record.log
	holds '.functions[] | select(.name == "burn_on").cpu_self_ns > 1e8'
	same 'threads that compute' "$(ask '[.threads[] | select(.cpu_ns > 1e7)] | length')" 2
}

@test "attaching to a running program: everything that was there before has its name" {
	need_root
	start "$WORKLOADS/lisp" "$ROOT/tests/workloads/lisp/tree.lisp" depth=19
	wait_busy "$pid"
	record_running -R 64K
	cat record.log
	# Whoever records the whole machine may ask for fewer.
	needs_nobody_else holds '.alloc.samples > 50'
	holds '.cpu.samples > 5 and .streams.alloc.attached'
	holds '.alloc.types | length > 0 and all(.name != null)'
	holds '[.functions[] | select(.runtime == "managed" and .alloc_total_bytes > 0 and (.file | endswith("tree.lisp")))] | length > 1'
	holds '[.functions[] | select(.runtime == "native" and (.name | startswith("eval")))] | length > 0'
	holds '.threads[0].name == "lisp" and (.command[0] | endswith("lisp")) and .exit_status == null'
	holds '[.streams[].lost] | add == 0'
	"$GCPROF" report | grep -q "attached to process $pid (lisp)"
	"$GCPROF" dump >dump
	same 'mappings told twice' "$(jq -s '[.[] | select(.record == "mmap") | .address] | length - (unique | length)' dump)" 0
}

@test "long: sampling starts within 100 ms" {
	need_root
	start "$WORKLOADS/churn" --seconds 1000
	wait_busy "$pid"
	# Others use the machine, too, and keep the recorder or the program waiting: one of many must do.
	# What made every start slower than that would be seen all the same.
	for _ in $(seq 60); do
		record -R 64K --duration 0.3 -p "$pid"
		# Nothing if it did not get that far within its time.
		ms=$(latency)
		echo "${ms:-no} ms"
		[ -z "$ms" ] || [ "${ms%.*}" -ge 100 ] || return 0
	done
	# If somebody else records it has started already.
	needs_nobody_else false
}

@test "detaching leaves nothing: no program, no semaphore, the period set back" {
	need_root
	own_copy churn
	start ./churn --seconds 1000
	wait_busy "$pid"
	programs=$(orphans)
	semaphore=$(address "$pid" gcprof_sample_semaphore)
	before=$(requests "$pid")
	needs_nobody_else same 'semaphore before' "$(memory "$pid" "$semaphore" 2)" 0000
	begin_recording -R 64K -p "$pid"
	during=$(requests "$pid")
	attached=$(memory "$pid" "$semaphore" 2)
	wait_on "$pid" 30
	end_recording
	kill -0 "$pid"
	[ "$during" != "$before" ]
	[ "$attached" != 0000 ]
	needs_nobody_else same semaphore "$(memory "$pid" "$semaphore" 2)" 0000
	needs_nobody_else same 'control block' "$(requests "$pid")" "$before"
	needs_nobody_else holds '.alloc.period == 65536 and .alloc.samples > 20'
	wait_until no_more_orphans "$programs"
	# A second profiler finds the program's own period again.
	record_running
	"$GCPROF" dump >dump
	needs_nobody_else same period \
		"$(jq -s '[.[] | select(.record == "period" and .reason == 1).new_period][0]' dump)" 524288
}

row_is_gone() { # PID REQUESTS
	[ "$(requests "$1")" = "$2" ]
}

@test "long: a recorder that was killed leaves its period to the program if its openers were killed, too" {
	need_root
	start "$WORKLOADS/churn" --seconds 1000
	churn=$pid
	wait_busy "$churn"
	before=$(requests "$churn")
	"$GCPROF" record -v -R 64K -p "$churn" 2>record.log 3>&- &
	recorder=$!
	wait_attached
	kill -KILL "$recorder"
	wait_until row_is_gone "$churn" "$before"
	"$GCPROF" record -v -R 64K -p "$churn" 2>record.log 3>&- &
	recorder=$!
	wait_attached
	kill_with_openers "$recorder"
	[ "$(requests "$churn")" != "$before" ]
	begin_recording -p "$churn"
	wait_said "process $churn still did what a gcprof that was killed had asked for"
	end_recording
	needs_nobody_else same 'requests' "$(requests "$churn")" "$before"
}

# As before Linux 6.10: what the kernels of tools/kernels do, and this one can do, too.
@test "long: probes that are attached one by one tell the same" {
	need_root
	GCPROF_TEST_PROBES_ONE_BY_ONE=1 record -v -R 64K -- "$WORKLOADS/known" --burn-ms 0 --calls 0
	cat record.log
	grep -q 'each place is a perf event' record.log
	holds '.streams.alloc.attached'
	needs_nobody_else holds '.alloc.samples > 100'
	same 'minor collections' "$(ask .gc.minor.count)" "$(jq .minor out)"
}

@test "long: detaching from many files at once leaves nothing, either" {
	need_root
	all=()
	for i in $(seq 12); do
		cp "$WORKLOADS/churn" "churn$i"
		start "./churn$i" --seconds 1000
		all+=("$pid")
		wait_until test "/proc/$pid/exe" -ef "churn$i"
		kill -STOP "$pid" # which saves CPU time; the file is mapped
	done
	begin_recording -p "$(IFS=, && echo "${all[*]}")"
	for pid in "${all[@]}"; do
		raised "$pid"
	done
	end_recording
	for pid in "${all[@]}"; do
		needs_nobody_else same "semaphore of $pid" \
			"$(memory "$pid" "$(address "$pid" gcprof_sample_semaphore)" 2)" 0000
	done
}

@test "long: several programs: each named; the recording ends with the last" {
	need_root
	start "$WORKLOADS/churn" --seconds 1000
	first=$pid
	start "$WORKLOADS/gcbench" 1000
	wait_busy "$first"
	wait_busy "$pid"
	begin_recording -p "$first,$pid,$first"
	kill "$first"
	wait_until exited "$first"
	wait_on "$pid" 50
	kill -0 "$recorder"
	kill "$pid"
	wait "$recorder" || same status $? 0
	cat record.log
	"$GCPROF" dump >dump
	same processes "$(jq -s '[.[] | select(.record == "process")] | length' dump)" 2
	holds '([.threads[].name] | unique) == ["churn", "gcbench"] and .exit_status == null'
	same reason "$(ask .end_reason)" 'all ended'
}

@test "Ctrl-C ends it, and the program goes on" {
	need_root
	start "$WORKLOADS/churn" --seconds 1000
	wait_busy "$pid"
	env --default-signal=INT "$GCPROF" record -v -p "$pid" 2>record.log 3>&- &
	recorder=$!
	wait_attached
	wait_on "$pid" 20
	kill -TERM "$recorder"
	wait "$recorder" || same status $? 0
	same reason "$(ask .end_reason)" interrupted
	holds '.alloc.samples > 10'
	kill -0 "$pid"
}

has_threads() { # PID COUNT
	[ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" = "$2" ]
}

@test "long: all threads of a program with a thousand are recorded" {
	need_root
	# Each waits for a byte, makes three calls and ends; and so does the program, with the last.
	cat >threads.c <<-'C'
		#include <pthread.h>
		#include <unistd.h>
		static void *run(void *unused)
		{
			char byte;
			if (read(0, &byte, 1) == 1)
				for (int i = 0; i < 3; i++)
					getsid(0);
			return unused;
		}
		int main(void)
		{
			static pthread_t threads[1000];
			pthread_attr_t small;
			pthread_attr_init(&small);
			pthread_attr_setstacksize(&small, 65536);
			for (int i = 0; i < 1000; i++)
				if (pthread_create(&threads[i], &small, run, NULL))
					return 1;
			for (int i = 0; i < 1000; i++)
				pthread_join(threads[i], NULL);
			return 0;
		}
	C
	gcc -O1 -D_GNU_SOURCE threads.c -o threads -lpthread
	mkfifo go
	exec {go}<>go
	./threads <go >/dev/null 2>&1 3>&- {go}>&- &
	pid=$!
	started+=("$pid")
	wait_until has_threads "$pid" 1001
	begin_recording -p "$pid"
	head -c 1000 /dev/zero >&"$go"
	wait "$recorder"
	exec {go}>&-
	"$GCPROF" dump >dump
	same threads "$(jq -s '[.[] | select(.record == "thread")] | length' dump)" 1001
	holds '[.syscalls[] | select(.name == "getsid")][0].count == 3000'
	holds '[.streams[].lost] | add == 0'
}

has_lines() { # FILE COUNT
	[ "$(wc -l <"$1")" -ge "$2" ]
}

@test "children of a program that is attached to are recorded, or not" {
	need_root
	# shellcheck disable=SC2016 # the inner shell's variables
	start sh -c 'while :; do "$0" fork 1; echo >>rounds; sleep 0.02; done' "$PROGRAMS/processes"
	# Itself, and in each round two that call and one that sleeps.
	begin_recording -p "$pid"
	wait_until has_stored process 13
	end_recording
	holds '[.syscalls[] | select(.name == "getsid")][0].count >= 20'
	begin_recording --follow none -p "$pid"
	wait_until has_lines rounds $(($(wc -l <rounds) + 5))
	end_recording
	"$GCPROF" dump >dump
	same processes "$(jq -s '[.[] | select(.record == "process")] | length' dump)" 1
	holds '[.syscalls[] | select(.name == "getsid")] | length == 0'
	# The same for a program that is started.
	record --follow none -- "$PROGRAMS/processes" fork 5
	holds '[.syscalls[] | select(.name == "getsid")] | length == 0'
	"$GCPROF" dump >dump
	same processes "$(jq -s '[.[] | select(.record == "process")] | length' dump)" 1
}

@test "long: children that a program has already are not recorded, which a message says" {
	need_root
	start sh -c 'sleep 1000 & sleep 1000 & wait'
	wait_until has_children "$pid" sleep 2
	children=$(pgrep -d, -P "$pid")
	record --duration 0.1 -p "$pid"
	cat record.log
	grep -q "started others before, which are not recorded (2 in total); to record them, add to -p: $children\$" record.log
	"$GCPROF" report | tr -s '\n ' ' ' | grep -q "2 processes that the recorded ones had started before are not recorded"
	record --duration 0.1 -p "$pid,${children%,*}"
	grep -q "(1 in total); to record them, add to -p: ${children#*,}\$" record.log
	record --duration 0.1 -p "$pid,$children"
	absent 'add to -p' record.log
	kill "${children%,*}" "${children#*,}"
}

@test "long: a program whose file is gone, stripped and linked statically has its functions" {
	need_root
	gcc -O2 -static -D_GNU_SOURCE -fno-omit-frame-pointer -I"$ROOT/gc" -I"$ROOT/tests/workloads" \
		"$ROOT"/tests/workloads/gcbench/*.c "$BUILD/libgcprof-gc.a" "$BUILD/libgcprof-provider.a" -lm -o static
	strip -o stripped static
	start ./static 1000
	wait_busy "$pid"
	rm static
	record_running -R 64K
	cat record.log
	needs_nobody_else holds '.alloc.samples > 100'
	holds '.alloc.period == 65536 and ([.functions[].name] | index("gc_alloc_slow") != null or length > 3)'
	holds '[.functions[] | select(.alloc_total_bytes > 0 and (.name | test("make_tree|populate|bench|main")))] | length > 0'
	kill "$pid"
	start ./stripped 1000
	wait_busy "$pid"
	rm stripped
	# The control block is found without symbols.
	record_running -R 64K
	holds '.alloc.samples > 10 and .alloc.period == 65536 and .gc.minor.count > 1'
}

@test "a program in another pid and mount namespace: its names, and its numbers there" {
	need_root
	start unshare -pm --fork --mount-proc sh -c "
		mkdir inside && mount -t tmpfs none inside && cp '$WORKLOADS/churn' inside/hidden &&
		exec inside/hidden --seconds 1000"
	wait_until pgrep -P "$pid" -x hidden
	inner=$(pgrep -P "$pid" -x hidden)
	wait_busy "$inner"
	started+=("$inner")
	[ ! -e inside/hidden ]
	pid=$inner
	record_running -R 64K
	cat record.log
	needs_nobody_else holds '.alloc.samples > 100'
	holds '[.functions[].name] | index("churn_round") != null'
	"$GCPROF" dump >dump
	# If somebody else records, samples that were taken for him come first, and tell no numbers.
	needs_nobody_else same numbers "$(jq -c 'select(.record == "process") | [.pid, .ns_pid]' dump)" "[$inner,1]"
	needs_nobody_else same 'numbers of the thread' \
		"$(jq -c 'select(.record == "thread") | [.tid, .ns_tid]' dump)" "[$inner,1]"
}

@test "long: the recorder in a pid namespace of its own records what it sees there" {
	need_root
	local helpers
	helpers=$(declare -f start wait_said wait_attached begin_recording end_recording record_running \
		wait_until wait_busy wait_on ticks ran)
	unshare -pm --fork --mount-proc bash -e -c "$helpers
		start '$WORKLOADS/churn' --seconds 1000
		wait_busy \$pid
		record_running -R 64K
		kill \$pid
		'$GCPROF' record -R 64K -o started.data -- '$WORKLOADS/churn' --bytes 64M 2>started.log"
	cat record.log started.log
	# Whoever records the whole machine may ask for fewer.
	for file in gcprof.data started.data; do
		holds '.alloc.samples > 10 and ([.functions[].name] | index("churn_round") != null)' "$file"
		"$GCPROF" dump "$file" >dump
		jq -e -s '[.[] | select(.record == "process")] | length == 1 and .[0].ns_pid < 1000 and .[0].pid > .[0].ns_pid' dump
	done
}

# Whether somebody listens to a program's samples.
raised() { # PID
	[ "$(memory "$1" "$(address "$1" gcprof_sample_semaphore)" 2)" != 0000 ]
}

# Records programs that are begun one after the other, each after COMMANDS of the shell, until all
# have run for a while. One begin a second and CPU is told, and all are on one CPU: those of most of
# these are not.
lose_begins() { # COUNT COMMANDS
	local cpu
	cpu=$(taskset -cp $BASHPID | sed 's/.*: \([0-9]*\).*/\1/')
	GCPROF_TEST_CEILING=1 GCPROF_BATCH=0 "$GCPROF" record -F 199 --max-overhead off -- taskset -c "$cpu" sh -c "
		for i in \$(seq $1); do $2 '$WORKLOADS/churn' --seconds 1000 & echo \$! >>pids; done
		: >made; wait" >out 2>record.log 3>&- &
	recorder=$!
	wait_until test -e made
	mapfile -t pids <pids
	started+=("${pids[@]}" "$recorder")
	# Attached when what they mapped was read; then some CPU time of each.
	wait_until raised "${pids[-1]}"
	for pid in "${pids[@]}"; do
		wait_on "$pid" 10
	done
	kill "${pids[@]}"
	wait "$recorder" || true
	cat record.log
	grep -qE '[0-9]+ starts, execs or exits of processes and threads were lost' record.log
	"$GCPROF" dump >dump
	"$GCPROF" report --json >report.json
	lost=$(jq -s -c '[.[] | select(.record == "process" and .parent == 0).pid] | .[1:]' dump)
	echo "begin lost: $lost"
	[ "$lost" != '[]' ]
	# With mappings every function has its name; on a busy machine a stack may be lost.
	jq -c '[.functions[] | select(.alloc_self_bytes > 0) | [.name, .alloc_self_bytes]]' report.json
	jq -e '[.functions[] | select(.alloc_self_bytes > 0).name] |
		index("churn_round") != null and all(startswith("[") | not)' report.json
}

@test "long: processes whose begin was lost: names, mappings and numbers are read from /proc" {
	need_root
	lose_begins 5 ''
	jq -e --argjson lost "$lost" '[.threads[] | select(.pid as $pid | $lost | index($pid))] |
		length >= ($lost | length) and all(.name != null and .alloc_bytes > 0)' report.json
	jq -e -s '[.[] | select(.record == "process")] | all(.pid == .ns_pid)' dump
	jq -e '.alloc.types | all(.name != null)' report.json
	jq -e '[.losses[].name] | index("UNKNOWN_PROCESS") == null' report.json
}

# Begins are used up by processes that do nothing, programs are not.
@test "long: processes whose begin was lost: what they mapped counts from the program on that was told" {
	need_root
	lose_begins 3 'sleep 1.1; for k in 1 2 3 4 5 6 7 8; do (:); done;'
}

@test "--cgroup records who is in a cgroup or joins it, and nobody else" {
	need_root
	mount=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)
	[ -n "$mount" ] || skip 'no cgroup hierarchy of version 2 is mounted'
	group=$mount/gcprof-test-$$
	mkdir "$group" 2>/dev/null || skip 'cannot make a cgroup'
	start "$WORKLOADS/churn" --seconds 1000
	inside=$pid
	echo "$inside" >"$group/cgroup.procs"
	start "$WORKLOADS/churn" --seconds 1000
	outside=$pid
	start "$WORKLOADS/churn" --seconds 1000 --threads 3
	joins=$pid
	wait_busy "$joins"
	begin_recording --cgroup "${group#"$mount"/}"
	echo "$joins" >"$group/cgroup.procs"
	wait_until has_stored process 2
	# All three of its threads among them.
	wait_on "$inside" 30
	wait_on "$joins" 90
	end_recording
	cat record.log
	kill "$inside" "$outside" "$joins"
	"$GCPROF" dump >dump
	same processes "$(jq -s -c '[.[] | select(.record == "process").pid] | sort' dump)" \
		"$(printf '%s\n' "$inside" "$joins" | sort -n | paste -sd, | sed 's/.*/[&]/')"
	holds '[.threads[] | select(.samples > 0)] | length >= 3'
	wait_until removed "$group"
}

@test "the memory that a control group leaves a program is known, and what is in use of it" {
	need_root
	mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ {print $2; exit}' /proc/self/mounts)
	file=memory.limit_in_bytes
	[ -n "$mount" ] || { mount=/sys/fs/cgroup file=memory.max; }
	group=$mount/gcprof-memory-$$
	mkdir -p "$group/inner" && echo 500M >"$group/$file" || skip 'no limit of memory can be set here'
	record -- sh -c "echo \$\$ >$group/inner/cgroup.procs; exec $WORKLOADS/churn --seconds 3 --threads 1"
	holds '.cpu | .memory_limit_bytes == 524288000 and .memory_used_bytes > 500000 and
		.memory_used_bytes < .memory_limit_bytes'
	record -- true
	holds '.cpu.memory_limit_bytes != 524288000'
	rmdir "$group/inner" "$group"
}

@test "--cgroup: nobody in it yet, and the end of it" {
	need_root
	mount=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)
	[ -n "$mount" ] || skip 'no cgroup hierarchy of version 2 is mounted'
	group=$mount/gcprof-empty-$$
	mkdir "$group" 2>/dev/null || skip 'cannot make a cgroup'
	timeout 120 "$GCPROF" record -v --cgroup "$group" 2>record.log 3>&- &
	recorder=$!
	wait_said "no process is in cgroup $group"
	start sleep 100
	echo "$pid" >"$group/cgroup.procs"
	kill "$pid"
	wait_until removed "$group"
	status=0
	wait "$recorder" || status=$?
	cat record.log
	same status "$status" 0
	grep -q 'was removed, and all of its processes have ended' record.log
	"$GCPROF" info >info
	grep -q 'complete' info
}

@test "programs that end while they are attached to" {
	need_root
	for ms in 005 020 040 060 080; do
		start sleep "0.$ms"
		run "$GCPROF" record -p "$pid"
		echo "$ms ms: $output"
		[ "$status" = 0 ] || grep -qE 'there is no process|has ended already|ended before it could' <<<"$output"
	done
	# One that is gone does not keep the others from being recorded.
	gone=$pid
	wait "$gone" || true
	start "$WORKLOADS/churn" --seconds 1000
	wait_busy "$pid"
	record --duration 0.3 -p "$gone,$pid"
	cat record.log
	grep -q "there is no process $gone .* only the others are recorded" record.log
	same processes "$("$GCPROF" dump | jq -c 'select(.record == "process") | .pid')" "$pid"
}

@test "a program that is stopped is told of, and recorded when it goes on" {
	need_root
	start "$WORKLOADS/churn" --seconds 1000
	wait_busy "$pid"
	kill -STOP "$pid"
	wait_until in_state T "$pid"
	"$GCPROF" record -v -R 64K -p "$pid" 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_attached
	grep -q "process $pid is stopped" record.log
	kill -CONT "$pid"
	wait_on "$pid" 20
	kill -INT "$recorder"
	wait "$recorder"
	holds '.alloc.samples > 10 and .streams.alloc.attached'
}

has_children() { # PID NAME COUNT
	[ "$(pgrep -c -P "$1" -x "$2")" = "$3" ]
}

@test "long: more processes than descriptors are allowed at first" {
	need_root
	# shellcheck disable=SC2016 # the inner shell's variables
	start sh -c 'for i in $(seq 300); do sleep 100 & echo $!; done >pids; touch made; wait'
	wait_until test -e made
	mapfile -t pids <pids
	started+=("${pids[@]}")
	same made "${#pids[@]}" 300
	# None is a shell any more that will execute it.
	wait_until has_children "$pid" sleep 300
	(
		ulimit -Sn 200
		record --duration 0.1 -p "$(paste -sd, pids)"
	)
	cat record.log
	same processes "$("$GCPROF" dump | jq -c 'select(.record == "process")' | wc -l)" 300
	grep -qE 'sleep\) and [0-9]+ more has mapped' record.log
}

@test "long: processes are given with several -p, separated by commas or blanks, or behind -p" {
	need_root
	local first pids
	start sleep 100
	first=$pid
	start sleep 100
	pids=$(printf '%s\n' "$first" "$pid" | sort -n | xargs)
	recorded() { # ARGUMENTS...
		record --duration 0.1 "$@"
		same "processes of $*" "$("$GCPROF" dump | jq 'select(.record == "process").pid' | sort -n | xargs)" "$pids"
	}
	recorded -p "$first" -p "$pid"
	recorded -p "$first,$pid"
	recorded -p "$first $pid"
	recorded -p "$(printf '%s\n' "$first" "$pid")"
	recorded -p " $first, $pid"
	# As in -p $(pidof sleep).
	recorded -p "$first" "$pid"
	same json "$("$GCPROF" top --json --once -p "$first" -p "$pid" | jq -c '[.programs[].processes]')" '[2]'
	run "$GCPROF" record -p "$first" --duration 1 --duration 2
	same status "$status" 2
	grep -q -- '--duration: given twice' <<<"$output"
}

@test "on a terminal, what is recorded and how to end it" {
	need_root
	start sleep 100
	script -qefc "$GCPROF record --duration 0.2 -p $pid" /dev/null >terminal
	cat terminal
	grep -q "gcprof: recording process $pid (sleep) for 0.2 s; Ctrl-C ends it sooner" terminal
	record --duration 0.1 -p "$pid"
	absent Ctrl-C record.log
}

@test "what cannot be attached to is told" {
	need_root
	expect() { # PATTERN ARGUMENTS...
		local pattern=$1
		shift
		run "$GCPROF" record "$@"
		echo "$output"
		[ "$status" != 0 ] && grep -qE -- "$pattern" <<<"$output"
	}
	expect 'there is no process 4194303' -p 4194303
	expect 'there is no process 99999999' -p 99999999
	expect 'not a list of process numbers' -p "$$,x"
	expect '^gcprof: error: --pid: must not be empty' -p ''
	expect 'thread of the kernel' -p 2
	expect 'use only one of' -p 2 -- true
	expect 'no such cgroup' --cgroup not/there
	expect 'not a folder of the cgroup hierarchy' --cgroup /tmp
	expect 'either children or none' --follow all -- true
	# shellcheck disable=SC2016 # the inner shell's variables
	run sh -c 'exec "$0" record -p $$' "$GCPROF"
	same status "$status" 2
	grep -q 'is gcprof itself' <<<"$output"
	start "$WORKLOADS/churn" --threads 2 --seconds 1000
	wait_busy "$pid"
	for task in "/proc/$pid/task"/*; do
		[ "${task##*/}" = "$pid" ] || expect "is a thread of process $pid" -p "${task##*/}"
	done
	# shellcheck disable=SC2016
	start sh -c 'sleep 1 & echo $! >zombie; exec sleep 100'
	wait_until test -s zombie
	wait_until in_state Z "$(cat zombie)"
	expect 'zombie' -p "$(cat zombie)"
	start sleep 100
	chmod 777 .
	cp "$GCPROF" gcprof && chmod 755 gcprof
	run setpriv --reuid=65534 --regid=65534 --clear-groups ./gcprof record -p "$pid"
	echo "$output"
	same status "$status" 1
	grep -qE 'belongs to root|needs root' <<<"$output"
	[ ! -e gcprof.data ]
}
