#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# agree.bats: the same question has the same answer in text, JSON, SQL, pprof, Firefox, Perfetto,
# folded stacks and the page.
# Parallel: no other recorder matters.

bats_require_minimum_version 1.5.0
load common

# The last one is the others, merged.
NAMES='known gcbench lisp merged'

setup_file() {
	[ "$(id -u)" = 0 ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	build=$(cd "$root" && realpath "${BUILD_DIR:-build}")
	for name in $NAMES; do
		set --
		[ "$name" = known ] && set -- --burn-ms 300
		[ "$name" = lisp ] && set -- "$root/tests/workloads/lisp/tree.lisp"
		if [ "$name" = merged ]; then
			"$build/gcprof" merge -o merged.data known.data gcbench.data lisp.data
		else
			"$build/gcprof" record --no-off-cpu -o "$name.data" -- "$build/workloads/$name" "$@" >/dev/null 2>"$name.log"
		fi
		"$build/gcprof" report --json "$name.data" >"$name.report"
		"$build/gcprof" report --width 200 --top 1000 "$name.data" >"$name.text"
		"$build/gcprof" export -o "$name.json.gz" "$name.data" 2>/dev/null
		zcat "$name.json.gz" >"$name.json"
		"$build/gcprof" export -f pprof -o "$name.pb.gz" "$name.data" 2>/dev/null
		"$build/gcprof" export -f html "$name.data" 2>/dev/null
	done
}

setup() {
	need_root
	cd "$BATS_FILE_TMPDIR" || return 1
}

teardown_file() {
	if command -v profiler-cli >/dev/null; then
		HOME=$BATS_FILE_TMPDIR profiler-cli stop --all >/dev/null 2>&1 || true
	fi
}

# Fails unless all numbers are the first one, but for rounding of single samples.
agree() { # WHAT NUMBER...
	what=$1
	shift
	awk -v line="$*" 'BEGIN { n = split(line, field, " ")
		for (i = 2; i <= n; i++) { d = field[i] - field[1]; m = field[1] / 100000 + 200
			if (d * d > m * m) exit 1 } exit n < 2 }' && [ "$#" = "$(echo "$*" | wc -w)" ] && return 0
	echo "$what: do not agree: $*"
	return 1
}

sql() { # NAME STATEMENT
	"$GCPROF" query -f csv "$2" "$1.data" | tail -n 1
}

pprof() { # NAME KIND
	zcat "$1.pb.gz" | protoc --decode=perftools.profiles.Profile --proto_path="$ROOT/userspace/export/pprof" \
		profile.proto >"$1.decoded"
	pprof_sum "$1.decoded" "$2"
}

# What all nodes of the page cost by themselves; MEASURE: cpu 0, alloc 1, gc 2, off-cpu 4, survived 5.
page() { # NAME MEASURE
	sed -n '/ id="data">/,/<\/script>/p' "$1.data.html" | sed 's/.* id="data">//; s/<\/script>.*//' | jq ".self[$2] | add"
}

@test "allocated and live bytes" {
	for name in $NAMES; do
		agree "$name: allocated" "$(jq .alloc.bytes.estimate "$name.report")" \
			"$(sql "$name" 'SELECT sum(bytes) FROM samples')" \
			"$(sql "$name" 'SELECT sum(alloc_self_bytes) FROM functions')" \
			"$(sql "$name" 'SELECT alloc_bytes FROM recording')" \
			"$(pprof "$name" alloc_space)" "$(page "$name" 1)" \
			"$(jq '[.threads[].nativeAllocations // empty | .weight[] | select(. > 0)] | add' "$name.json")"
		agree "$name: survived" "$(jq '[.functions[].survived_bytes] | add' "$name.report")" "$(page "$name" 5)"
		agree "$name: lower end" "$(jq .alloc.bytes.low "$name.report")" \
			"$(sql "$name" 'SELECT bytes_low(size, probability) FROM samples')"
		agree "$name: live" "$(jq '[.alloc.types[].live_bytes] | add' "$name.report")" \
			"$(sql "$name" "SELECT coalesce(sum(bytes), 0) FROM samples WHERE died IS NULL
				AND (survived = 1 OR kind = 'born old')")" \
			"$(pprof "$name" inuse_space)" \
			"$(jq '[.threads[].nativeAllocations // empty | .weight[]] | add' "$name.json")"
	done
}

