#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# runtimes.bats: unchanged programs of runtimes that only have a table, beside their own logs.

load common

PROGRAMS=$BATS_TEST_DIRNAME/programs

need() { # PROGRAM
	need_root
	command -v "$1" || skip "there is no $1"
}

# How many collections of each name began in a span of time, as "name count, name count, ".
names_between() { # BEGIN END
	"$GCPROF" query "SELECT name || ' ' || count(*) AS x FROM collections
		WHERE start BETWEEN $1 AND $2 GROUP BY name ORDER BY name" 2>/dev/null |
		awk 'NR > 2 { printf "%s, ", $0 }' | tr -s ' '
}

# Starts a program and records it, once it is busy, for two seconds.
attach() { # COMMAND...
	"$@" >said 2>&1 &
	started=($!)
	wait_busy "${started[0]}"
	record -F 0 -p "${started[0]}" --duration 2
}

# --- Ruby ------------------------------------------------------------------------------------

@test "Ruby: marks are those of GC.stat, with their reasons" {
	local begin end minor major
	need ruby
	record -F 0 -- ruby "$PROGRAMS/collect.rb" 1
	read -r begin end minor major <out
	[ "$minor" -ge 20 ] && [ "$major" -ge 5 ]
	same marks "$(names_between "$begin" "$end" | sed 's/sweep.*//')" "major mark $major, minor mark $minor, "
	same 'asked for' "$("$GCPROF" query "SELECT count(*) FROM collections WHERE reason = 'force'" | tail -n 1 | tr -d ' ')" 5
	# Each collection sweeps, and what it sweeps at once is a part of it.
	holds '[.gc.named[] | {(.name): .count}] | add | .sweep > .["minor mark"] + .["major mark"]'
	"$GCPROF" report | grep -E "^ *runtime ruby $(ruby -e 'print RUBY_VERSION'): no Ruby functions"
}

@test "Ruby: marks and sweeps of a program that runs already" {
	need ruby
	attach ruby "$PROGRAMS/collect.rb" 1000
	holds '[.gc.named[] | {(.name): .count}] | add | .["minor mark"] > 3 and .sweep > 10'
}

@test "Ruby: doctor says what there is, --runtime leaves it out" {
	need ruby
	"$GCPROF" doctor --json ruby >doctor.json
	jq -e '.[0] | .runtime == "ruby" and .records.pauses and (.missing | not)' doctor.json
	record --runtime go -- ruby -e 'GC.start'
	holds '.streams.gc.attached | not'
}
