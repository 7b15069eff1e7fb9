#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# cputime.bats: CPU time is what the kernel's clocks say, and functions get their part of it.
# Parallel: CPU time counts, not how long it takes.

# shellcheck disable=SC2154 # what `start` and `start_waiting` set

load common
load cputime

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	gcc -O1 -D_GNU_SOURCE "$BATS_TEST_DIRNAME/programs/clocked.c" -o "$PROGRAMS/clocked" -lpthread
}

# Fails unless all tables of the report add up to the same, but for a part of it: one in 1000.
adds_up() { # [PARTS]
	holds '(.cpu.on_cpu_ns) as $all | [([.functions[].cpu_self_ns] | add) + .cpu.recording_ns, ([.threads[].cpu_ns] | add),
		([.programs[].cpu_ns] | add), ([.timeline.windows[].cpu_ns] | add)] |
		all(. - $all | fabs < $all / '"${1:-1000}"' + 1000000)'
}

# Fails unless the functions have their time, but for chance: five standard deviations, at 999 Hz.
# Their own clocks do not know what of it recording took, nor what a host did while it had their CPU.
divided() {
	local name all
	"$GCPROF" report --recording --json >with.json
	for name in one two; do
		all="[.functions[] | select(.name == \"work_$name\") | .cpu_self_ns] | add"
		echo "work_$name: $(jq "$all" with.json), by the clock $(truth ${name}_ns), and $(truth lost_ns) that it leaves out"
		jq -e "($all) as \$ns | $(truth ${name}_ns) as \$truth |
			(5 * (\$truth * 1001001 | sqrt) + \$truth / 20) as \$off |
			\$ns > \$truth - \$off and \$ns < \$truth + \$off + $(truth lost_ns)" with.json
	done
}

# Fails unless two functions share their time as the program's clocks say, but for chance: five standard
# deviations, of samples that stand for so many ticks at 999 Hz each.
shared() { # TICKS
	echo "work_one $(truth one_ns), work_two $(truth two_ns) by the clock"
	holds '([.functions[] | {(.name): .cpu_self_ns}] | add) as $of | ($of.work_one + $of.work_two) as $ns |
		('"$(truth one_ns) / ($(truth one_ns) + $(truth two_ns))"') as $truth |
		($of.work_one / $ns - $truth | fabs) < 5 * ($truth * (1 - $truth) * '"$1"' * 1001001 / $ns | sqrt)'
}

@test "a program in step with timers: its CPU time is exact, and functions have their due" {
	need_root
	record -- bash -c "$CHILD" "$PROGRAMS/clocked" steps 3
	exact "$CLOCKED"
	divided
	adds_up
}

@test "a program that works all the time: nearly all of it has a function" {
	need_root
	record -- bash -c "$CHILD" "$PROGRAMS/clocked" cpu 2
	exact "$CLOCKED"
	divided
	adds_up
	# The shell is too short for samples.
	holds '([.programs[] | select(.name != "clocked").cpu_ns] | add // 0) as $others |
		.cpu.no_samples_ns < .cpu.on_cpu_ns / 10 + $others'
}

# Records a program in a cgroup of its own: clocks of threads stop some microseconds before they leave the
# CPU, that of the group does not. Sets $used.
record_in_group() { # COMMAND [OPTION]
	local mount group
	mount=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)
	[ -n "$mount" ] || skip 'no cgroup hierarchy of version 2 is mounted'
	group=$mount/gcprof-cputime-$$
	mkdir "$group" 2>/dev/null || skip 'cannot make a cgroup'
	record ${2:+"$2"} -- sh -c "echo \$\$ >$group/cgroup.procs; exec $1"
	# The shell may take tens of milliseconds on a busy machine, before it is in the group.
	used=$(awk -v shell="$(ask '[.programs[] | select(.name == "sh").cpu_ns] | add // 0')" \
		'$1 == "usage_usec" {printf "%.0f", $2 * 1000 + shell}' "$group/cpu.stat")
	rmdir "$group"
}

