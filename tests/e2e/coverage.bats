#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# coverage.bats: what was not recorded is unknown in every view, and 0 means that there was none.
# Parallel: no other recorder matters.

load common

# A table with the figures of the rows that need a stream: "off_cpu_ns functions".
figures_of() { # STREAM
	sed -nE "s/^\tFIELD\((function|thread|program|entry|syscall), [A-Z_]+, ([a-z0-9_]+), ([A-Z_]*_)?$1(_[A-Z]+)?, .*/\2 \1/p" \
		"$ROOT/userspace/model/rows.def"
}

rows_of() { # ROW
	case $1 in entry) echo entries ;; *) echo "$1s" ;; esac
}

check_unknown() { # STREAM
	figures_of "$1" >figures
	[ "$(wc -l <figures)" -ge 3 ]
	"$GCPROF" report --json >report.json
	"$GCPROF" export -f sqlite -o all.db
	"$GCPROF" export -f html -o page.html
	sed -n '/^{/,$p' page.html >data
	while read -r figure row; do
		jq -e --arg rows "$(rows_of "$row")" --arg figure "$figure" \
			'[.[$rows][] | .[$figure] | if type == "object" then .estimate else . end] | all(. == null)' report.json >/dev/null ||
			{ echo "$figure of $row is known in JSON" && return 1; }
		same "$figure of $row in SQL" "$(sqlite3 all.db "SELECT count($figure) FROM $(rows_of "$row" |
			sed 's/^syscalls$/syscall_totals/')")" 0
	done <figures
	rm -f all.db page.html
}

@test "figures of streams that were not recorded are null in JSON and SQL" {
	record -F 0 --no-off-cpu -- ls -lR /usr/share/doc
	for stream in ALLOC GC CPU SCHED FAULT; do
		check_unknown "$stream"
	done
	holds '.alloc.bytes.estimate == null and .gc.minor.count == null and .cpu.on_cpu_ns == null'
	holds '.off_cpu.total_ns == null and .faults.recorded == null and .syscalls[0].count > 0'
	holds '.timeline.windows[0].cpu_ns == null and .timeline.windows[0].syscall_records != null'
}

@test "the text has no column for what was not recorded, and ? for a program without a sampler" {
	record_told over alloc 100 -F 999 --no-off-cpu -- sh -c "'$WORKLOADS/churn' --seconds 300 &
		until [ -e over ]; do sleep 0.1; done; kill \$!; wait; gzip -c /bin/bash >/dev/null"
	"$GCPROF" report --functions --width 200 >functions
	absent 'off  ' functions
	"$GCPROF" report --programs --width 200 >programs
	awk '$NF == "gzip"' programs | grep -q ' ? '
	awk '$NF == "churn"' programs | grep -q '[MG]iB'
	holds '[.programs[] | select(.name == "gzip").alloc.estimate] == [null]'
}

@test "exports leave out what was not recorded" {
	command -v go >/dev/null || skip 'go is not installed'
	record -F 999 --no-off-cpu -- ls -lR /usr/share/doc
	"$GCPROF" export -f pprof -o calls.pb.gz
	go tool pprof -raw calls.pb.gz >raw 2>/dev/null
	same 'kinds of samples' "$(grep -A1 '^Samples:' raw | tail -n 1 | sed 's/\[dflt\]//; s/ *$//')" cpu/nanoseconds
}

@test "what became of objects is unknown, not nothing, where no collection tells" {
	command -v javac >/dev/null || skip 'no javac: default-jdk-headless'
	echo 'class Makes { static Object last; public static void main(String[] a) {
		for (int i = 0; i % 1000 != 0 || !new java.io.File("over").exists(); i++) last = new byte[1000]; } }' >Makes.java
	javac Makes.java
	record_told over alloc 300 -F 0 -- java -XX:+UseZGC -Xmx128m -cp . Makes
	holds '.alloc.samples > 100 and .gc.cycles.count > 0'
	holds '.alloc | .live_bytes == null and .live == {"estimate": null, "low": null, "high": null}'
	holds '[.alloc.types[], .sites[] | .survived_bytes, .promoted_bytes, .died_old_bytes, .live_bytes] | unique == [null]'
	"$GCPROF" export -f sqlite -o all.db
	same 'live in SQL' "$(sqlite3 all.db 'SELECT count(live_bytes) FROM recording')" 0
	same 'sites in SQL' "$(sqlite3 all.db 'SELECT count(live_bytes) + count(survived_bytes) FROM sites')" 0
	"$GCPROF" export -f pprof -o objects.pb.gz
	! zcat objects.pb.gz | grep -q inuse || return 1
	record_told over alloc 300 -F 0 -- java -XX:+UseSerialGC -Xmx128m -cp . Makes
	holds '.alloc.live.high > 0 and ([.sites[].live_bytes] | any(. != null))'
	"$GCPROF" export -f pprof -o objects.pb.gz
	zcat objects.pb.gz | grep -q inuse
}

@test "a comparison names what only one side recorded" {
	record -F 0 -o one.data -- "$WORKLOADS/known"
	record -F 0 -o two.data -- ls -lR /usr/share/doc
	"$GCPROF" diff one.data two.data >text
	grep -q 'not compared: alloc .*recorded only before' text
	absent 'gone .*allocated' text
	same 'in JSON' "$("$GCPROF" diff --json two.data one.data |
		jq -c '[.not_compared[] | select(.stream == "alloc" or .stream == "gc").recorded_in]')" '["after","after"]'
}

@test "a filter that selects nothing says so, prints no table and fails" {
	record -F 999 -- "$WORKLOADS/known"
	run "$GCPROF" report --filter function=nosuch
	same 'exit status' "$status" 1
	[[ $output = *'Nothing matches'* ]]
	[[ $output != *'Functions'* ]]
	run "$GCPROF" report --json --filter function=nosuch
	same 'of JSON' "$status" 1
}

@test "a runtime without a sampler has no known allocation, and why is said" {
	command -v node >/dev/null || skip 'there is no node'
	record -F 0 -- node -e 'const kept = []; for (let i = 0; i < 1e6; i++) kept[i % 1000] = [i];'
	holds '(.streams.alloc.attached | not) and (.streams.alloc.why_not | length) > 10'
	holds '.alloc.bytes.estimate == null and .alloc.samples == null and .gc.minor.count > 0'
}