@test "CPU time, in and outside of collections" {
	for name in $NAMES; do
		agree "$name: on CPU" "$(jq .cpu.on_cpu_ns "$name.report")" \
			"$(sql "$name" 'SELECT on_cpu_ns FROM recording')" \
			"$(sql "$name" 'SELECT sum(cpu_ns) FROM threads')" \
			"$(jq '[.programs[].cpu_ns] | add' "$name.report")"
		agree "$name: of functions" "$(jq '.cpu.on_cpu_ns - .cpu.recording_ns' "$name.report")" \
			"$(sql "$name" 'SELECT (SELECT sum(ns) FROM ticks) + no_samples_ns FROM recording')" \
			"$(sql "$name" 'SELECT sum(cpu_self_ns) FROM functions')" \
			"$(pprof "$name" cpu)" "$(page "$name" 0)" \
			"$(jq '[.threads[].samples | select(.weightType == "tracing-ms") | .weight[]] | add * 1e6' "$name.json")"
		agree "$name: by timer samples" "$(jq '.cpu.on_cpu_ns - .cpu.recording_ns - .cpu.no_samples_ns' "$name.report")" \
			"$(jq '.cpu.user_ns + .cpu.kernel_ns' "$name.report")" \
			"$(sql "$name" 'SELECT sum(cpu_ns) FROM costs')"
		agree "$name: in collections" "$(jq .cpu.in_gc_ns "$name.report")" \
			"$(sql "$name" 'SELECT (SELECT coalesce(sum(ns), 0) FROM ticks WHERE collection IS NOT NULL)
				+ (SELECT coalesce(sum(pause_ns), 0) FROM collection_sums)')"
	done
}

@test "what programs take adds up to the whole" {
	for name in $NAMES; do
		agree "$name: timer samples" "$(jq .cpu.samples "$name.report")" \
			"$(jq '[.programs[].cpu_samples] | add' "$name.report")"
		agree "$name: allocated" "$(jq .alloc.bytes.estimate "$name.report")" \
			"$(jq '[.programs[].alloc.estimate] | add' "$name.report")"
		agree "$name: pauses" "$(jq '.gc.minor.total_ns + .gc.major.total_ns' "$name.report")" \
			"$(jq '[.programs[].pause_ns] | add' "$name.report")"
		agree "$name: system calls" "$(jq '[.syscalls[].count] | add' "$name.report")" \
			"$(jq '[.programs[].syscalls] | add' "$name.report")"
	done
}

@test "with a filter: every export has the totals of the filtered report" {
	for filter in process=gcbench 'function=*tree*|*promote*' phase=minor time=0.1s..0.4s; do
		name=filtered
		rm -f $name.* # of the last filter: not overwritten in another format
		"$GCPROF" report --json --filter "$filter" merged.data >$name.report
		for format in firefox pprof html sqlite folded perfetto; do
			"$GCPROF" export -f $format --filter "$filter" -o $name.$format merged.data 2>/dev/null
		done
		zcat $name.firefox >$name.json
		mv $name.pprof $name.pb.gz
		mv $name.html $name.data.html
		for folded in bytes gc; do
			"$GCPROF" export -f folded --by $folded --filter "$filter" -o $name.$folded merged.data 2>/dev/null
		done
		lines() { # FILE
			awk '{sum += $NF} END {printf "%.0f\n", sum}' "$1"
		}
		db() {
			sqlite3 $name.sqlite "$1"
		}
		agree "$filter: allocated" "$(jq .alloc.bytes.estimate $name.report)" "$(pprof $name alloc_space)" "$(page $name 1)" \
			"$(db 'SELECT coalesce(sum(bytes), 0) FROM samples')" "$(lines $name.bytes)" \
			"$(jq '[.threads[].nativeAllocations // empty | .weight[] | select(. > 0)] | add // 0' $name.json)"
		agree "$filter: live" "$(jq '[.alloc.types[].live_bytes] | add // 0' $name.report)" "$(pprof $name inuse_space)" \
			"$(jq '[.threads[].nativeAllocations // empty | .weight[]] | add // 0' $name.json)"
		agree "$filter: CPU" "$(jq '.cpu.on_cpu_ns - .cpu.recording_ns' $name.report)" "$(pprof $name cpu)" "$(page $name 0)" \
			"$(db 'SELECT (SELECT coalesce(sum(ns), 0) FROM ticks) + no_samples_ns FROM recording')" "$(lines $name.folded)" \
			"$(jq '[.threads[].samples | select(.weightType == "tracing-ms") | .weight[]] | add * 1e6' $name.json)"
		agree "$filter: collection time caused" "$(jq '[.functions[].gc_self_ns] | add // 0' $name.report)" \
			"$(pprof $name gc_time)" "$(page $name 2)" "$(lines $name.gc)"
		agree "$filter: pauses" "$(jq '.gc.minor.total_ns + .gc.major.total_ns' $name.report)" \
			"$(db 'SELECT coalesce(sum(pause_ns), 0) FROM (SELECT pause_ns FROM collections UNION ALL SELECT pause_ns FROM collection_sums)')"
		same "$filter: pauses" "$(db 'SELECT count(*) FROM collections')" \
			"$(jq '[.threads[].markers.data[] | select(.type == "GcprofCollection")] | length' $name.json)"
		for table in ticks faults syscalls waits heap_areas; do
			same "$filter: $table in collections that are not there" 0 \
				"$(db "SELECT count(*) FROM $table WHERE collection > 0 AND collection NOT IN (SELECT id FROM collections)")"
		done
		[ -s $name.perfetto ]
	done
	"$GCPROF" export -f folded --filter process=nobody -o - known.data | wc -c | grep -qx 0
	run -2 "$GCPROF" export --filter nothing known.data
}

