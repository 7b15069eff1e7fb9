#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# merge.bats: a merged profile has the contents of its files, and keeps processes apart.
# Parallel: other recorders do not interfere.

load common
load cputime

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	gcc -O1 -D_GNU_SOURCE "$BATS_TEST_DIRNAME/programs/clocked.c" -o "$PROGRAMS/clocked" -lpthread
}

# A value from the line that a workload prints at its end.
said() { # KEY
	sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" out | tail -n 1
}

# The values of a jq expression in several profiles, as a list.
all() { # EXPRESSION FILE...
	local file
	for file in "${@:2}"; do
		ask "$1" "$file" || return 1
	done | jq -sc .
}

# A figure of the result is the sum over the files.
adds_up() { # EXPRESSION RESULT FILE...
	echo "$1: $(all "$1" "${@:3}") and $(all "$1" "$2")"
	jq -ne "$(all "$1" "${@:3}" | jq add) - $(all "$1" "$2" | jq add) | fabs <= $#" >/dev/null
}

# All readers accept the profile, and they agree.
is_profile() { # FILE
	local bytes
	same state "$("$GCPROF" info "$1" | sed -n 's/^state *//p')" complete
	"$GCPROF" report "$1" >/dev/null
	"$GCPROF" export -f firefox -o out.json "$1"
	"$GCPROF" export -f perfetto -o out.perfetto "$1"
	"$GCPROF" export -f pprof -o out.pb.gz "$1"
	bytes=$("$GCPROF" query -f csv 'SELECT sum(bytes) FROM samples' "$1" | tail -n 1)
	bytes=${bytes%$'\r'}
	holds "(.alloc.bytes.estimate // 0) - ${bytes:-0} | fabs < 1000" "$1"
	holds '.stacks.samples == 0 or .stacks.complete > 0' "$1"
}

@test "merged files of --rotate agree with the program's own counts" {
	need_root
	record --off-cpu --faults --rotate 400ms -- "$WORKLOADS/churn" --threads 2 --seconds 3
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 2 ] # on a busy machine, seven else
	# Not in order.
	"$GCPROF" merge "${files[@]:1}" "${files[0]}"
	is_profile merged.data
	holds ".merged == {files: ${#files[@]}, recordings: 1, incomplete: 0}" merged.data
	holds '.end_reason == "program ended" and .exit_status == 0' merged.data
	same minor "$(ask .gc.minor.count merged.data)" "$(said minor)"
	same promoted "$(ask .gc.promoted_bytes merged.data)" "$(said promoted)"
	holds '[.programs[].name] == ["churn"] and (.programs[0].processes == 1)' merged.data
	for figure in .streams.cpu.events .cpu.on_cpu_ns '[.syscalls[].count] | add' \
		.alloc.bytes.estimate '[.threads[].off_cpu_ns] | add' .faults.minor; do
		adds_up "$figure" merged.data "${files[@]}"
	done
	# Each thread occurs once, from begin to end.
	same threads "$("$GCPROF" query -f csv 'SELECT count(DISTINCT tid), count(*) FROM threads' merged.data |
		tail -n 1 | tr -d '\r')" 2,2
	same unpaired "$(ask '.gc.unpaired' merged.data)" 0
}

# How many records of each kind a profile has within the span of the merged one, from its second file
# on: on a busy machine probes are attached a while after the recording has begun.
in_span() { # KIND|KIND... FILE
	local span
	span=$({
		records recording gcprof-0002.data
		records end merged.data
	} | jq -s 'map(.start // .time)')
	records "$1" "$2" | jq -n --argjson span "$span" 'reduce (inputs |
		select(.time > $span[0] + 100000000 and .time <= $span[1] - 100000000)) as $each ({}; .[$each.record] += 1)'
}

# What does not depend on the machine: the program does the same each time, with the same samples.
figures() { # FILE
	ask '[.exit_status, .gc.minor.count, .gc.promoted_bytes, .alloc.samples, .alloc.bytes.estimate,
		(.threads | length), ([.alloc.types[] | [.name, .samples]] | sort),
		([.syscalls[] | select(.name | IN("getppid", "nanosleep", "openat", "read", "write")) |
			[.name, .count, .errors]] | sort)] | tojson' "$1"
}

@test "one file, files of 300 ms, and all that --keep has: the same figures" {
	need_root
	export GCPROF_SEED=1
	for how in '-o whole.data' '--rotate 300ms' '--keep 1h -o kept.data'; do
		# shellcheck disable=SC2086 # several words
		record --max-overhead off -R 64K --off-cpu --faults $how -- "$WORKLOADS/known"
	done
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 2 ]
	"$GCPROF" merge "${files[@]}"
	for file in merged kept-0001; do
		same "$file" "$(figures $file.data)" "$(figures whole.data)"
	done
	for figure in '[.syscalls[].count] | add' '[.threads[].off_cpu_ns] | add' .faults.minor .alloc.samples; do
		adds_up "$figure" merged.data "${files[@]}"
	done
}

