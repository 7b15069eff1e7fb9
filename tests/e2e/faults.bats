#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# faults.bats: what goes wrong around a recorder. Names read "fault: what happens"; tools/faults
# prints a table of them.
# Long: three minutes.

load common

# Starts a recorder of a program that runs for some seconds and leaves `finished`; it is in $recorder.
start_recorder() { # SECONDS OPTIONS...
	need_root
	start_recorder_once "$@"
	# On a busy machine the program may have ended before it did much: then one that runs longer.
	[ -n "${full:-}" ] || wait_sampled "$recorder" || {
		wait "$recorder" || true
		start_recorder_once $((4 * $1)) "${@:2}"
		wait_sampled "$recorder"
	}
	objects "$recorder" >objects
	[ -s objects ]
}

start_recorder_once() { # SECONDS OPTIONS...
	local seconds=$1
	shift
	rm -f finished
	env --default-signal=INT,HUP,PIPE "$GCPROF" record -v "$@" -- \
		/bin/sh -c "trap '' HUP; '$WORKLOADS/churn' --seconds $seconds >/dev/null; echo \$? >finished" \
		2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_for 'ms  the program runs'
}

# Whether the churn behind the shell that a recorder started has its probes; it is in $churn.
sampled() { # RECORDER
	churn=$(pgrep -P "$(pgrep -P "$1" -x sh)" -x churn) &&
		[ "$(memory "$churn" "$(address "$churn" gcprof_sample_semaphore)" 2)" != 0000 ]
}

# They are found a moment after it was started.
wait_sampled() { # RECORDER
	wait_until sampled "$1" && wait_on "$churn" 5
}

wait_for() { # TEXT
	wait_until grep -qsF "$1" record.log && return 0
	cat record.log
	return 1
}

# The program ended as if nobody had recorded it.
finished() {
	for _ in $(seq 400); do
		[ ! -s finished ] || break
		sleep 0.05
	done
	same 'status of the program' "$(cat finished)" 0
}

# What a recorder has in the kernel: "prog 12", "map 13", "link 14".
objects() { # PID
	cat "/proc/$1"/fdinfo/* 2>/dev/null | sed -nE 's/^(prog|map|link)_id:[[:space:]]*([0-9]+)/\1 \2/p' | sort -u
}

# Threads that run still; one that ended may wait for whoever inherited it.
threads_left() { # PID
	cat "/proc/$1"/task/*/stat 2>/dev/null | awk '$3 != "Z" && $3 != "X" {print " thread", $1}'
}

# No BPF object, uprobe or thread of the recorder is there any more.
nothing_left() { # [PID]
	local kind id left
	for _ in $(seq 100); do
		left=$(threads_left "${1:-$recorder}")
		while read -r kind id; do
			! bpftool "$kind" show id "$id" >/dev/null 2>&1 || left="$left $kind $id"
		done <objects
		[ -n "$left" ] || return 0
		sleep 0.1
	done
	same 'left in the kernel' "$left" ""
}

# Waits for the recorder; its exit status is in $code.
wait_recorder() {
	code=0
	wait "$recorder" || code=$?
	cat record.log
}

whole() { # FILE
	"$GCPROF" info "$1" >info
	absent 'end is missing' info
}

@test "recorder gets SIGTERM, SIGINT or SIGHUP: the profile is completed, the program goes on unprofiled" {
	for signal in TERM INT HUP; do
		start_recorder 8
		kill -s $signal "$recorder"
		wait_recorder
		same status $code 0
		[ ! -e finished ]
		whole gcprof.data
		same reason "$(ask .end_reason)" interrupted
		holds '.alloc.samples > 1'
		nothing_left
		finished
	done
}

@test "recorder gets SIGKILL: the profile is readable up to its last second, the program goes on unprofiled" {
	start_recorder 4 -R 64K
	wait_until has_stored alloc 100
	kill -KILL "$recorder"
	wait_recorder
	nothing_left
	"$GCPROF" report >text 2>&1
	grep -qi 'end is missing' text
	holds '.alloc.samples > 10 and .gc.minor.count > 1'
	finished
}