# The sum of "GC caused self" of all functions of the text, in ns.
caused_in_text() { # NAME
	awk '/^Functions/ { on = 1; next }
		on && !at && match($0, /GC caused/) { at = RSTART + RLENGTH - 1 }
		on && /^[A-Z]/ { exit }
		on && at && !/^ *(CPU|self)/ {
			split(substr($0, at - 8, 9), part, " ")
			sum += part[1] * (part[2] == "s" ? 1e9 : part[2] == "ms" ? 1e6 : part[2] == "us" ? 1e3 : 1)
		} END { printf "%.0f\n", sum }' "$1.text"
}

@test "pauses" {
	for name in $NAMES; do
		agree "$name: total" "$(jq '.gc.minor.total_ns + .gc.major.total_ns' "$name.report")" \
			"$(sql "$name" 'SELECT sum(pause_ns) FROM (SELECT pause_ns FROM collections
				UNION ALL SELECT pause_ns FROM collection_sums)')"
		agree "$name: what collections cost" "$(jq .cpu.collector_ns "$name.report")" \
			"$(jq '([.sites[].gc_ns] | add) + .gc.gc_unattributed_ns' "$name.report")" \
			"$(jq '([.alloc.types[].gc_ns] | add) + .gc.gc_unattributed_ns' "$name.report")" \
			"$(sql "$name" 'SELECT sum(gc_self_ns) FROM functions')" \
			"$(sql "$name" 'SELECT sum(gc_ns) + max(gc_unattributed_ns) FROM sites, recording')" \
			"$(pprof "$name" gc_time)" "$(page "$name" 2)" \
			"$("$GCPROF" export -f folded --by gc -o - "$name.data" 2>/dev/null |
				awk '{ sum += $NF } END { printf "%.0f", sum }')"
		# The text has three digits of each.
		caused_in_text "$name" | awk -v wanted="$(jq .cpu.collector_ns "$name.report")" \
			'{ print "text", $1, wanted; exit !($1 > 0.99 * wanted - 1e6 && $1 < 1.01 * wanted + 1e6) }'
		# Those of which only sums are known have no time of their own.
		[ "$(jq .gc.minor.summed "$name.report")" != 0 ] ||
			agree "$name: p99" "$(jq .gc.minor.p99_ns "$name.report")" \
				"$(sql "$name" "SELECT percentile(pause_ns, 99) FROM collections WHERE kind = 'minor'")"
		agree "$name: how many in sums" "$(jq '.gc.minor.summed + .gc.major.summed' "$name.report")" \
			"$(sql "$name" 'SELECT ifnull(sum(count), 0) FROM collection_sums')" \
			"$(jq '[.threads[].markers.data[] | select(.type == "GcprofCollections") | .count] | add // 0' "$name.json")"
		agree "$name: how many" \
			"$(jq '.gc | .minor.count + .major.count - .minor.summed - .major.summed' "$name.report")" \
			"$(sql "$name" 'SELECT count(pause_ns) FROM collections')" \
			"$(jq '[.threads[].markers.data[] | select(.type == "GcprofCollection")] | length' "$name.json")"
		grep -qE "^ *minor +$(jq .gc.minor.count "$name.report" | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta') " "$name.text"
	done
}

