#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# provider.bats: allocators that are not our collector: on the provider's library, and without it.
# Parallel: no other recorder matters.

load common

setup_file() {
	[ "$(id -u)" = 0 ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	build=$(cd "$root" && realpath "${BUILD_DIR:-build}")
	gcc -O1 -g -std=c11 -D_GNU_SOURCE -I"$root/gc" "$root/gc/provider/example/toy.c" \
		"$build/libgcprof-provider.a" -lpthread -o toy
	sed -n '/^```c$/,/^```$/p' "$root/gc/provider/PROBES.md" | sed '1d;/^```$/,$d' >emitter.c
	gcc -O1 -g -Wall -Wextra -Werror emitter.c -lm -o emitter
	"$build/gcprof" record --max-overhead off -o emitter.data -- ./emitter >emitter.truth 2>emitter.log
	"$build/gcprof" report --json emitter.data >emitter.json
	GCPROF_SEED=1 "$build/gcprof" record --max-overhead off -R 64K -- ./toy 8000000 >truth 2>record.log
	"$build/gcprof" report --json >report.json
}

setup() {
	need_root
	cd "$BATS_FILE_TMPDIR" || return 1
}

@test "an allocator of its own is recorded: nothing is lost, its collections are exact" {
	same lost "$(jq '[.streams[].lost] | add' report.json)" 0
	same minor "$(jq .gc.minor.count report.json)" "$(jq .minor truth)"
}

# The interval and 0.7 of its width on both sides: one in 400,000 is outside.
outside() { # AMOUNT
	jq -n -c --slurpfile truth truth --slurpfile report report.json --arg amount "$1" '
		[$truth[0].types | to_entries[] | .key as $name | .value[$amount] as $wanted | select($wanted != null) |
		 [$report[0].alloc.types[] | select(.name == $name)][0] |
		 (if $amount == "survive" then {low: .survived_low, high: .survived_high} else .[$amount] end) |
		 {name: $name, wanted: $wanted, low: (.low - 0.7 * (.high - .low)), high: (.high + 0.7 * (.high - .low))} |
		 select($wanted < .low or $wanted > .high)]'
}

@test "intervals of its types hold bytes, objects and survival" {
	for amount in bytes objects survive; do
		same "types whose $amount are outside" "$(outside $amount)" "[]"
	done
	same 'nodes with outcomes' "$(jq '.alloc.types[] | select(.name == "node") | .fates > .samples * 0.9' report.json)" true
}

@test "what it frees is dead at its age" {
	# The last 48 are not freed; an object of 80 bytes and one of 48 are made in each turn.
	same texts "$(jq -c '.alloc.types[] | select(.name == "text") |
		[.median_age_below_bytes, .survived, .live_bytes < 0.001 * .bytes.estimate]' report.json)" '[8192,null,true]'
}

@test "its sites begin with its own functions, not with the library's" {
	same sites "$(jq -c '[.sites[].functions[:2] | join(" < ")] | unique' report.json)" \
		'["new_object < make_node","new_object < make_text"]'
}

@test "its collections are charged to what they collect, not to what it frees" {
	same charged "$(jq -c '[.sites[] | select(.gc_ns > 0).functions[:2] | join(" < ")] | unique' report.json)" \
		'["new_object < make_node"]'
}

@test "its functions have the bytes that they allocated" {
	run jq -n -c --slurpfile truth truth --slurpfile report report.json '
		[(["make_node", "node"], ["make_text", "text"]) as [$name, $type] | $truth[0].types[$type].bytes as $bytes |
		 {name: $name, truth: $bytes, seen: ([$report[0].functions[] | select(.name == $name) | .alloc_total_bytes] | add // 0)} |
		 select((.seen - .truth | fabs) > 0.1 * .truth)]'
	same "functions far off" "$output" "[]"
}

@test "the emitter of PROBES.md is recorded: types, intervals and functions" {
	[ "$(wc -l <emitter.c)" -le 65 ]
	same lost "$(jq '[.streams[].lost] | add' emitter.json)" 0
	run jq -n -c --slurpfile truth emitter.truth --slurpfile report emitter.json '
		[$truth[0] | to_entries[] | .key as $name | .value as $wanted |
		 [$report[0].alloc.types[] | select(.name == $name) | .bytes][0] | (.high - .low) as $width |
		 select($wanted < .low - 0.7 * $width or $wanted > .high + 0.7 * $width or $width > 0.5 * $wanted)]'
	same "types outside" "$output" "[]"
	same function "$(jq -r '[.functions[] | select(.name == "main" and .alloc_total_bytes > 0)] | length' emitter.json)" 1
}

@test "what a program of tier 1 does not report, and why" {
	grep 'recorded .* no gc' emitter.log
	"$GCPROF" report emitter.data >emitter.txt
	grep -F "not recorded: gc (emitter has gcprof's probes, but none for this)" emitter.txt
	"$GCPROF" doctor ./emitter >doctor.txt
	same probes "$(sed '1d;$d; s/  */ /g' doctor.txt | paste -sd,)" \
		" probes gcprof's own, 2 places, recorded allocation samples with stacks, not the end of sampled objects: survival, live heap, pauses, cycles of concurrent collectors"
	"$GCPROF" doctor ./toy >doctor.txt
	same 'a library that has all' "$(grep -c '^  not' doctor.txt)" 0
}

@test "another profiler has the same samples by OpenTelemetry's contract: bytes, and what is freed" {
	command -v bpftrace >/dev/null || skip 'there is no bpftrace'
	# Where it can attach to a probe at all.
	GCPROF_RECORD=1 bpftrace -q -o hits -e "usdt:$PWD/toy:gcprof:type { @hits = count(); }" -c './toy 1' >hits.log 2>&1 || true
	grep -q 'hits: 2' hits || skip 'bpftrace attaches to no probe here'
	GCPROF_PERIOD=64K GCPROF_CEILING=0 GCPROF_SEED=1 bpftrace -q -o other -e "
		usdt:$PWD/toy:otel_memory:alloc { @samples = count(); @bytes = sum(arg2); @alive[arg0] = 1; }
		usdt:$PWD/toy:otel_memory:free { @gone = sum(@alive[arg0]); delete(@alive[arg0]); }
		END { clear(@alive); }" -c './toy 8000000' >other.truth 2>other.log || true
	cat other other.log
	awk -v bytes="$(grep '^{' other.truth | jq '[.types[].bytes] | add')" '
		{ seen[$1] = $2 }
		END {
			n = seen["@samples:"]; off = seen["@bytes:"] / bytes - 1
			print n, off, seen["@gone:"]
			# 4.5 standard deviations; nodes that live die with the last collection, or not.
			exit !(n > 10000 && off < 4.5 / sqrt(n) && off > -4.5 / sqrt(n) &&
				seen["@gone:"] > 0.9 * n && seen["@gone:"] <= n)
		}' other
}