@test "long: merged files of --rotate agree with a recorder that does not rotate" {
	need_root
	"$WORKLOADS/churn" --threads 2 --seconds 60 >out 3>&- &
	program=$!
	started+=("$program")
	"$GCPROF" record -v --max-overhead 100 --syscall-rate 1000000 --off-cpu -o whole.data -p "$program" \
		2>whole.log 3>&- &
	recorders=($!)
	wait_until grep -q 'probes attached' whole.log
	"$GCPROF" record -v --max-overhead 100 --syscall-rate 1000000 --off-cpu --rotate 400ms -p "$program" \
		2>record.log 3>&- &
	recorders+=($!)
	started+=("${recorders[@]}")
	wait_until grep -q 'gcprof-0004.data is complete' record.log
	kill -INT "${recorders[1]}"
	wait "${recorders[1]}"
	kill -INT "${recorders[0]}"
	wait "${recorders[0]}"
	"$GCPROF" merge gcprof-0*.data
	# (Of waits each recorder leaves out those that are too many or too short, for itself.)
	for file in merged whole; do
		in_span 'gc_begin|gc_end|syscall|fate|alloc' $file.data >$file.counts
		cat $file.counts
	done
	# Samples may arrive a moment after their time.
	jq -e -n --slurpfile merged merged.counts --slurpfile whole whole.counts '
		["gc_begin", "gc_end", "syscall", "fate", "alloc"] | all($merged[0][.] as $count | ($whole[0][.] // 0) as $other |
			$count > 0 and ($count - $other | fabs) <= 2 + $other / 50)' >/dev/null
}

@test "long: many short programs: each process occurs once, although files of --rotate share them" {
	need_root
	record --rotate 200ms -- /bin/sh -c \
		'i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); [ $((i % 25)) != 0 ] || sleep 0.5; done'
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 2 ]
	"$GCPROF" merge "${files[@]}"
	is_profile merged.data
	same processes "$("$GCPROF" query -f csv 'SELECT count(*), count(DISTINCT pid) FROM processes' merged.data |
		tail -n 1 | tr -d '\r')" 105,105
	same exits "$(ask '[.syscalls[] | select(.name == "exit_group")][0].count' merged.data)" 105
	holds '[.programs[].name] | sort == ["sh", "sleep", "true"]' merged.data
	same forks "$(records fork merged.data | wc -l)" 104
}

@test "long: consecutive runs: sums with the intervals of sums, wall time without gaps" {
	need_root
	for i in 1 2 3; do
		record -o run$i.data -- "$WORKLOADS/known" --burn-ms 100
		sleep 0.5
	done
	runs=(run1.data run2.data run3.data)
	"$GCPROF" merge -o all.data "${runs[@]}"
	is_profile all.data
	holds '.merged == {files: 3, recordings: 3, incomplete: 0} and .end_reason == "merged"' all.data
	for figure in .alloc.samples .alloc.bytes.estimate .gc.minor.count .gc.promoted_bytes \
		.cpu.on_cpu_ns '[.syscalls[].count] | add'; do
		adds_up "$figure" all.data "${runs[@]}"
	done
	# Variances of independent figures add up: 1.73 times the interval of one, not 3 times.
	width='.alloc.bytes | .high - .low'
	jq -ne "$(all "$width" all.data | jq add) / $(all "$width" "${runs[@]}" | jq add) |
		. > 0.5 and . < 0.66" >/dev/null
	holds '.programs | length == 1 and .[0].processes == 3' all.data
	wall=$("$GCPROF" info --json all.data | jq '.duration_ns')
	sum=$(for file in "${runs[@]}"; do "$GCPROF" info --json "$file" | jq .duration_ns; done | jq -s add)
	same 'wall time' "$wall" "$sum"
	# The three runs share their functions.
	same functions "$(ask '[.functions[] | [.name, .module]] | length - (unique | length)' all.data)" 0
	"$GCPROF" diff run1.data all.data | grep -q allocated
	# Merging in two steps gives the same result.
	"$GCPROF" merge -o pair.data run3.data run1.data
	"$GCPROF" merge -o again.data pair.data run2.data
	for figure in .merged.recordings .alloc.bytes.estimate '[.syscalls[].count] | add' .cpu.on_cpu_ns; do
		same "$figure" "$(all "$figure" again.data)" "$(all "$figure" all.data)"
	done
}

@test "simultaneous recordings are aligned" {
	need_root
	# Each begins when the other one is recorded, too.
	for i in 1 2; do
		"$GCPROF" record -F 999 -o side$i.data -- bash -c ": >is$i; until [ -e is1 ] && [ -e is2 ]; do sleep 0.05; done
			$CHILD" "$PROGRAMS/clocked" steps 2 >out$i 2>record$i.log 3>&- &
		started+=($!)
	done
	wait
	"$GCPROF" merge -o both.data side1.data side2.data
	is_profile both.data
	truth=$(($(sed -n 's/.*\bcpu_ns=\([0-9]*\).*/\1/p' out1) + $(sed -n 's/.*\bcpu_ns=\([0-9]*\).*/\1/p' out2)))
	holds "$CLOCKED - $truth | fabs < $truth / 100 + 6000000 + $(beside out1) + $(beside out2)" both.data
	# The second one began while the first was running.
	"$GCPROF" info --json both.data | jq -e '.merged | .[1].begin < .[0].end and .[0].shift == 0' >/dev/null
	"$GCPROF" info --json both.data | jq -e '.duration_ns == ([.merged[].end] | max) - .merged[0].begin' >/dev/null
}