@test "system calls" {
	for name in $NAMES; do
		agree "$name: all" "$(jq '[.syscalls[].total_ns] | add' "$name.report")" \
			"$(sql "$name" 'SELECT sum(total_ns) FROM syscall_totals')"
		agree "$name: records" "$(jq .streams.syscall.events "$name.report")" \
			"$(sql "$name" 'SELECT events FROM streams WHERE name = '"'syscall'")"
		agree "$name: single" "$(sql "$name" 'SELECT count(*) FROM syscalls')" \
			"$(jq '[.threads[].markers.data[] | select(.type == "GcprofSyscall")] | length' "$name.json")"
	done
}

# Sums of waits as each view has them: with those of functions, only what has a stack.
@test "waits: single ones, those with a stack, totals" {
	"$GCPROF" record --off-cpu --off-cpu-min 20us -o waits.data -- "$WORKLOADS/waits" pipe 300 >/dev/null 2>waits.log
	"$GCPROF" report --json waits.data >waits.report
	"$GCPROF" export -o waits.json.gz waits.data 2>/dev/null
	zcat waits.json.gz >waits.json
	"$GCPROF" export -f pprof -o waits.pb.gz waits.data 2>/dev/null
	"$GCPROF" export -f folded --by off-cpu -o waits.folded waits.data 2>/dev/null
	"$GCPROF" export -f perfetto -o waits.trace waits.data 2>/dev/null
	"$GCPROF" export -f html waits.data 2>/dev/null
	singles=$(sql waits 'SELECT sum(duration_ns + held_ns) FROM waits')
	[ "$singles" -gt 0 ]
	agree "single" "$singles" \
		"$("$GCPROF" report --json --filter during=wait waits.data | jq '[.waits[].total_ns] | add')"
	# With those that have no record.
	agree "all" "$(jq '[.threads[].off_cpu_ns] | add' waits.report)" "$(pprof waits off_cpu)" \
		"$(jq '[.shared as $s | .meta.categories as $c | .threads[].samples |
			[.stack, .weight] | transpose[] |
			select($c[$s.frameTable.category[$s.stackTable.frame[.[0]]]].name == "Idle") | .[1]] |
			add * 1e6' waits.json)"
	agree "with a stack" "$(sql waits 'SELECT sum(duration_ns + held_ns) FROM waits WHERE stack IS NOT NULL')" \
		"$(sql waits 'SELECT sum(off_cpu_ns) FROM costs')" \
		"$(jq '[.functions[].off_cpu_self_ns] | add' waits.report)" \
		"$(sql waits 'SELECT sum(off_cpu_self_ns) FROM functions')" \
		"$(awk '{ sum += $NF } END { printf "%.0f", sum }' waits.folded)" "$(page waits 4)"
	agree "total" "$(jq '[.waits[].total_ns] | add' waits.report)" \
		"$(sql waits 'SELECT sum(total_ns) FROM wait_totals')"
	agree "of threads" "$(jq '[.threads[].off_cpu_ns] | add' waits.report)" \
		"$(sql waits 'SELECT sum(off_cpu_ns) FROM threads')"
	same slices "$(protoc --decode=perfetto.protos.Trace --proto_path="$ROOT/userspace/export/perfetto" \
		perfetto.proto <waits.trace | grep -c 'categories: "off-cpu"')" \
		"$(sql waits 'SELECT count(*) FROM waits WHERE finish > start')"
	same checked "$(jq -r -f "$BATS_TEST_DIRNAME/firefox.jq" waits.json)" ""
}

