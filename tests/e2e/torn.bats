#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# torn.bats: a large profile that was cut off anywhere still reports. PLACES=N SEED=N for others.
# Long: some minutes.

load common

@test "a profile of 100 MB cut off at forty places: each tells as much as is left" {
	local events=16000000 places=${PLACES:-40} size seed=${SEED:-$RANDOM} all before samples done=0
	gcc -O2 -std=c11 -D_GNU_SOURCE -I"$ROOT/userspace" "$ROOT/tools/bench/events.c" \
		"$BUILD/libgcprof-user.a" -lzstd -lm -o events
	./events whole.data "$events" >/dev/null
	size=$(stat -c %s whole.data)
	[ "$size" -gt 100000000 ]
	echo "seed $seed, $size bytes"
	RANDOM=$seed
	for _ in $(seq "$places"); do
		echo $(((RANDOM << 30 | RANDOM << 15 | RANDOM) % (size - 200) + 100))
	done | sort -n >places
	# From the end on, so that one file is enough.
	cp --reflink=auto whole.data cut.data
	all=$("$GCPROF" report --json --top 1 whole.data | jq .cpu.samples)
	before=$all
	while read -r place; do
		truncate -s "$place" cut.data
		"$GCPROF" report --json --top 1 cut.data >report.json 2>report.log
		grep -q 'the end is missing' report.log
		samples=$(jq -e 'select(.state == "torn" or .state == "unfinished") | .cpu.samples' report.json)
		[ "$samples" -le "$before" ]
		# Most of what stands before the cut is there: a chunk holds a small part of it.
		[ $((samples * 100)) -ge $((all * (place * 100 / size - 2))) ]
		before=$samples done=$((done + 1))
	done < <(tac places)
	same places "$done" "$places"
}
