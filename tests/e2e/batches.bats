#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# batches.bats: samples that are handed over by the batch are the ones that go by themselves.
# Parallel: what others record does not change what these programs are asked for.

load common

# What calls main is missing from stacks of the first milliseconds, before there are unwind rows.
# Records gcbench with samples every 64 KiB into NAME.data and what they say into NAME.json.
record_gcbench() { # NAME GCPROF_BATCH
	GCPROF_BATCH=$2 GCPROF_SEED=3 record -R 64K -F 0 --syscall-rate 0 -o "$1.data" -- \
		"$WORKLOADS/gcbench" 2
	"$GCPROF" report --json "$1.data" >"$1.json"
}

# Whoever records the whole machine meanwhile may ask for fewer samples, and whoever keeps the recorder waiting
# fills the ring.
is_its_own() { # NAME
	[ "$(jq '.alloc.period_changes + .streams.alloc.lost' "$1.json")" = 0 ]
}

# Records into NAME.data what nobody else asked for fewer samples of.
record_alone() { # NAME ARGUMENT...
	local name=$1
	shift
	for _ in $(seq 5); do
		record -o "$name.data" "$@"
		"$GCPROF" report --json "$name.data" >"$name.json"
		! is_its_own "$name" || return 0
	done
	needs_nobody_else false
}

@test "batches change nothing but the cost: totals, types, survival, functions, stacks" {
	need_root
	for _ in $(seq 5); do
		record_gcbench batched 1
		record_gcbench single 0
		! is_its_own batched || ! is_its_own single || break
	done
	needs_nobody_else is_its_own batched
	needs_nobody_else is_its_own single
	for what in .streams.alloc.lost '.alloc | del(.types)' '[.alloc.types[] | {name, samples, bytes, survived}]' \
		'[.functions[] | {name, alloc_self_bytes, alloc_total_bytes, survived_bytes} |
			select(.alloc_total_bytes > 0 and (.name | startswith("_") | not))] | sort_by(.name)'; do
		same "$what" "$(jq -c "$what" batched.json)" "$(jq -c "$what" single.json)" || {
			"$GCPROF" info batched.data
			return 1
		}
	done
	same lost "$(jq .streams.alloc.lost batched.json)" 0
	# Those of the first moments, before there are unwind rows, may not be complete.
	holds '.stacks.complete > 0.8 and .stacks.unfinished.lost == null' batched.data
}

# The stack of each sample of NAME.data, by the sample's number: files, offsets and functions.
stacks_of() { # NAME
	"$GCPROF" dump "$1.data" | jq -r '
		if .record == "native_frame" then "frame \(.id) \(.module)+\(.offset)"
		elif .record == "managed_frame" then "frame \(.id) \(.code):\(.line)"
		elif .record == "stack" then "stack \(.id) \(.parent) \(.frame)"
		elif .record == "alloc" then "alloc \(.sample) \(.size) \(.quality) \(.stack)"
		else empty end' |
		awk '$1 == "frame" { frame[$2] = $3 }
			$1 == "stack" { parent[$2] = $3; last[$2] = $4 }
			$1 == "alloc" {
				line = $2 " " $3 " " $4 " :"
				for (at = $5; at; at = parent[at]) line = line " " frame[last[at]]
				print line
			}' | sort
}

# gcbench and lisp hardly have a stack twice: theirs are made of pieces.
@test "stacks that are made of pieces are those that are walked, sample by sample" {
	need_root
	local name
	# Earlier there are no unwind rows: some stacks are walked by frame pointers, or copied.
	for name in batched single; do
		GCPROF_BATCH=$([ $name = batched ] && echo 1 || echo 0) GCPROF_SEED=3 \
			record_alone $name --stack fp -R 64K -F 0 --syscall-rate 0 -- \
			"$WORKLOADS/lisp" "$ROOT/tests/workloads/lisp/tree.lisp" depth=13
		stacks_of $name >$name.stacks
	done
	[ "$(grep -c . batched.stacks)" -gt 500 ]
	cmp batched.stacks single.stacks
}

@test "samples of a batch have times of their own, in order" {
	need_root
	GCPROF_SEED=3 record_alone times -R 32K -F 0 -- "$WORKLOADS/churn" --bytes 500M
	"$GCPROF" dump times.data | jq -r 'select(.record == "alloc") | .time' >when
	sort -n -c when
	all=$(grep -c . when)
	[ "$all" -gt 5000 ]
	# No more than a few have the same time.
	[ "$(sort -u when | grep -c .)" -gt $((all * 9 / 10)) ]
}

@test "a program that was killed loses one batch a thread at most" {
	need_root
	record -R 32K -F 0 -o killed.data -- \
		sh -c "'$WORKLOADS/churn' --seconds 1000 & echo \$! >churn; wait \$!" 3>&- &
	recorder=$!
	wait_until test -s churn
	started+=("$(cat churn)")
	wait_busy "$(cat churn)"
	wait_until has_stored alloc 10000 killed.data
	kill -KILL "$(cat churn)"
	wait "$recorder" || true
	holds '.alloc.samples >= 10000 and .streams.alloc.lost == 0' killed.data
}