@test "recorder gets SIGKILL before it is ready: the program does not run at all, or to its end" {
	need_root
	for delay in 0.02 0.05 0.1 0.2 0.4; do
		rm -f ran finished
		"$GCPROF" record -- /bin/sh -c 'echo >ran; sleep 0.3; echo >finished' 2>record.log 3>&- &
		recorder=$!
		started+=("$recorder")
		sleep "$delay"
		# With the longest delay it may have ended by itself.
		kill -KILL "$recorder" 2>/dev/null || true
		wait "$recorder" || true
		sleep 0.1
		[ ! -e ran ] || for _ in $(seq 100); do
			[ ! -e finished ] || break
			sleep 0.05
		done
		same "killed after $delay s" "$([ -e ran ] && echo ran)" "$([ -e finished ] && echo ran)"
	done
}

@test "disk is full: a message, status 1, what was written before stays readable, the program goes on" {
	need_root
	mkdir small
	mount -t tmpfs -o size=64k none small || skip 'cannot mount a tmpfs'
	full=1 start_recorder 3 -R 4K -o small/x || { umount small; return 1; }
	wait_recorder
	cp small/x copy
	umount small
	[ "$code" != 0 ]
	grep -qi 'no space left' record.log
	"$GCPROF" info copy >info
	nothing_left
	finished
}

@test "output file is removed or replaced: a message at once, status 1, the program goes on to its end" {
	for how in 'rm gcprof.data' 'rm gcprof.data; echo other >gcprof.data'; do
		start_recorder 5
		eval "$how"
		wait_for 'was removed or replaced'
		[ ! -e finished ]
		wait_recorder
		same status $code 1
		same 'told once' "$(grep -c 'was removed or replaced' record.log)" 1
		nothing_left
		finished
	done
	same 'the new file' "$(cat gcprof.data)" other
}

@test "output is a pipe (-o -): the whole profile goes through it, the program's own output to standard error" {
	need_root
	"$GCPROF" record -R 64K -o - -- /bin/sh -c "echo of the program; '$WORKLOADS/churn' --seconds 1" 2>err |
		"$GCPROF" report --json - >report.json
	cat err
	grep -qx 'of the program' err
	jq -e '.alloc.samples > 100 and .exit_status == 0' report.json
	[ ! -e - ]
}

@test "reader of that pipe goes away: a message, status 1, the program goes on" {
	need_root
	rm -f finished
	echo 0 >code
	("$GCPROF" record -R 64K -o - -- /bin/sh -c "'$WORKLOADS/churn' --seconds 3; echo \$? >finished" 2>record.log 3>&- ||
		echo $? >code) | head -c 100 >/dev/null
	cat record.log
	same status "$(cat code)" 1
	grep -q 'Broken pipe' record.log
	finished
}

@test "output is a terminal (-o -): refused before anything runs" {
	need_root
	command -v script >/dev/null || skip 'no script(1)'
	script -qec "'$GCPROF' record -o - -- /bin/touch ran" /dev/null >text </dev/null || code=$?
	cat text
	same status "$code" 1
	grep -q 'is a terminal' text
	[ ! -e ran ]
}

@test "terminal goes away: the profile is completed as with SIGHUP, a program that ignores it goes on" {
	need_root
	command -v script >/dev/null || skip 'no script(1)'
	cat >session <<-SH
		echo \$\$ >pid
		exec '$GCPROF' record -v -- /bin/sh -c "trap '' HUP; '$WORKLOADS/churn' --seconds 3 >/dev/null; echo \\\$? >finished" 2>record.log
	SH
	script -qec 'sh session' /dev/null >/dev/null 2>&1 3>&- </dev/null &
	terminal=$!
	started+=("$terminal")
	wait_for 'ms  the program runs'
	recorder=$(cat pid)
	wait_sampled "$recorder"
	objects "$recorder" >objects
	[ -s objects ]
	kill -KILL "$terminal"
	wait_for 'everything is detached'
	[ ! -e finished ]
	whole gcprof.data
	nothing_left "$recorder"
	finished
}