# Those that a thread takes behind its last record are known by number only, everywhere.
@test "page faults: those with a record and those without" {
	"$GCPROF" record --faults --fault-rate 20 -o faults.data -- "$WORKLOADS/waits" touch 5000 \
		>/dev/null 2>faults.log
	"$GCPROF" report --json faults.data >faults.report
	"$GCPROF" export -o faults.json.gz faults.data 2>/dev/null
	zcat faults.json.gz >faults.json
	"$GCPROF" export -f pprof -o faults.pb.gz faults.data 2>/dev/null
	"$GCPROF" export -f perfetto -o faults.perfetto faults.data 2>/dev/null
	protoc --decode=perfetto.protos.Trace --proto_path="$ROOT/userspace/export/perfetto" perfetto.proto \
		<faults.perfetto >faults.trace
	same 'all' "$(pprof faults faults)" "$(jq .faults.recorded faults.report)"
	for sum in "$(jq '.faults | .minor + .major' faults.report)" \
		"$(sql faults 'SELECT sum(faults) FROM costs')" \
		"$(sql faults 'SELECT sum(minor_faults + major_faults) FROM threads')" \
		"$(sql faults 'SELECT sum(minor + major) FROM faults')" \
		"$(awk '/int_value: / { value = $2 }
			/name: "since the last record, with/ { sum += value } END { print sum }' faults.trace)" \
		"$(jq '[.threads[].samples | select(.weightType == "samples") | .weight[]] | add' faults.json)" \
		"$("$GCPROF" export -f folded --by faults -o - faults.data 2>/dev/null |
			awk '{ sum += $NF } END { print sum }')"; do
		same 'all' "$sum" "$(pprof faults faults)"
	done
	same 'with reading' "$(jq .faults.recorded_major faults.report)" "$(sql faults 'SELECT sum(major) FROM faults')"
	[ "$(sql faults 'SELECT sum(minor + major) FROM faults WHERE address IS NULL')" -gt 0 ]
	same 'with a record' "$(grep -c 'name: "page fault"' faults.trace)" "$("$GCPROF" dump faults.data |
		grep -c '"record":"fault"')"
	same 'without' "$(grep -c 'name: "page faults without a record"' faults.trace)" \
		"$(sql faults 'SELECT count(*) FROM faults WHERE address IS NULL')"
	same checked "$(jq -r -f "$BATS_TEST_DIRNAME/firefox.jq" faults.json)" ""
}

# Functions of a report that go tool pprof shows with another value, at more than a thousandth.
pprof_off() { # NAME SAMPLE_INDEX UNIT KEY_FLAT KEY_CUM
	go tool pprof -top -nodecount=100000 -nodefraction=0 -edgefraction=0 -unit="$3" \
		-sample_index="$2" "$1.pb.gz" 2>/dev/null | awk '/^ *flat/ { on = 1; next }
		on { name = $6; for (i = 7; i <= NF; i++) name = name " " $i
		     sub(/ \((partial-)?inline\)$/, "", name)
		     printf "{\"flat\":\"%s\",\"cum\":\"%s\",\"name\":\"%s\"}\n", $1, $4, name }' >top.json
	jq -n -c --slurpfile top top.json --slurpfile report "$1.report" --arg flat "$4" --arg cum "$5" '
		def number: sub("(B|ns)$"; "") | tonumber;
		($top | group_by(.name) | map({key: .[0].name, value: .}) | from_entries) as $shown |
		[$report[0].functions | group_by(.name)[] | select(length == 1) | .[0] |
		 select(.name | test("^[A-Za-z_][A-Za-z0-9_]*$")) | select(.[$flat] > 0) |
		 . as $row | $shown[$row.name] as $seen |
		 select($seen == null or (($seen | length) == 1 and
			((($seen[0].flat | number) - $row[$flat] | fabs) > $row[$flat] / 1000 + 100 or
			 (($seen[0].cum | number) - $row[$cum] | fabs) > $row[$cum] / 1000 + 100))) |
		 [$row.name, $row[$flat], $row[$cum], $seen]]'
}

@test "go tool pprof shows the report's functions" {
	command -v go >/dev/null || skip 'go is not installed'
	export HOME=$PWD
	for name in $NAMES; do
		same "$name: CPU" "$(pprof_off "$name" cpu ns cpu_self_ns cpu_total_ns)" "[]"
		[ "$(wc -l <top.json)" -gt 5 ]
		same "$name: bytes" "$(pprof_off "$name" alloc_space B alloc_self_bytes alloc_total_bytes)" "[]"
		[ "$(wc -l <top.json)" -gt 1 ]
	done
}