@test "threads and processes that begin and end: none is missing, however short" {
	need_root
	record_in_group "$PROGRAMS/clocked threads 300"
	exact .cpu.on_cpu_ns "$used"
	exact '[.threads[].cpu_ns] | add' "$used"
	adds_up
	holds '[.threads[] | select(.cpu_ns > 0)] | length > 1400'
}

# Ticks hit a thread before its time is reported: it waits for the others, in turn with the recorder.
@test "long: 3000 threads of a millisecond: their function has their CPU time, in every view" {
	need_root
	local view
	# In the views that are read here, waits are samples like those of CPU time.
	record_in_group "$PROGRAMS/clocked wave 3000" --no-off-cpu
	exact .cpu.on_cpu_ns "$used"
	# Where the recorder was late, its last ticks may stand for time that is not reported any more.
	adds_up 100
	"$GCPROF" report --filter function=work_one --json >only.json
	"$GCPROF" report --filter function=work_one --width 200 | grep work_one
	for view in pprof firefox; do
		"$GCPROF" export -f "$view" --filter function=work_one -o "only.$view.gz"
	done
	zcat only.pprof.gz | protoc --decode=perftools.profiles.Profile --proto_path="$ROOT/userspace/export/pprof" \
		profile.proto | awk '/^sample_type/ {types++} /^sample \{/ {i = 0} /^  value: / {sum[i++] += $2}
			/^  type: / && !(types in type) {type[types] = $2} /^string_table: / {name[n++] = $2}
			END {for (t in type) if (name[type[t]] == "\"cpu\"") printf "%.0f\n", sum[t - 1]}' >views
	zcat only.firefox.gz | jq '[.threads[].samples | select(.weightType == "tracing-ms") | .weight[]] | add * 1e6' >>views
	jq '.functions[] | select(.name == "work_one") | .cpu_total_ns, .cpu_self_ns' only.json >>views
	ask '.functions[] | select(.name == "work_one").cpu_self_ns' >>views
	echo "CPU time of work_one: $(tr '\n' ' ' <views), by the clocks of its threads $(truth one_ns) of $(truth cpu_ns)"
	[ "$(wc -l <views)" = 5 ]
	# Chance divides what is not work_one's.
	jq -es "$(truth one_ns)"' as $truth | ('"$(truth cpu_ns)"' - $truth) as $rest |
		all(. - $truth | fabs < $truth * 0.03 + 5 * ($rest * 1001001 | sqrt))' views
}

@test "threads that the kernel makes for a process: io_uring's workers are among its threads" {
	need_root
	local way
	gcc -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/ring.c" -o "$PROGRAMS/ring"
	"$PROGRAMS/ring" poll >/dev/null || skip 'the kernel allows no io_uring'
	for way in poll async; do
		record -- bash -c "$CHILD" "$PROGRAMS/ring" "$way"
		echo "$way"
		exact '[.programs[] | select(.name == "ring").cpu_ns] | add'
		adds_up
		holds '[.threads[] | select(.name | startswith("iou-"))] | map(.cpu_ns) | add > 5e7'
	done
}

@test "long: processes that take longer to end than they work: what they take to end has samples" {
	need_root
	record -- "$PROGRAMS/clocked" tasks 500
	exact .cpu.on_cpu_ns
	adds_up
	# Ticks do not reach all of the kernel. Without those after the exit it was a seventh.
	holds '.cpu.no_samples_ns < .cpu.on_cpu_ns / 8'
	holds '[.functions[] | select(.runtime == "kernel" and (.name | test("mmput|exit_mm")))] |
		map(.cpu_total_ns) | max > 0'
	"$GCPROF" report --json | jq -e '.stacks.complete > 0.95'
}

@test "long: a timer that was slowed down: CPU time is exact all the same" {
	need_root
	"$GCPROF" record --syscalls off --max-overhead 0.01 -- "$PROGRAMS/clocked" cpu 6 >out 2>record.log
	cat record.log
	grep -q 'the timer was slowed down' record.log
	exact .cpu.on_cpu_ns
	adds_up
	shared 8
}

