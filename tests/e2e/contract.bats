#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# contract.bats: what programs may report beyond samples: types that come later, and so on.
# Parallel: no other recorder matters.

load common

setup_file() {
	[ "$(id -u)" = 0 ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	gcc -O1 -g -std=gnu11 -I"$ROOT/gc" "$ROOT/tests/e2e/programs/emitter.c" -o emitter
	gcc -O1 -g -fno-omit-frame-pointer "$ROOT/tests/e2e/programs/otel.c" -lm -o otel
	gcc -O1 -g -std=gnu11 -D_GNU_SOURCE -fPIC -shared -I"$ROOT/gc" "$ROOT/tests/e2e/programs/agent.c" -o agent.so
	gcc -O1 -g -fno-omit-frame-pointer -std=c11 -D_GNU_SOURCE -I"$ROOT/gc" "$ROOT/tests/e2e/programs/contract.c" \
		"$BUILD/libgcprof-provider.a" -lpthread -o contract
}

setup() {
	need_root
	cd "$BATS_FILE_TMPDIR" || return 1
}

# Records the program, whose truth goes to `truth`.
run_contract() { # MODE COUNT
	GCPROF_SEED=1 "$GCPROF" record --max-overhead off -F 0 -R 16K -- ./contract "$@" >truth 2>record.log
	"$GCPROF" report --json >report.json
}

# Until a file's unwind rows are there, stacks are walked by frame pointers, which this program keeps.
whole() {
	jq -e '.stacks | .complete + (.unfinished.user_guessed // 0) / .samples > 0.98' report.json
}

# Types whose interval, and 0.7 of its width on both sides, is without the truth: one in 400,000.
outside() {
	jq -n -c --slurpfile truth truth --slurpfile report report.json '[$truth[0] | to_entries[] |
		.key as $name | .value as $wanted | [$report[0].alloc.types[] | select(.name == $name) | .bytes][0] |
		(.high - .low) as $width | {name: $name, wanted: $wanted, low: .low, high: .high} |
		select($wanted < .low - 0.7 * $width or $wanted > .high + 0.7 * $width or $width > 0.5 * $wanted)]'
}

@test "a type that becomes known after the allocation is the sample's" {
	for batch in 1 0; do
		GCPROF_BATCH=$batch run_contract typed 1000000
		same 'types outside' "$(outside)" '[]'
		same types "$(jq -c '[.alloc.types[].name] | sort' report.json)" '["early","late","unknown type"]'
		same lost "$(jq '[.streams[].lost] | add' report.json)" 0
		same 'types without a sample' "$(jq -c '[.losses[] | select(.name == "TYPED").count]' report.json)" '[1]'
	done
}

@test "what is freed is dead at its age; the rest is alive" {
	for batch in 1 0; do
		GCPROF_BATCH=$batch run_contract freed 2000000
		same 'types outside' "$(outside)" '[]'
		same lost "$(jq '[.streams[].lost] | add' report.json)" 0
		jq -e '.alloc.types[0] | (.live_bytes / .bytes.estimate) as $live |
			$live > 0.2 and $live < 0.3 and .survived == null' report.json
		same age "$(jq '.alloc.types[0].median_age_below_bytes' report.json)" 8192
	done
}

@test "a runtime may know only the addresses of what it frees" {
	for batch in 1 0; do
		GCPROF_BATCH=$batch run_contract addresses 1000000
		same 'types outside' "$(outside)" '[]'
		same lost "$(jq '[.streams[].lost] | add' report.json)" 0
		jq -e '.alloc.types[0] | (.live_bytes / .bytes.estimate) as $live | $live > 0.2 and $live < 0.3' report.json
		# Uniformly from 0 to 51,200.
		same age "$(jq '.alloc.types[0].median_age_below_bytes' report.json)" 32768
	done
}

@test "objects may be freed by address" {
	"$GCPROF" record --max-overhead off -F 0 -- ./emitter freed 2>record.log
	grep 'recorded .* 1000 alloc' record.log
	"$GCPROF" report --json >report.json
	same lost "$(jq '[.streams[].lost] | add' report.json)" 0
	same type "$(jq -c '.alloc.types[] | [.name, .samples, .bytes.estimate, .live_bytes, .median_age_below_bytes]' report.json)" \
		'["placed",1000,64000,16000,131072]'
	same outcomes "$("$GCPROF" query 'SELECT fate, age, count(*) FROM samples GROUP BY 1, 2 ORDER BY 1' | grep -c '^freed.* 750$')" 1
}

@test "long: two providers in one process: each has its own types, sums, stacks and collections" {
	local count=2000000
	GCPROF_SEED=1 "$GCPROF" record --max-overhead off -F 0 -R 16K -- \
		env LD_PRELOAD="$PWD/agent.so" ./contract two $count >truth 2>record.log
	"$GCPROF" report --json >report.json
	# The library has its probes when it is mapped, some ms late.
	same lost "$(jq '[.losses[] | select(.severity == "lost" and .name != "UNPROBED").count] | add // 0' report.json)" 0
	same types "$(jq -c '[.alloc.types[].name] | sort' report.json)" '["block","object"]'
	same providers "$(jq -c '[.runtimes[] | [.name, .version, .provider > 0]] | sort' report.json)" \
		'[["agent","",true],["contract","2.0",true]]'
	same 'types outside' "$(outside)" '[]'
	same block "$(jq '.alloc.types[] | select(.name == "block") | .bytes.estimate' report.json)" "$(jq .block truth)"
	same collections "$(jq '.gc.major.count' report.json)" $((count / 10000 + count / 100000))
	# The agent pushes no frames: its samples have those of the other provider, and leave them to it.
	same sites "$(jq -c '[.sites[].functions | join(" < ")] | sort' report.json)" \
		'["managed < two < main","report < malloc < managed"]'
}

