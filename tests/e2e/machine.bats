#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# machine.bats: recording the whole machine (--system): this file runs alone, since all others are recorded.

# shellcheck disable=SC2154 # what `start` and `start_waiting` set

load common
load cputime

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	gcc -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/processes.c" -o "$PROGRAMS/processes" -lpthread
	gcc -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/clocked.c" -o "$PROGRAMS/clocked" -lpthread
}

@test "--system records every process but the recorder's own" {
	need_root
	start "$WORKLOADS/churn" --seconds 1000
	churn=$pid
	start "$WORKLOADS/gcbench" 1000
	wait_busy "$churn"
	wait_busy "$pid"
	begin_recording --system --max-overhead off
	"$PROGRAMS/processes" fork 3
	wait_on "$churn" 20
	wait_on "$pid" 20
	helpers=$(pgrep -P "$recorder" | jq -cs .)
	same 'readers and openers are there' "$(jq 'length >= 2' <<<"$helpers")" true
	end_recording
	cat record.log
	"$GCPROF" dump | grep '^{"record":"process"' | jq -s 'map(.pid)' >pids
	jq -e ". - $helpers == . and (index($churn) and index($pid) and (index($recorder) | not))" pids
	holds '([.functions[] | select(.alloc_total_bytes > 0).name] | index("churn_round") != null)'
	holds '[.threads[] | select(.name == "gcbench" and .samples > 0)] | length > 0'
	holds '[.threads[] | select(.name == "kthreadd")] | length == 1 and .[0].alloc_bytes == null'
	holds '[.syscalls[] | select(.name == "getsid")][0].count >= 30'
	holds '.streams.process.lost == 0'
}

# Whether processes or threads have these niceness values, in order, each once.
nices_are() { # VALUES STAT...
	local values=$1
	shift
	[ "$(cat "$@" | sed 's/.*) //' | awk '{print $17}' | sort -nu | tr '\n' ' ')" = "$values" ]
}

@test "the recorder's priority is its own, and over when it samples" {
	need_root
	own=$(nice -n 3 nice)
	start "$WORKLOADS/churn" --seconds 1000
	nice -n 3 "$GCPROF" record -v -o one.data -p "$pid" 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_attached
	# It is the last thing done before the rounds begin.
	wait_until nices_are "$own " /proc/"$recorder"/task/*/stat
	kill -INT "$recorder"
	wait "$recorder"

	nice -n 3 "$GCPROF" record -o two.data -- sh -c 'nice; exec cat /proc/$PPID/stat' >out 2>record.log
	same 'niceness of the program and the recorder' \
		"$(sed -n 1p out) $(sed -n '2{s/.*) //;p}' out | awk '{print $17}')" "$own $own"

	nice -n 3 "$GCPROF" record -v --system -o three.data 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_attached
	# Its thread and its processes set theirs back themselves, when they begin.
	mapfile -t own_children < <(pgrep -P "$recorder" | sed 's|.*|/proc/&/stat|')
	wait_until nices_are "-20 $own " "/proc/$recorder/stat" "${own_children[@]}"
	wait_until nices_are "-20 $own " /proc/"$recorder"/task/*/stat
	kill -INT "$recorder"
	wait "$recorder"
}

@test "the whole machine: a program's row is exact" {
	start_waiting 1.5
	begin_recording -F 999 --max-overhead 100 --system
	let_work
	# Others may do to the machine what no recorder of it stands; it says so.
	[ "$(ask '[.losses[] | select(.severity == "lost") | .count] | add // 0')" = 0 ] || skip 'events were lost'
	exact "[.threads[] | select(.pid == $program).cpu_ns] | add"
	exact "[.programs[] | select(.name == \"clocked\").cpu_ns] | add"
	"$GCPROF" report --json --filter "process=$program" >filtered
	# Samples of all threads of a CPU share its time: a few ms more or less, and more where a host takes the CPU.
	jq -e --argjson truth "$(truth cpu_ns)" '.cpu.on_cpu_ns, (.cpu.on_cpu_ns - $truth | fabs) < $truth / 10 + 10000000' filtered
}

@test "long: a timer that is slow by itself ticks all the same" {
	need_root
	start "$PROGRAMS/clocked" busy 600
	begin_recording --system -F 2 --syscalls off
	wait_until has_stored cpu 3
	end_recording
}

has_type() { # PREFIX
	"$GCPROF" report --json 2>/dev/null | jq -e --arg prefix "$1" '[.alloc.types[].name] | any(startswith($prefix))'
}

@test "with --system programs are written to only on request" {
	need_root
	command -v java >/dev/null || skip 'no java'
	start java -Xmx128m "$ROOT/tests/e2e/programs/Allocate.java" 100000 1000000
	begin_recording -F 0 --syscalls off --system --writes
	wait_until has_type Allocate
	end_recording
	begin_recording -F 0 --syscalls off --system
	wait_on "$pid" 100
	end_recording
	needs_nobody_else holds '[.alloc.types[].name] | any(startswith("Allocate")) | not'
	grep -F -- '--system without --writes' record.log
}
