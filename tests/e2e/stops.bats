#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# stops.bats: how long collections stop a program: surveys, and what follows each other at once.

load common

@test "surveys are told, and stops are what follows each other at once" {
	need_root
	GC_PAUSE=250 record -- "$WORKLOADS/gcbench"
	holds '.gc.survey.count > 100 and .gc.survey.total_ns > 0'
	holds '.gc | .stops.count < .minor.count + .major.count + .survey.count and
		.stops.count > .minor.count'
	# What lies between two of them counts, too; not what is in sums before one that is not.
	holds '.gc | .stops.total_ns >= 0.98 * (.minor.total_ns + .major.total_ns + .survey.total_ns) and
		.stops.max_ns >= ([.minor.max_ns, .major.max_ns, .survey.max_ns] | max)'
	"$GCPROF" report | tee text
	grep -qE '^ +survey +[0-9,]+ ' text
	grep -qE '^ +all, as stops +[0-9,]+ ' text
	"$GCPROF" export -f firefox -o out.json.gz
	zcat out.json.gz | grep -q '"GC survey"'
	same 'surveys' "$("$GCPROF" query -f csv "SELECT
		(SELECT count(*) FROM collections WHERE kind = 'survey') +
		(SELECT sum(count) FROM collection_sums WHERE kind = 'survey')" | tail -n 1)" \
		"$(ask .gc.survey.count)"
}

@test "without a goal for pauses there are no surveys" {
	need_root
	record -- "$WORKLOADS/gcbench"
	holds '.gc.survey.count == 0 and .gc.minor.count > 50'
	# A row of its own, that is: samples may name the collector's survey functions.
	"$GCPROF" report >text
	grep -qE '^ +minor +[0-9,]+ ' text
	grep -E '^ +survey ' text && return 1
	same 'queried surveys' "$("$GCPROF" query -f csv \
		"SELECT count(*) FROM collections WHERE kind = 'survey'" | tail -n 1)" 0
}