@test "long: traces for Perfetto are well-formed and complete" {
	for name in known gcbench; do
		"$GCPROF" export -f perfetto -o trace "$name.data" 2>/dev/null
		protoc --decode=perfetto.protos.Trace --proto_path="$ROOT/userspace/export/perfetto" perfetto.proto \
			<trace >trace.txt
		# Field numbers that the description does not have are printed as such.
		run grep -cE '^ *[0-9]+:' trace.txt
		same "unknown fields" "$output" 0
		# One that came late stands for several; a trace cannot say so.
		same "timer samples" "$(grep -c '^  perf_sample {' trace.txt)" \
			"$(sql "$name" 'SELECT count(*) FROM ticks')"
		same "balance" "$(grep -c TYPE_SLICE_BEGIN trace.txt)" "$(grep -c TYPE_SLICE_END trace.txt)"
		same "collections" "$(grep -cE '^    name: "(minor|step|full) collection"' trace.txt)" \
			"$(jq '.gc | .minor.count + .major.count - .minor.summed - .major.summed' "$name.report")"
	done
}

# Functions of a report that the Firefox Profiler's own reader shows with another total. Time without
# samples may be another thread's.
profiler_off() { # NAME STRATEGY KEY UNIT
	profiler-cli thread functions --json --limit 0 --thread t-0 --strategy "$2" >shown.json
	jq -n -c --slurpfile shown shown.json --slurpfile report "$1.report" --arg key "$3" --argjson unit "$4" '
		($shown[0].functions | group_by(.name) | map({key: .[0].name, value: .}) | from_entries) as $rows |
		[$report[0].functions | group_by(.name)[] | select(length == 1) | .[0] | select(.[$key] > 0) |
		 select(.name != "(no samples)") |
		 . as $row | $rows[$row.name] as $seen | select(($seen | length) != 1 or
			(($seen[0].totalSamples * $unit - $row[$key] | fabs) > $row[$key] / 1000 + 100)) |
		 [$row.name, $row[$key], $seen]]'
}

# The CPU time of collections is that of the collector, of the kernel, and of memcpy() and the like.
@test "a collector has its colour in Firefox and on the page, whatever its functions are called" {
	for name in gcbench merged; do
		jq -r '(.meta.categories | map(.name)) as $names | .shared as $s | [.threads[].samples |
			select(.weightType == "tracing-ms") | [.stack, .weight] | transpose[] |
			($names[$s.frameTable.category[$s.stackTable.frame[.[0]]]]) as $category |
			select($category == "Collector" or $category == "Kernel") | .[1]] | add * 1e6' "$name.json" >painted
		awk -v wanted="$(jq .cpu.collector_ns "$name.report")" '{ print $1, wanted; exit $1 < wanted * 0.7 }' painted
		grep -q '"ng"' "$name.data.html"
	done
}

@test "long: the Firefox Profiler reads exports, and shows the report's functions" {
	command -v profiler-cli >/dev/null || skip 'profiler-cli is not installed'
	export HOME=$PWD
	for name in gcbench lisp; do
		profiler-cli load "$name.json.gz" >load.log 2>&1 || true
		for _ in $(seq 60); do
			profiler-cli status >/dev/null 2>&1 && break
			sleep 0.5
		done
		profiler_off "$name" timing cpu_total_ns 1e6 >time.off
		[ "$(jq '.functions | length' shown.json)" -gt 20 ]
		profiler_off "$name" native-allocations alloc_total_bytes 1 >bytes.off
		[ "$(jq '.functions | length' shown.json)" -gt 5 ]
		profiler-cli counter list >counters
		profiler-cli profile info --json --all >info.json
		profiler-cli stop >/dev/null
		same "$name: time" "$(cat time.off)" "[]"
		same "$name: bytes" "$(cat bytes.off)" "[]"
		grep -q 'Heap used' counters
		jq -n -e --slurpfile info info.json --slurpfile report "$name.report" '
			([$info[0].processes[].cpuMs] | add) as $shown | ([$report[0].threads[].cpu_ns] | add / 1e6) as $wanted |
			[$shown, $wanted] | debug | .[0] > 0.99 * $wanted and .[0] < 1.01 * $wanted'
	done
}