# Records churn, which collects some thousand times a second, into NAME.data; what it says itself of
# its collections must be in the profile. Sets `alone` and `summed` to how many have records or not.
record_collections() { # NAME OPTION...
	local name=$1 said
	shift
	record -F 0 "$@" -o "$name.data" -- "$WORKLOADS/churn" --bytes 3G --keep 512
	said=$(<out)
	"$GCPROF" report --json "$name.data" >"$name.json"
	same minor "$(jq .gc.minor.count "$name.json")" "$(sed -n 's/.* minor=\([0-9]*\).*/\1/p' <<<"$said")"
	same cycles "$(jq .gc.major.cycles "$name.json")" "$(sed -n 's/.* full=\([0-9]*\).*/\1/p' <<<"$said")"
	same promoted "$(jq .gc.promoted_bytes "$name.json")" \
		"$(sed -n 's/.* promoted=\([0-9]*\).*/\1/p' <<<"$said")"
	same lost "$(jq .streams.gc.lost "$name.json")" 0
	"$GCPROF" dump "$name.data" | jq -c 'select(.record == "gc_begin" or .record == "gc_end")' >"$name.gc"
	same 'not whole' "$(jq -c 'select(.record == "gc_end" and .has_stats != 1)' "$name.gc")" ''
	same cycles "$(jq 'select(.record == "gc_begin") | .cycle' "$name.gc" | sort -n)" \
		"$(jq 'select(.record == "gc_end") | .cycle' "$name.gc" | sort -n)"
	alone=$(grep -c gc_end "$name.gc" || true)
	summed=$(jq '[.gc.minor, .gc.major | .summed] | add' "$name.json")
	same all "$((alone + summed))" "$(jq '[.gc.minor, .gc.major | .count] | add' "$name.json")"
}

@test "sums of collections: their number and figures are those of each by itself" {
	need_root
	# Somebody else on this machine may be asking programs to report each by itself.
	for _ in $(seq 5); do
		GC_NURSERY=1M record_collections sums
		[ "$summed" -lt 100 ] || break
	done
	sums=$summed
	[ "$sums" -ge 100 ]
	[ "$alone" -ge 100 ]
	same 'of unknown faults' "$(jq .faults.unknown_gcs sums.json)" \
		"$((summed + $(grep -c '"batched":1' sums.gc || true)))"
	GC_NURSERY=1M GCPROF_GC_CEILING=0 record_collections single
	same summed "$summed" 0
	# What a program allocates decides when it collects, and how much is alive then.
	for what in .gc.promoted_objects .gc.nursery_bytes '[.gc.reasons[].count]'; do
		same "$what" "$(jq -c "$what" sums.json)" "$(jq -c "$what" single.json)"
	done
	# One such record stands for many.
	records=$("$GCPROF" dump sums.data | grep -c '"record":"gc_summary"')
	echo "$summed in $records records"
	[ $((records * 2)) -lt "$sums" ]
}

@test "who wants page faults, or sets no limit of overhead, gets each collection by itself" {
	need_root
	GC_NURSERY=1M record_collections faults --faults
	same summed "$summed" 0
	GC_NURSERY=1M record_collections unlimited --max-overhead off
	same summed "$summed" 0
}

# Records process $churn until so many RECORDs came.
record_running() { # NAME RECORD COUNT OPTION...
	local name=$1 kind=$2 least=$3
	shift 3
	for _ in $(seq 20); do
		record "$@" -F 0 -p "$churn" --duration 0.5s -o "$name.data"
		"$GCPROF" dump "$name.data" | jq -r 'select(.record | test("^gc_")) | .record' >"$name.gc"
		[ "$(grep -c "$kind" "$name.gc")" -lt "$least" ] || return 0
	done
	return 1
}

@test "a program that runs already is asked to report each collection by itself, and no longer afterwards" {
	need_root
	GC_NURSERY=256K "$WORKLOADS/churn" --seconds 1000 >/dev/null 3>&- &
	churn=$!
	started+=("$churn")
	wait_busy $churn
	before=$(requests $churn)
	record_running asked gc_end 1000 --faults
	needs_nobody_else same after "$(requests $churn)" "$before"
	record_running unasked gc_summary 10
	kill $churn
	# If somebody else who had recorded it left before it was attached to, it is asked once more then.
	same summed "$(tail -n 200 asked.gc | grep -c gc_summary || true)" 0
}

@test "what a recorder asked for that was killed is taken back by the next one" {
	need_root
	GC_NURSERY=256K "$WORKLOADS/churn" --seconds 1000 >/dev/null 3>&- &
	churn=$!
	started+=("$churn")
	wait_busy "$churn"
	before=$(requests "$churn")
	"$GCPROF" record -v --faults -F 0 -p "$churn" 2>asked.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until grep -q 'probes attached' asked.log
	[ "$(requests "$churn")" != "$before" ]
	kill_with_openers "$recorder"
	begin_recording -p "$churn"
	wait_said 'still did what a gcprof that was killed had asked for'
	end_recording
	needs_nobody_else same asked "$(requests "$churn")" "$before"
	kill -KILL "$churn"
}
