#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# time.bats: where the wall time of threads went, beside what programs measure themselves.
# Parallel: no other recorder matters.

# shellcheck disable=SC2154 # what `start` sets

load common

# In each view, the parts of each thread sum to its wall time.
sums_are_exact() {
	holds '[.threads[] | select(.wall_ns)] | length > 0 and all(([.time[]] | add) == .wall_ns)'
	holds '.time_groups | all(([.time[]] | add) == .wall_ns)'
	holds '([.time_groups[].wall_ns] | add) == ([.threads[].wall_ns] | add)'
	"$GCPROF" export -f sqlite -o parts.db
	local columns
	columns=$(sqlite3 parts.db "SELECT group_concat(name, ' + ') FROM pragma_table_info('threads') WHERE name LIKE 'time_%'")
	same 'wall time in the database' "$(jq '[.threads[].wall_ns // 0] | add' report.json)" \
		"$(sqlite3 parts.db "SELECT sum($columns) FROM threads")"
	same 'wall time of groups' "$(jq '[.threads[].wall_ns // 0] | add' report.json)" \
		"$(sqlite3 parts.db "SELECT sum($columns) FROM thread_time")"
	"$GCPROF" export -f html -o page.html
	grep -q '"time": *{' page.html
}

# Lines of `truth`: THREAD PART NS. A machine that is busy wakes threads late.
parts_are_true() {
	local thread part ns
	[ -s truth ]
	while read -r thread part ns; do
		jq -e --arg thread "$thread" --arg part "${part}_ns" --argjson ns "$ns" '
			.threads[] | select(.name == $thread) | .time[$part] as $is |
			# What a thread takes of a CPU to begin is not only its own code.
			(if $part == "own_ns" then .time | .kernel_ns + .recording_ns + .unsampled_ns else 0 end) as $begins |
			$is <= $ns * 1.03 + 10000000 and $is + .time.ready_ns + $begins >= $ns * 0.93 - 5000000' report.json >/dev/null || {
			echo "$thread waited $ns ns for $part"
			jq -c --arg thread "$thread" '.threads[] | select(.name == $thread) | .time' report.json
			return 1
		}
	done <truth
}

@test "C: locks, sleep, work, pipes, own code, clients and servers" {
	need_root
	gcc -O1 -D_GNU_SOURCE "$BATS_TEST_DIRNAME/programs/parts.c" -o parts -lpthread
	record -- ./parts
	sums_are_exact
	grep -v '^syncer' out >truth
	parts_are_true
	# Of the time in fsync(), some is spent on a CPU.
	jq -e --argjson ns "$(awk '$1 == "syncer" {print $3}' out)" '.threads[] | select(.name == "syncer") |
		.time | .disk_ns <= $ns and .disk_ns + .kernel_ns + .ready_ns + .recording_ns + .unsampled_ns >= $ns * 0.8' report.json
	holds '[.threads[] | select(.name | IN("sleeper", "worker", "server")) | .serves] | any | not'
	holds '[.threads[] | select(.name | test("convoy|spinner|client")) | .serves] | all'
	"$GCPROF" report --time >text
	grep -q '^  convoy-# (parts): 2 threads' text
	grep -A1 '^  reader' text | grep -q '^ *other threads and processes [19]'
}

@test "without waits, time off the CPU is not recorded" {
	need_root
	record --no-off-cpu -- "$WORKLOADS/waits" sleep 20
	sums_are_exact
	holds '.threads[0].time | .unrecorded_ns > 100000000 and .idle_ns == 0 and .blocked_ns == 0'
	"$GCPROF" report --time >text
	grep -q 'not recorded [2-9][0-9]' text
	grep -q -- '--off-cpu' text
}

# Since the group was made.
stopped_ns() { # GROUP
	awk '$1 ~ /^throttled_(usec|time)$/ {printf "%.0f\n", $2 * ($1 ~ /usec/ ? 1000 : 1)}' "$1/cpu.stat"
}

@test "a CPU quota is named, with what its control group says that it cost" {
	need_root
	local group stopped within limit=cpu.max words='30000 100000'
	group=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ {print $2; exit}' /proc/self/mounts)
	[ -z "$group" ] || limit=cpu.cfs_quota_us words=30000
	group=${group:-$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)}/gcprof-time-$$
	mkdir "$group" 2>/dev/null && echo "$words" >"$group/$limit" || skip 'no control group may limit CPUs'
	start sh -c "echo \$\$ >$group/cgroup.procs; exec $WORKLOADS/churn --seconds 100"
	wait_busy "$pid"
	stopped=$(stopped_ns "$group")
	begin_recording -F 999 -p "$pid"
	within=$(stopped_ns "$group")
	sleep 3
	within=$(($(stopped_ns "$group") - within))
	end_recording
	stopped=$(($(stopped_ns "$group") - stopped))
	kill -KILL "$pid"
	wait "$pid" || true
	wait_until rmdir "$group"
	echo "stopped: $stopped, $within of it while all was attached"
	# The kernel tells of a stop when it is over: one may be missing at the end.
	holds ".cpu.quota_cpus == 0.3 and .cpu.quota_ns > 0.9 * $within - 1e8 and .cpu.quota_ns <= $stopped"
	holds '.findings[0] | .kind == "no_cpu" and (.text | test("quota of their control group.*0.3 CPUs")) and (.remedy | test("Raise the quota"))'
	"$GCPROF" report --filter time=..1s --json | jq -e '.cpu.quota_ns == null' >/dev/null
	same 'in SQL' "$("$GCPROF" query --format csv 'SELECT quota_ns FROM recording' | tail -n 1)" "$(ask .cpu.quota_ns)"
}

@test "long: Java: monitors, locks, an idle pool" {
	need_root
	command -v javac >/dev/null || skip 'no javac: default-jdk-headless'
	javac -d . "$BATS_TEST_DIRNAME/programs/Parts.java"
	record -- java -Xmx64m -cp . Parts
	sums_are_exact
	cp out truth
	parts_are_true
	holds '.threads[] | select(.name == "pooled") | .time.idle_ns + .time.ready_ns > .wall_ns * 0.8 and .time.lock_ns < .wall_ns * 0.05'
}

@test "long: Python: the global lock, and one of its own" {
	need_root
	record -- python3 "$BATS_TEST_DIRNAME/programs/gil.py" 0.3
	sums_are_exact
	read -r off waited _ <<<"$(tr '\n' ' ' <out)"
	holds "[.threads[] | select(.cpu_ns > 250000000) | .time.lock_ns + .time.ready_ns] |
		length == 3 and add >= $off * 0.9 and add <= $off * 1.1 + 20000000"
	holds "[.threads[] | select(.cpu_ns < 100000000) | .time.lock_ns] | max >= $waited * 0.9"
}

@test "long: Go: an idle program waits for work" {
	need_root
	command -v go >/dev/null || skip 'no go: golang'
	printf 'package main\nimport "time"\nfunc main() { time.Sleep(500 * time.Millisecond) }\n' >idle.go
	GO111MODULE=off GOFLAGS='' HOME=$PWD go build -o idle idle.go
	record -- ./idle
	sums_are_exact
	# It may be stopped at its start, until it is attached to.
	holds '[.threads[] | select(.wall_ns > 450000000)] | length > 0 and all(.time.idle_ns + .time.ready_ns > 400000000)'
}
