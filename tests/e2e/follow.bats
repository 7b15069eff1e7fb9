#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# follow.bats: processes, threads and libraries however they come to be: each is followed, none twice.
# Parallel: no other recorder matters.

load common

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	gcc -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/processes.c" -o "$PROGRAMS/processes" -lpthread
	gcc -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/host.c" -o "$PROGRAMS/host" -ldl
	gcc -O1 -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden -fno-omit-frame-pointer -I"$ROOT/gc" \
		"$ROOT/tests/e2e/programs/plugin.c" "$BUILD/libgcprof-gc.a" "$BUILD/tests/provider.a" -lm -lpthread \
		-o "$PROGRAMS/plugin.so"
}

# Records a way of making processes; each of COUNT must be there, with its ten calls.
check_way() { # WAY COUNT EXECS
	record -F 0 -- "$PROGRAMS/processes" "$1" "$2"
	"$GCPROF" dump >dump
	same "processes by $1" "$(jq -s '[.[] | select(.record == "process")] | length' dump)" $(($2 + 1))
	same "ends by $1" "$(jq -s '[.[] | select(.record == "exit" and .last == 1)] | length' dump)" $(($2 + 1))
	same "parents by $1" "$(jq -s -c '[.[] | select(.record == "process").parent] | unique' dump)" '[0,1]'
	same "calls by $1" "$(ask '[.syscalls[] | select(.name == "getsid")][0].count')" $(($2 * 10))
	same "programs by $1" "$(jq -s '[.[] | select(.record == "exec")] | length' dump)" $(($3 + 1))
	holds '[.streams[].lost] | add == 0'
}

@test "children that write titles over their command lines are told apart by them" {
	need_root
	gcc -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/titles.c" -o "$PROGRAMS/titles"
	record -- "$PROGRAMS/titles" --in the beginning
	holds '[.threads[].title // ""] | any(endswith("titles --in the beginning"))'
	holds '[.threads[].title // ""] | any(startswith("server: writer, which has more"))'
	holds '[.threads[].title // ""] | any(startswith("server: checkpointer, which has more"))'
	"$GCPROF" report --threads | grep -F '[server: writer'
	"$GCPROF" report --json --filter 'process=server: w*' >filtered
	same 'threads of the filter' "$(jq '[.threads[] | select(.cpu_samples > 0)] | length' filtered)" 1
}

@test "what a shell starts has probes without CAP_SYS_PTRACE, in a container of equal rights" {
	need_root
	local kept=-all,+bpf,+perfmon,+sys_admin,+dac_override,+dac_read_search,+ipc_lock,+sys_nice,+chown
	setpriv --bounding-set "$kept" --inh-caps "$kept" "$GCPROF" record -o gcprof.data -R 64K -- \
		sh -c "'$WORKLOADS/churn' --seconds 300 & until [ -e over ]; do sleep 0.1; done; kill \$!; wait" 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until has_stored alloc 20
	wait_until has_stored gc_begin 1
	touch over
	wait "$recorder"
	holds '.alloc.samples > 10 and .gc.minor.count > 0'
}

@test "fork" {
	need_root
	check_way fork 20 0
}

@test "vfork, and exec in the child" {
	need_root
	check_way vfork 20 20
}

@test "clone with shared memory" {
	need_root
	check_way clone 20 0
}

@test "posix_spawn" {
	need_root
	check_way spawn 20 20
}

@test "long: a thousand threads at once" {
	need_root
	record -- "$PROGRAMS/processes" threads 1000
	"$GCPROF" dump >dump
	same threads "$(jq -s '[.[] | select(.record == "thread")] | length' dump)" 1001
	same ends "$(jq -s '[.[] | select(.record == "exit")] | length' dump)" 1001
	same processes "$(jq -s '[.[] | select(.record == "process")] | length' dump)" 1
	same calls "$(ask '[.syscalls[] | select(.name == "getsid")][0].count')" 10000
	holds '[.streams[].lost] | add == 0'
}

@test "long: a thousand processes as fast as they can be made" {
	need_root
	check_way fork 1000 0
}

# Whether so many processes have collections in the profile, which is still written.
has_collected() { # COUNT
	[ "$(ask .gc.processes 2>/dev/null)" = "$1" ]
}

@test "each program that a shell starts has its collections, from soon after it began" {
	need_root
	local i recorder
	# Each ends when the profile has some of its collections.
	rm -f over
	"$GCPROF" record -F 0 -- sh -c 'for i in 1 2 3 4 5; do "$0" --seconds 300 >/dev/null & echo $! >"running.$i"
		until [ -e "over.$i" ]; do sleep 0.1; done; kill $!; wait; done' "$WORKLOADS/churn" 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	for i in 1 2 3 4 5; do
		wait_until test -s running.$i
		started+=("$(cat running.$i)")
		wait_until has_collected $i
		touch over.$i
	done
	wait "$recorder"
	same programs "$(ask .gc.processes)" 5
	# On a machine with other work.
	holds '[.losses[] | select(.name == "UNPROBED").count] | add // 0 | . < 5 * 1000'
}