@test "long: partly traced system calls: estimates and variances of the recordings add up" {
	need_root
	for i in 1 2; do
		"$GCPROF" record -F 99 --max-overhead 0.2 -o flood$i.data -- "$WORKLOADS/calls" flood >out 2>record.log
		holds '.syscall_untraced_ns > 0' flood$i.data
	done
	"$GCPROF" merge -o both.data flood1.data flood2.data
	most='.syscalls | max_by(.count)'
	adds_up .syscall_untraced_ns both.data flood1.data flood2.data
	for figure in "$most.count" "$most.total_ns" '[.syscalls[].count] | add'; do
		echo "$figure: $(all "$figure" flood1.data flood2.data) $(all "$figure" both.data)"
		jq -ne "$(all "$figure" flood1.data flood2.data | jq add) as \$sum |
			$(all "$figure" both.data | jq add) - \$sum | fabs <= \$sum / 1000000 + 20" >/dev/null
	done
	# An interval is not symmetric: the variance follows from its upper end (model/README.md).
	variance="$most | (.count_high - .count) as \$d | \$d * \$d / (1 + \$d / (.count - .traced_count))"
	jq -ne "($(all "$variance" flood1.data flood2.data | jq add)) / ($(all "$variance" both.data | jq add)) |
		. > 0.99 and . < 1.01" >/dev/null
}

@test "a stream that was not asked for: by its option, and in a merged profile by the file that lacks it" {
	need_root
	record -F 0 --off-cpu -o waits.data -- true
	record -F 0 --no-off-cpu -o plain.data -- true
	"$GCPROF" report plain.data | grep 'not enabled: cpu (-F 0), sched (--off-cpu), fault (--faults)'
	"$GCPROF" info plain.data | grep 'cpu *not recorded: not asked for: -F 0'
	"$GCPROF" merge -o both.data waits.data plain.data
	holds '.streams.sched | .attached and .partly == "not in plain.data: not asked for: --off-cpu"' both.data
	"$GCPROF" report both.data | grep 'not enabled: cpu (-F 0), fault (--faults)'
}

@test "invalid inputs have a message, and readable parts are merged" {
	need_root
	record --rotate 300ms -- "$WORKLOADS/churn" --seconds 4
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 3 ]
	run "$GCPROF" merge
	same status "$status" 2
	run "$GCPROF" merge -o gcprof-0001.data "${files[@]}"
	same status "$status" 2
	same untouched "$("$GCPROF" info gcprof-0001.data | sed -n 's/^state *//p')" complete
	run "$GCPROF" merge "${files[@]}" nosuch.data
	same status "$status" 1
	[ ! -e merged.data ]
	# The same file under two names.
	cp gcprof-0002.data copy.data
	run "$GCPROF" merge "${files[@]}" copy.data
	same status "$status" 1
	grep -q 'copy.data.*same part of one recording\|same part of one recording' <<<"$output"
	[ ! -e merged.data ]
	# Truncated: a warning. Damaged: an error, but the profile is written.
	head -c $(($(stat -c %s gcprof-0002.data) - 5)) gcprof-0002.data >cut.data
	run "$GCPROF" merge gcprof-0001.data cut.data gcprof-0003.data
	echo "$output"
	same status "$status" 0
	grep -q 'warning: cut.data' <<<"$output"
	holds '.merged.incomplete == 1 and .gc.minor.count > 0 and .alloc.samples > 0' merged.data
	"$GCPROF" report merged.data | grep -q 'something is missing'
	cp gcprof-0002.data bad.data
	printf damage | dd of=bad.data bs=1 seek=$(($(stat -c %s bad.data) * 3 / 4)) conv=notrunc status=none
	run "$GCPROF" merge gcprof-0001.data bad.data gcprof-0003.data
	echo "$output"
	same status "$status" 1
	grep -q 'error: bad.data' <<<"$output"
	holds '.merged.incomplete == 1 and .gc.minor.count > 0' merged.data
	# An empty file.
	: >empty.data
	run "$GCPROF" merge gcprof-0001.data empty.data
	same status "$status" 0
	grep -q 'warning: empty.data.*left out' <<<"$output"
	holds '.merged.files == 1' merged.data
	rm merged.data
	run "$GCPROF" merge empty.data empty.data
	same status "$status" 1
	[ ! -e merged.data ]
	: >empty.data
	run "$GCPROF" merge gcprof-0001.data cut.data empty.data
	same status "$status" 0
	grep -q 'empty.data: it is empty.*; left out' <<<"$output"
	grep -q 'merged.data: 2 files of 1 recording$' <<<"$output"
}
