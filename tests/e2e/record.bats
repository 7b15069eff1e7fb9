#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# record.bats: recording real programs: whose events, exit codes, signals, users, wrappers, kills.
# Parallel: no other recorder matters.

load common

@test "the program's exit status is gcprof's" {
	need_root
	run "$GCPROF" record -- /bin/sh -c 'exit 37'
	same status "$status" 37
	run "$GCPROF" record -- /bin/sh -c 'kill -SEGV $$'
	same status "$status" 139
	run "$GCPROF" record -- /bin/true
	same status "$status" 0
}

@test "stdin, stdout, stderr, arguments and folder are the program's own" {
	need_root
	echo 'a line' | "$GCPROF" record -- /bin/sh -c 'cat; pwd; echo "$1" >&2' sh 'two words' >out 2>err
	same stdout "$(cat out)" "a line
$(pwd)"
	grep -qx 'two words' err
}

@test "a summary of one line ends the recording; the report names the command" {
	need_root
	record -- "$WORKLOADS/churn" --bytes 64M
	cat record.log
	[ "$(grep -c 'gcprof.data' record.log)" -ge 1 ]
	[ -z "$(grep -v '^gcprof: ' record.log)" ]
	same command "$(ask '.command[1]')" --bytes
	"$GCPROF" report >text
	grep -q churn text
}

@test "a program with no gcprof probes is recorded all the same, and told so" {
	need_root
	record -- /bin/ls /usr/include
	grep -q 'no runtime that gcprof knows' record.log
	holds '.streams.syscall.attached and .streams.cpu.attached and .streams.process.attached'
	holds '(.streams.alloc.attached | not) and (.streams.alloc.why_not | length) > 0'
	holds '[.syscalls[] | select(.name == "getdents64")] | length == 1'
	"$GCPROF" report | tr -s '\n ' ' ' >report.txt
	grep -q 'no runtime that gcprof knows in ls or its libraries; --malloc samples malloc()' report.txt
}

@test "of several programs without a runtime the last are named, and none if one of them has a runtime" {
	need_root
	printf '#!/bin/sh\nuname >&2\n"$@"\n' >launch
	chmod +x launch
	record -F 0 -- ./launch ls /
	grep -q 'no collections were recorded: no runtime that gcprof knows in launch, uname or ls or in their' record.log
	holds '.streams.gc.why_not | contains("launch, uname or ls")'
	record_told over gc_begin 1 -F 0 -- ./launch sh -c "'$WORKLOADS/churn' --seconds 300 &
		until [ -e over ]; do sleep 0.1; done; kill \$!; wait"
	holds '.gc.minor.count > 0'
	absent 'no runtime' record.log
}

# Whether a profile, which is still written, has samples and collections.
has_allocation() {
	[ "$(ask '.streams.alloc.attached and .alloc.samples > 1000 and .gc.minor.count > 10' 2>/dev/null)" = true ]
}

# Records until that is so, then ends the churn that is recorded.
record_churn() { # STATUS COMMAND...
	rm -f gcprof.data
	"$GCPROF" record -R 64K -- "${@:2}" >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until has_allocation || { cat record.log; return 1; }
	churn=$(cat churn 2>/dev/null || pgrep -P "$recorder" -x churn)
	kill -TERM "$churn"
	code=0
	wait "$recorder" || code=$?
	cat record.log
	same status "$code" "$1"
	has_allocation
}

@test "a program behind a shell or exec is followed and its probes are found" {
	need_root
	# Found when it is mapped: what it does in its first milliseconds may be missed.
	record_churn 37 /bin/sh -c "'$WORKLOADS/churn' --seconds 300 & echo \$! >churn; wait; exit 37"
	rm churn
	record_churn 143 /usr/bin/env "$WORKLOADS/churn" --seconds 300
}