@test "the same process number again and again is another process each time" {
	need_root
	"$PROGRAMS/processes" reuse 2 >/dev/null 2>err || skip "numbers cannot be chosen: $(cat err)"
	for _ in $(seq 10); do
		# Somebody else may take the number in between: then once more.
		record -F 0 -- "$PROGRAMS/processes" reuse 30 && break
	done
	pid=$(cat out)
	"$GCPROF" dump >dump
	same processes "$(jq -s "[.[] | select(.record == \"process\" and .pid == $pid)] | length" dump)" 30
	same threads "$(jq -s "[.[] | select(.record == \"thread\" and .tid == $pid)] | length" dump)" 30
	same ids "$(jq -s "[.[] | select(.record == \"process\" and .pid == $pid).id] | unique | length" dump)" 30
	# The totals of each: ten calls, of none twice as many.
	same calls "$(jq -s -c '[.[] | select(.record == "syscall_total" and .number == 124)] | group_by(.process) | map(map(.count) | add) | unique' dump)" '[10]'
	holds '[.streams[].lost] | add == 0'
}

@test "long: exec through #!, and of programs with another libc or none" {
	need_root
	gcc -O1 -static -D_GNU_SOURCE "$ROOT/tests/e2e/programs/processes.c" -o static -lpthread
	cp static stripped && strip stripped
	printf '#!/bin/sh\nexec ./static fork 3\n' >script
	printf '#!%s\n' "$PWD/script" >nested
	chmod +x script nested
	record -F 0 -- ./nested
	same 'calls behind scripts' "$(ask '[.syscalls[] | select(.name == "getsid")][0].count')" 30
	record -F 0 -- /bin/sh -c './stripped fork 2; exec ./static threads 5'
	same 'calls of static programs' "$(ask '[.syscalls[] | select(.name == "getsid")][0].count')" 70
	"$GCPROF" dump >dump
	same paths "$(jq -r -s '[.[] | select(.record == "string")] as $s | [.[] | select(.record == "exec").path as $p | $s[] | select(.id == $p).text] | join(" ")' dump)" \
		'/bin/sh ./stripped ./static'
	if command -v musl-gcc >/dev/null; then
		printf '#include <unistd.h>\nint main(void) { for (int i = 0; i < 7; i++) getsid(0); return 0; }\n' >other.c
		musl-gcc -O1 other.c -o other
		record -F 0 -- /bin/sh -c './other; exec ./other'
		same 'calls of musl programs' "$(ask '[.syscalls[] | select(.name == "getsid")][0].count')" 14
	fi
	holds '[.streams[].lost] | add == 0'
}

none_missed() {
	holds '.streams.alloc.attached and
		.alloc.bytes.estimate > 0.9 * 201.3e6 and .alloc.bytes.estimate < 1.1 * 201.3e6'
}

has_item() {
	[ "$(ask '.alloc.types[0].name == "plugin_item" and .alloc.samples > 100' 2>/dev/null)" = true ]
}

# The kernel reports no mappings of these to a recorder of one program.
@test "long: setuid programs, and what they start, have names" {
	need_root
	gcc -O1 -x c - -o spins <<-'C'
		#include <time.h>
		#include <unistd.h>
		static volatile long n;
		__attribute__((noinline)) static void spin(void) { for (int i = 0; i < 10000; i++) n++; }
		int main(int argc, char **argv)
		{
			clock_t end = clock() + CLOCKS_PER_SEC;
			while (clock() < end) spin();
			return argc > 1 ? execv(argv[1], argv + 1) : 0;
		}
	C
	cp spins other
	chown 65534 other
	chmod u+s,go+rx other .
	record -- ./other ./spins
	holds '[.functions[] | select(.name == "spin" and (.module | endswith("other"))) | .cpu_samples > 100] == [true]'
	holds '[.functions[] | select(.name == "spin" and (.module | endswith("spins"))) | .cpu_samples > 100] == [true]'
	holds '.stacks.complete > 0.8'
}

@test "long: a library with probes that is loaded and unloaded while the program runs" {
	need_root
	# 192 MiB in three rounds: none is missed, although each loads it anew. (Whoever records the whole
	# machine meanwhile listens, too, perhaps before us, and may ask for fewer samples.)
	for _ in 1 2 3; do
		record -R 64K -- "$PROGRAMS/host" "$PROGRAMS/plugin.so" 3
		! none_missed || break
	done
	cat record.log
	needs_nobody_else none_missed
	holds '.alloc.types[0].name == "plugin_item" and ([.functions[].name] | index("plugin_run") != null)'
	holds '[.streams[].lost] | add == 0'
	# And into a program that runs already, until its names were read while the library was there.
	start "$PROGRAMS/host" "$PROGRAMS/plugin.so" 100000
	begin_recording -R 64K -p "$pid"
	wait_until has_item
	end_recording
	cat record.log
	holds '.alloc.types[0].name == "plugin_item" and .alloc.samples > 100'
}

@test "a process that the program leaves behind is named, with the way to record it" {
	need_root
	record -- sh -c 'setsid sleep 600 </dev/null >/dev/null 2>&1 3>&- & echo $! >left
		until grep -qx sleep /proc/$!/comm; do sleep 0.01; done' 3>&-
	pid=$(cat left)
	started+=("$pid")
	kill -0 "$pid"
	cat record.log
	grep -q "no longer recorded: sleep ($pid); to record them: gcprof record -p $pid\$" record.log
	# Not one that ends before.
	record -- sh -c 'sleep 0.1 & sleep 0.1; wait' 3>&-
	absent 'no longer recorded' record.log
	# Nor where the program itself goes on.
	record --duration 300ms -- sleep 600 3>&-
	absent 'no longer recorded' record.log
	for pid in $("$GCPROF" dump | jq -r 'select(.record == "process").pid'); do
		started+=("$pid")
	done
}