# Whatever part of the program was recorded: cycles, their pauses and others, with the program's names.
cycles_are_named() {
	holds '.gc.cycles | .rows[:-1] | all(.name == "concurrent mark" and (.reason | IN("allocation stall", "heap has grown")) and
		.heap_before_bytes == 8388608 and .heap_after_bytes == 6291456 and .live_bytes == 4194304 and
		.pauses == 2 and .pause_ns >= 600000 and .duration_ns > 15000000 and (.unfinished | not))'
	holds '.gc.cycles as $cycles | .gc.named | (map(.name) | sort) == ["mark end", "mark start", "scavenge"] and
		all((.count - $cycles.count | fabs) <= 1)'
	same kinds "$(ask '.gc.named | sort_by(.name) | map(.kind) | join(" ")')" 'stop stop minor'
	holds '.gc.cycles as $cycles | .gc | .minor.count - $cycles.count | fabs <= 1'
	holds '.gc.cycles.p50_ns > 10 * .gc.minor.p50_ns and
		.gc.stops.total_ns - .gc.stops.max_ns < .gc.cycles.total_ns / 2'
}

@test "cycles of a concurrent collector are apart from their pauses, with kinds and reasons that the program names" {
	"$GCPROF" record --max-overhead off -- ./contract cycles 40 2>record.log
	same cycles "$(ask '[.gc.cycles.count, (.gc.cycles.rows | length)] | join(" ")')" '40 41'
	cycles_are_named
	same last "$(ask '.gc.cycles.rows[-1] | [.name, .reason, .unfinished, .heap_before_bytes] | tojson')" '[null,"explicit",true,null]'
	same reasons "$(ask '[.gc.named_reasons[] | [.name, .count]] | sort | tojson')" '[["allocation stall",60],["heap has grown",20]]'
	# The last one.
	same requests "$(ask .gc.requests)" 1
	same lost "$(ask '[.streams[].lost] | add')" 0
	"$GCPROF" report --gc >text
	grep -E 'concurrent mark +(allocat.* stall|heap has grown) +8.00 MiB +6.00 MiB +4.00 MiB +2, ' text
	grep -E '^ +mark start +40 ' text
	# Exports have them, too.
	same table "$("$GCPROF" query -f csv "SELECT reason, count(*) FROM gc_cycles WHERE name = 'concurrent mark' GROUP BY 1" |
		tail -n 2 | paste -sd' ')" 'allocation stall,30 heap has grown,10'
}

@test "long: a recorder that attaches later has the names of cycles and their reasons" {
	./contract cycles 100000 &
	started+=($!)
	wait_busy $!
	"$GCPROF" record --max-overhead off --duration 2 -p $! 2>record.log
	holds '.gc.cycles.count > 20'
	cycles_are_named
	same reasons "$(ask '[.gc.named_reasons[].name] | sort | join(", ")')" 'allocation stall, heap has grown'
}

# Types and where they are allocated.
sites() {
	jq -c '[.sites[] | .type + ": " + (.functions | join(" < "))] | sort' report.json
}

@test "a program may know its frames: they are the whole stack" {
	for batch in 1 0; do
		GCPROF_BATCH=$batch run_contract whole 2000000
		same 'types outside' "$(outside)" '[]'
		same lost "$(jq '[.streams[].lost] | add' report.json)" 0
		same sites "$(sites)" '["even: make_even < loop < start","odd: make_odd < loop < start"]'
		whole
		same lines "$("$GCPROF" dump | jq -s -c '[.[] | select(.record == "managed_frame") | .line] | sort')" \
			'[10,10,11,11,12,12,20,30]'
	done
}

@test "frames that the program knows may be the callers of the native ones" {
	GCPROF_BATCH=1 run_contract callers 2000000
	same 'types outside' "$(outside)" '[]'
	"$GCPROF" export -f folded --by bytes -o folded
	same outermost "$(cut -d';' -f1-3 <folded | sort -u | paste -sd' ')" \
		'start;loop;make_even start;loop;make_odd'
	same innermost "$(sed 's/ [0-9]*$//; s/.*;//' folded | sort -u)" allocate
	whole
}

@test "frames that the program knows may begin where the native ones meet generated code" {
	GCPROF_BATCH=1 run_contract managed 2000000
	same 'types outside' "$(outside)" '[]'
	same sites "$(sites)" '["even: allocate < make_even < loop","odd: allocate < make_odd < loop"]'
	whole
}

@test "allocators with the probes of OpenTelemetry's contract: what they allocate, and what is alive" {
	GCPROF_SEED=2 "$GCPROF" record --max-overhead off -F 0 -- ./otel 400000 65536 >truth 2>record.log
	cat truth record.log
	"$GCPROF" report --json >report.json
	# The seed is fixed: this run is one of the 19 in 20.
	jq -e --slurpfile truth truth '.alloc | .samples > 5000 and
		.bytes.low < $truth[0].bytes and .bytes.high > $truth[0].bytes and
		.objects.low < $truth[0].blocks and .objects.high > $truth[0].blocks and
		.live.low < $truth[0].alive and .live.high > $truth[0].alive' report.json
	same lost "$(jq '[.streams[].lost] | add' report.json)" 0
	"$GCPROF" report | grep 'runtime otel_memory: blocks have no type'
	# The stack is the allocator's caller.
	"$GCPROF" report --sites | grep 'fire_alloc < take < main'
}