@test "a program that gets the collector from the shared library is recorded" {
	need_root
	gcc -O2 -D_GNU_SOURCE -fno-omit-frame-pointer -I"$ROOT/gc" "$ROOT"/tests/workloads/gcbench/*.c -I"$ROOT/tests/workloads" \
		-L"$BUILD" -lgcprof-gc -lgcprof-provider -lm -o gcbench
	cp "$BUILD/libgcprof-gc.so" libgcprof-gc.so.0
	cp "$BUILD/libgcprof-provider.so" libgcprof-provider.so.0
	LD_LIBRARY_PATH=$PWD record -R 256K -- ./gcbench
	holds '.alloc.samples > 100 and .gc.minor.count > 10 and .streams.alloc.lost == 0'
}

@test "only the target's events are recorded, however busy the others are" {
	need_root
	for _ in 1 2 3 4; do
		GCPROF_PERIOD=64K "$WORKLOADS/churn" --seconds 600 >/dev/null 2>&1 3>&- &
		started+=("$!")
	done
	record -R 64K -- "$WORKLOADS/churn" --threads 4 --bytes 128M
	kill "${started[@]}"
	"$GCPROF" dump >dump
	same processes "$(jq -s '[.[] | select(.record == "process")] | length' dump)" 1
	same 'mutator threads' "$(jq -s '[.[] | select(.record == "alloc") | .thread] | unique | length' dump)" 4
	# 512 MiB were allocated, which 8192 samples tell to 1.1 %; every event of another churn would add
	# to that. (Five times and a half of it on both sides, and the interval's 2.2 %.)
	needs_nobody_else holds '.alloc.bytes.low < 557e6 and .alloc.bytes.high > 516e6'
	holds '.streams.alloc.lost == 0 and .streams.gc.lost == 0'
}

@test "children are followed: each its own process" {
	need_root
	record -- /bin/sh -c '/bin/true; /bin/ls / >/dev/null; /bin/true'
	"$GCPROF" dump >dump
	same processes "$(jq -s '[.[] | select(.record == "process")] | length' dump)" 4
	same exits "$(jq -s '[.[] | select(.record == "exit" and .last == 1)] | length' dump)" 4
}

@test "long: a storm of processes is counted to the last call" {
	need_root
	record -- /bin/sh -c 'i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i + 1)); done'
	cat record.log
	holds '[.syscalls[] | select(.name == "execve" or .name == "exit_group") | .count] == [1001, 1001]'
	holds '.streams | to_entries | all(.value.lost == 0)'
}

@test "counts of system calls agree with strace" {
	need_root
	mkdir tree && cp -r /usr/include/linux tree/
	"$WORKLOADS/indexer" -o index tree >/dev/null
	# No samples, also where somebody records the whole machine meanwhile: the sampler's own tables would
	# be calls that only one of the two sees.
	export GCPROF_PERIOD=64G
	for _ in $(seq 5); do
		# Always at the same addresses: where a mapping falls decides how much of it is given back.
		strace -c -f -S calls -U calls,name -o counts setarch -R "$WORKLOADS/indexer" -o index tree >out
		record -R 64G -- setarch -R "$WORKLOADS/indexer" -o index tree
		ask '.syscalls[] | "\(.name) \(.count)"' | sort >ours
		awk '$1 ~ /^[0-9]+$/ && $2 != "total" {print $2, $1}' counts | sort >theirs
		# exit_group never returns: strace does not list it.
		! diff <(grep -v exit_group theirs) <(grep -v exit_group ours) || return 0
	done
	return 1
}

@test "--duration ends the recording; the program goes on" {
	need_root
	"$GCPROF" record --duration 0.5 -- /bin/sh -c 'until [ -e go ]; do sleep 0.1; done; echo done >finished' 3>&-
	[ ! -e finished ]
	touch go
	wait_until test -s finished
	"$GCPROF" info | grep -qi 'duration'
	holds '.duration_ns > 4e8 and .end_reason == "duration over"'
}

@test "SIGTERM and SIGINT to the recorder end the recording properly" {
	need_root
	for signal in TERM INT; do
		rm -f gcprof.data finished ran go
		# Job control off: a background child ignores SIGINT unless it is reset.
		env --default-signal=INT "$GCPROF" record -- /bin/sh -c \
			'echo >ran; until [ -e go ]; do sleep 0.1; done; echo done >finished' 2>record.log 3>&- &
		recorder=$!
		wait_until test -s ran
		kill -s $signal $recorder
		wait $recorder || same status $? 0
		[ ! -e finished ]
		"$GCPROF" info >info
		absent 'end is missing' info
		touch go
		wait_until test -s finished
	done
}

# Records a shell script at a terminal and types Ctrl-C when a pattern is in a file, for each.
# gcprof's exit status goes to code.
typed() { # SCRIPT PATTERN FILE...
	echo "$1" >program
	shift
	rm -f code ready record.log
	cat >session <<-SH
		'$GCPROF' record -- /bin/sh ./program 2>record.log
		echo \$? >code
	SH
	{
		for ((; $#; )); do
			wait_until grep -qs "$1" "$2" >/dev/null
			shift 2
			printf '\003'
		done
		wait_until test -s code
	} | env --default-signal=INT script -qec 'bash -i ./session' /dev/null >/dev/null 2>&1 3>&-
}

@test "Ctrl-C: the program is recorded to its end, and its status is the recorder's" {
	need_root
	command -v script >/dev/null || skip 'no script(1)'
	# By the signal, and in its own time with a status of its own.
	typed 'echo >ready; exec sleep 600' '' ready
	same 'killed by it' "$(cat code)" 130
	typed 'trap "sleep 0.5; exit 7" INT; echo >ready; while :; do sleep 0.1; done' '' ready
	same 'its own' "$(cat code)" 7
	holds '.end_reason == "program ended" and .exit_status == 7'
	# It goes on: a second one is for the recorder, which says so.
	typed 'trap "echo >got" INT; echo >ready; until [ -e go ]; do sleep 0.1; done; echo >finished' '' ready \
		'press it again to end the recording' record.log
	[ -s got ]
	same 'second' "$(cat code)" 130
	[ ! -e finished ]
	holds '.end_reason != "program ended" and .exit_status == null'
	touch go
	wait_until test -e finished
}

@test "kill -9 of the recorder leaves the program undisturbed and the profile readable" {
	need_root
	"$GCPROF" record -R 256K -- /bin/sh -c \
		"'$WORKLOADS/churn' --seconds 1000 & echo \$! >churn; wait \$!; echo \$? >finished" >out 2>record.log 3>&- &
	recorder=$!
	wait_until test -s churn
	started+=("$recorder" "$(cat churn)")
	wait_until has_stored alloc 1000
	wait_until has_stored gc_end 5
	wait_until has_stored cpu 200 # those that hit the recorder's own BPF programs are none of the program
	kill -KILL $recorder
	wait $recorder || true
	"$GCPROF" report >text 2>err
	cat err
	cat text err | grep -qi 'end is missing'
	holds '.alloc.samples >= 1000 and .gc.minor.count >= 2 and .cpu.samples >= 100'
	[ ! -e finished ]
	wait_on "$(cat churn)" 20
	kill -TERM "$(cat churn)"
	wait_until test -s finished
	same 'ended by the signal' "$(cat finished)" 143
}

@test "under sudo the program and the profile belong to the invoking user" {
	need_root
	user=$(getent passwd nobody | cut -d: -f3)
	group=$(getent passwd nobody | cut -d: -f4)
	chmod 777 .
	SUDO_UID=$user SUDO_GID=$group SUDO_USER=nobody "$GCPROF" record -- /usr/bin/id >out 2>record.log
	grep -q "uid=$user(nobody) gid=$group" out
	absent '0(root)' out
	same owner "$(stat -c %u gcprof.data)" "$user"
}

@test "a sample inside a collection is attributed to the collector" {
	need_root
	GCPROF_GC_CEILING=0 record -- "$WORKLOADS/gcbench" 4
	holds '.cpu.in_gc_ns > 0 and .cpu.in_gc_ns < .cpu.on_cpu_ns'
	# The ticks that lie in a pause of their thread, and as many by what was on the stack.
	ticks=$(ask .cpu.samples)
	inside=$("$GCPROF" query -f csv "SELECT count(DISTINCT ticks.id) FROM ticks JOIN collections
		ON collections.thread = ticks.thread AND time >= start AND time < finish" | tail -n 1)
	stacks=$("$GCPROF" query -f csv "SELECT count(DISTINCT ticks.id) FROM ticks JOIN stack_frames
		ON stack_frames.stack = ticks.stack
		WHERE stack_frames.name IN ('run_minor', 'run_step', 'run_full')" | tail -n 1)
	echo "of $ticks ticks $inside are in pauses, $stacks in the collector's functions"
	ns=$("$GCPROF" query -f csv "SELECT sum(ns) FROM ticks WHERE EXISTS (SELECT 1 FROM collections
		WHERE collections.thread = ticks.thread AND time >= start AND time < finish)" | tail -n 1)
	holds "(.cpu.in_gc_ns - $ns | fabs) < 1000"
	# Probes are fired by these functions, too, before a pause begins and behind its end.
	[ "$inside" -gt 20 ]
	[ "$stacks" -le $((inside * 5 / 4)) ] && [ "$stacks" -ge $((inside * 3 / 4)) ]
	# The kernel's view of its memory: the heap is in it, and little else.
	holds '.gc.rss_peak_bytes > 0.7 * .gc.heap_peak_bytes and .gc.rss_peak_bytes < 1.5 * .gc.heap_peak_bytes'
	# Nothing that the program runs outside a collection has the collector below it.
	holds '.streams | to_entries | all(.value.lost == 0)'
	# Those of which only sums are known take what the collector's functions do. (Without them most would be
	# missing.)
	record -- "$WORKLOADS/gcbench" 12
	ns=$("$GCPROF" query -f csv "SELECT sum(ns) FROM ticks WHERE stack IN (SELECT stack FROM stack_frames
		WHERE name IN ('run_minor', 'run_step', 'run_full'))" | tail -n 1)
	echo "$ns ns in the collector's functions"
	holds ".gc.minor.summed > 0 and .cpu.in_gc_ns > 0.6 * $ns and .cpu.in_gc_ns < 1.8 * $ns"
}

@test "managed functions of lisp stand in the report with file and line" {
	need_root
	record -R 64K -- "$WORKLOADS/lisp" "$ROOT/tests/workloads/lisp/tree.lisp"
	holds '[.functions[] | select(.runtime == "managed" and .alloc_total_bytes > 0 and (.file | endswith("tree.lisp")))] | length > 1'
	# Those of the first moments, before there are unwind rows, may not be, or are guessed.
	holds '.stacks | .complete + (.unfinished.user_guessed // 0) / .samples > 0.7'
}

@test "nothing is left behind" {
	need_root
	before=$(orphans)
	record -- "$WORKLOADS/churn" --bytes 16M
	# The kernel frees them a moment later.
	wait_until no_more_orphans "$before"
}