@test "suspended (Ctrl-Z) and resumed: what the rings could not hold is counted, all else is recorded" {
	start_recorder 5 -R 16K --ceiling 0
	kill -STOP "$recorder"
	sleep 2
	kill -CONT "$recorder"
	wait_recorder
	same status $code 0
	whole gcprof.data
	# Sample ids are given one after another: the last tells how many were sent.
	"$GCPROF" dump | jq -s '[.[] | select(.record == "alloc").sample] | {stored: length, sent: (max - min + 1)}' >counts
	lost=$(ask .streams.alloc.lost)
	cat counts
	echo "lost $lost"
	[ "$lost" -gt 0 ]
	# Because the ring was full, and because the program had filled its share of it.
	[ "$(awk '/ allocation events? (was|were) lost: / {sum += $3} END {printf "%d", sum}' record.log)" = "$lost" ]
	# What was lost may also be a fate, a type or a period: those have no ids.
	jq -e --argjson lost "$lost" '.stored + $lost >= .sent and .stored < .sent' counts
	# It goes on until the program ends.
	"$GCPROF" dump | jq -se '([.[] | select(.record == "end").time][0] - ([.[] | select(.record == "alloc").time] | max)) < 1e9'
	nothing_left
	finished
}

@test "both suspended (Ctrl-Z) and resumed: nothing is lost" {
	start_recorder 8
	shell=$(pgrep -P "$recorder" -x sh)
	program=$(pgrep -P "$shell")
	started+=("$shell" "$program")
	kill -STOP "$program" "$shell" "$recorder"
	sleep 1
	kill -CONT "$recorder" "$shell" "$program"
	wait_recorder
	same status $code 0
	whole gcprof.data
	holds '[.streams[].lost] | add == 0'
	nothing_left
	finished
}

@test "recorder in a time namespace (a stepped CLOCK_MONOTONIC): times are the kernel's all the same" {
	need_root
	unshare -T true 2>/dev/null || skip 'no time namespaces'
	before=$(awk '{print int($1)}' /proc/uptime)
	for step in 100000 -1000; do
		unshare -T --fork --monotonic=$step "$GCPROF" record -R 64K -o step.data -- /bin/sleep 0.5 2>record.log
		cat record.log
		"$GCPROF" dump step.data >dump
		jq -se --argjson at "$before" '([.[] | select(.record == "recording").start][0] / 1e9) as $start |
			$start > $at - 1 and $start < $at + 600' dump
		holds '.duration_ns > 4e8 and .duration_ns < 60e9 and ([.streams[].lost] | add == 0)' step.data
		absent 'out of order' record.log
	done
}

@test "two recorders on one program: both profiles are right and have all names, the first to leave does not disturb the other" {
	need_root
	"$WORKLOADS/churn" --seconds 100 >/dev/null 2>&1 3>&- &
	target=$!
	started+=("$target")
	"$GCPROF" record -v -o first.data -p $target 2>first.log 3>&- &
	first=$!
	started+=("$first")
	for _ in $(seq 500); do
		! grep -q 'ms  probes attached' first.log || break
		sleep 0.02
	done
	"$GCPROF" record -v --duration 1 -o second.data -p $target 2>record.log
	grep -q 'another gcprof may be recording' record.log
	absent warning record.log
	sleep 0.5
	objects $first >objects
	kill -INT $first || true
	kill -TERM $first
	wait $first
	holds '.alloc.samples > 10 and .gc.minor.count > 1 and ([.streams[].lost] | add == 0)' second.data
	for profile in first.data second.data; do
		holds '.alloc.samples > 10 and ([.alloc.types[].name] | length > 0 and all(startswith("type") | not))' $profile
		holds '.alloc.types[0].name | startswith("object")' $profile
		# But for one that was under way when the program was told.
		holds '(.stacks.unfinished.lost // 0) <= 4' $profile
	done
	# The first went on after the second had left.
	"$GCPROF" dump second.data | jq -s '[.[] | select(.record == "end").time][0]' >left
	"$GCPROF" dump first.data | jq -se --slurpfile left left '[.[] | select(.record == "alloc" and .time > $left[0])] | length > 10'
	recorder=$first
	nothing_left
	kill -0 $target
	same semaphore "$(memory $target "$(address $target gcprof_sample_semaphore)" 2)" 0000
}