@test "long: where timer samples cost too much there are fewer after the first thousand, and CPU time is exact all the same" {
	need_root
	"$GCPROF" record -v --syscalls off --max-overhead 0.5 -- "$PROGRAMS/clocked" cpu 4 >out 2>record.log
	cat record.log
	exact .cpu.on_cpu_ns
	adds_up
	shared 8
	# 999 interrupts of 5 us are half a percent.
	awk '/a timer interrupt takes/ {exit !($(NF - 1) > 5)}' record.log || skip 'timer interrupts are cheap here'
	"$GCPROF" dump | jq -s '[.[] | select(.record == "cpu") | [.ticks, 1] | max] | group_by(.) |
		map({(first | tostring): length}) | add' >ticks
	cat ticks
	# Beside other programs, whose interrupts count as well, the limit is reached earlier.
	jq -e '.["1"] >= 300 and .["1"] < 2500 and ([to_entries[] | select((.key | tonumber) >= 2).value] | add) > 100' ticks
}

@test "long: the timer is slower once there are enough samples, and CPU time is exact all the same" {
	need_root
	"$GCPROF" record --syscalls off --max-overhead 10 -- "$PROGRAMS/clocked" cpu 13 >out 2>record.log
	cat record.log
	absent 'the timer was slowed down' record.log
	exact .cpu.on_cpu_ns
	adds_up
	shared 2
	"$GCPROF" report | grep 'timer 999 Hz, later reduced to limit the cost'
	# The first 10,000 stand for one tick each, and those between a sample and the next look. A tick that
	# came late stands for those before it.
	"$GCPROF" dump | jq -s '[.[] | select(.record == "cpu") | [.ticks, 1] | max] | group_by(.) |
		map({(first | tostring): length}) | add' >ticks
	cat ticks
	jq -e '.["1"] >= 9500 and .["2"] > 200 and ([to_entries[] | select(.key | IN("1", "2") | not).value] | add // 0) < 500' ticks
}

@test "a process that was there before: only what it takes while it is recorded" {
	start_waiting 1.5
	begin_recording -F 999 --max-overhead 100 -p "$program"
	let_work
	exact .cpu.on_cpu_ns
	exact '.threads[] | select(.cpu_samples > 0).cpu_ns'
	adds_up
}

@test "long: for how long threads wait for a CPU is what the kernel says, and what is left of their time" {
	need_root
	# shellcheck disable=SC2016 # for the programs
	record -- taskset -c 0 sh -c 'for i in 1 2 3; do
		sh -c '\''i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; echo $$ $(cat /proc/$$/schedstat) >$0.stat'\'' $i &
	done; wait'
	for i in 1 2 3; do
		read -r pid _ queued _ <$i.stat
		echo "$pid waited $queued ns"
		# What cat and the end of the shell take comes later.
		holds "[.threads[] | select(.tid == $pid)][0] |
			(.queued_ns - $queued | fabs) < 5e6 + $queued / 50 and .queued_ns >= $queued and
			(.wall_ns - .cpu_ns - .queued_ns | fabs) < 2e7 + .wall_ns / 20"
	done
	holds '([.threads[].queued_ns] | add) as $all | .cpu.queued_ns == $all and $all > .cpu.on_cpu_ns'
	"$GCPROF" report >report
	tr -s ' \n' ' ' <report | grep -qE 'Threads were ready to run but had no CPU.*Threads were ready to run for .* but had no CPU'
	same 'in SQL' "$("$GCPROF" query --format csv 'SELECT sum(queued_ns) FROM threads' | tail -n 1)" \
		"$(jq '[.threads[].queued_ns] | add' report.json)"
}

# Linux 6.12 and later count a whole sleep as such a wait if the thread is moved to another CPU meanwhile.
@test "long: a thread that sleeps on a busy machine waits for a CPU only from when it is woken" {
	need_root
	gcc -O1 -pthread -o late "$BATS_TEST_DIRNAME/programs/late.c"
	start ./late spin
	for _ in 1 2 3; do
		record --max-overhead off -- ./late
		late=$(truth late_ns)
		echo "woken $late ns too late, $(ask '[.threads[] | .off_cpu.preempted.ns] | add') ns preempted"
		holds '([.threads[] | .off_cpu.preempted.ns] | add) as $preempted |
			(.cpu.queued_ns - $preempted - '"$late"' | fabs) < 1e8 + .cpu.queued_ns / 50'
	done
}