@test "recorder under a memory limit (ulimit -v): refused, stopped or dropping events, with a message for each; never killed, the program unharmed" {
	need_root
	for limit in 12000 20000 60000 90000 110000 130000 200000 500000; do
		rm -f finished gcprof.data
		code=0
		# The limit is the recorder's alone.
		prlimit --as=$((limit * 1024)):unlimited "$GCPROF" record -R 16K -- /usr/bin/prlimit --as=unlimited \
			/bin/sh -c "'$WORKLOADS/churn' --seconds 1 >/dev/null; echo \$? >finished" 2>record.log || code=$?
		echo "$limit KiB: status $code, $(grep -E "error|recorded" record.log)"
		# 127: the dynamic linker has no room for the libraries; from 128 on a signal killed it.
		[ "$code" -le 127 ] || return 1
		if [ "$code" != 0 ]; then
			grep -qiE 'error: .*(memory|cannot|not load)|shared|cannot allocate' record.log
		else
			whole gcprof.data
			finished
		fi
	done
	same 'status with enough' "$code" 0
	holds '[.streams[].lost] | add == 0'
}

# A group whose memory can be limited, in $group; the file that says how much, in $limit_file.
make_memory_group() {
	local mount
	mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ {print $2; exit}' /proc/self/mounts)
	limit_file=memory.limit_in_bytes
	if [ -z "$mount" ]; then
		mount=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)
		limit_file=memory.max
	fi
	group=$mount/gcprof-test-$$
	[ -n "$mount" ] && mkdir "$group" 2>/dev/null || skip 'cannot make a cgroup'
	[ -e "$group/$limit_file" ] || { rmdir "$group" && skip 'no cgroup here limits memory'; }
}

# Gone once its last process is.
drop_memory_group() {
	for _ in $(seq 100); do
		! rmdir "$group" 2>/dev/null || return 0
		sleep 0.1
	done
	return 1
}

@test "recorder in a cgroup with little memory: refused with a message, or killed by the kernel with a profile that can be read, or whole; the program unharmed" {
	need_root
	make_memory_group
	"$WORKLOADS/churn" --seconds 300 >/dev/null 2>&1 3>&- &
	target=$!
	started+=("$target")
	for limit in 8M 24M 40M 512M; do
		rm -f gcprof.data
		echo $limit >"$group/$limit_file"
		code=0
		(echo "$BASHPID" >"$group/cgroup.procs" &&
			exec "$GCPROF" record -R 64K --duration 1 -p $target) 2>record.log 3>&- || code=$?
		echo "$limit: status $code, $(tail -n 1 record.log)"
		case $code in
		0) holds '.end_reason == "duration over"' ;;
		1) grep -qiE 'error: .*memory' record.log ;;
		137) [ ! -s gcprof.data ] || "$GCPROF" info | grep -q 'the recorder was killed' ;;
		*) return 1 ;;
		esac
		kill -0 $target
		# Whatever became of the recorder, nobody samples any more.
		for _ in $(seq 100); do
			sampling=$(memory $target "$(address $target gcprof_sample_semaphore)" 2)
			[ "$sampling" != 0000 ] || break
			sleep 0.1
		done
		same semaphore "$sampling" 0000
	done
	same 'status with enough' "$code" 0
	holds '.alloc.samples > 10 and ([.streams[].lost] | add == 0)'
	drop_memory_group
}
