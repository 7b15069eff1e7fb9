#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# push.bats: profiles in a real ClickHouse server: each row once, even if client or server is killed.
# Parallel: other recorders do not interfere, and the file has a server of its own.

# shellcheck disable=SC2154 # clickhouse.bash sets url, port and server
bats_require_minimum_version 1.5.0
load common
load clickhouse

# Profiles with all kinds of events, with many rows, and with names that need escaping in SQL.
setup_file() {
	[ "$(id -u)" = 0 ] && command -v clickhouse-client >/dev/null || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir server
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	build=$(cd "$root" && realpath "${BUILD_DIR:-build}")
	"$build/gcprof" record --off-cpu -o known.data -R 64K -- "$build/workloads/known" >/dev/null 2>known.log
	"$build/gcprof" record -o many.data -R 16K --ceiling 0 -- "$build/workloads/gcbench" >/dev/null 2>many.log
	cp "$build/workloads/known" $'a\'b"\\\nc\xff;--'
	"$build/gcprof" record -o names.data -R 64K -- $'./a\'b"\\\nc\xff;--' >/dev/null 2>names.log
}

setup() {
	need_root
	need_clickhouse
	cd "$BATS_TEST_TMPDIR" || return 1
	ln -s "$BATS_FILE_TMPDIR"/*.data "$BATS_FILE_TMPDIR/server" .
	use_server server
}

teardown_file() {
	local server
	! [ -e "$BATS_FILE_TMPDIR/server/running" ] || . "$BATS_FILE_TMPDIR/server/running"
	[ -z "${server:-}" ] || kill -KILL "$server" 2>/dev/null || true
}

# Sums of a profile by its report, and sums of everything on the server, as lines.
report_sums() { # FILE
	read_report "$1" && jq -r '.functions as $f | "cpu \($f | map(.cpu_self_ns) | add)",
		"alloc \($f | map(.alloc_self_bytes) | add)",
		"survived \($f | map(.survived_bytes) | add)", "gc \($f | map(.gc_self_ns) | add)",
		"calls \($f | map(.syscall_self_ns) | add)", "waits \($f | map(.off_cpu_self_ns) | add)",
		"samples \(.cpu.samples + .alloc.samples)"' .report.json
}

server_sums() { # TABLE
	ask_server "SELECT sum(cpu_ns), sum(alloc_bytes), sum(survived_bytes), sum(gc_ns), sum(syscall_ns),
		sum(off_cpu_ns), sum(cpu_samples) + sum(alloc_samples) FROM $1 FORMAT TSV" | tr '\t' '\n' | paste -d ' ' <(printf '%s\n' cpu alloc survived gc calls waits samples) -
}

# Bytes and collection times may differ by 5000 bytes or ns: reports round each function's.
same_sums() { # EXPECTED FOUND
	paste -d ' ' "$1" "$2" | awk '{coarse = $1 ~ /^(alloc|survived|gc)$/ ? 5000 : 0; off = $4 - $2}
		$1 != $3 || off > coarse || -off > coarse {print; bad = 1} END {exit bad || NR != 7}'
}

# All tables of the server agree with the report.
agrees() { # FILE
	report_sums "$1" >expected
	grep -q '^samples [1-9]' expected
	for table in samples hourly; do
		server_sums $table >found
		same_sums expected found || {
			echo "so far the report and $table"
			return 1
		}
	done
	same pauses "$(ask_server 'SELECT sum(count), sum(pause_ns) FROM pauses WHERE time > 0 FORMAT TSV')" \
		"$(jq -r '.gc | [.minor.count + .major.count, .minor.total_ns + .major.total_ns] | @tsv' .report.json)"
	same calls "$(ask_server 'SELECT sum(count), sum(total_ns) FROM calls FORMAT TSV')" \
		"$(jq -r '[(.syscalls | map(.count) | add), (.syscalls | map(.total_ns) | add)] | @tsv' .report.json)"
}

push() {
	"$GCPROF" push --to "$url" "$@"
}

@test "server agrees with the report, even after a second push" {
	push known.data 2>log
	grep -q 'known.data: pushed [0-9]* rows$' log
	agrees known.data
	push known.data 2>log
	grep -q 'known.data: the server already has it' log
	agrees known.data
}

@test "long: figures of each function agree with the report" {
	push known.data
	ask_server "SELECT name, sum(cpu), round(sum(bytes)) FROM
		(SELECT functions[1] AS function, sum(cpu_ns) AS cpu, sum(alloc_bytes) AS bytes FROM
			(SELECT stack, cpu_ns, alloc_bytes FROM hourly WHERE hour > 0)
			ANY LEFT JOIN stacks USING stack GROUP BY function)
		ANY LEFT JOIN functions USING function GROUP BY name ORDER BY name FORMAT TSV" >found
	"$GCPROF" report --json known.data | jq -r '.functions | group_by(.name)[] | [.[0].name,
		(map(.cpu_self_ns) | add), (map(.alloc_self_bytes) | add | round)] | select(.[1] + .[2] > 0) | @tsv' |
		LC_ALL=C sort >expected
	[ "$(wc -l <expected)" -gt 5 ]
	awk -F '\t' '$2 + $3 > 0' found | LC_ALL=C sort | awk -F '\t' -v OFS='\t' '
		NR == FNR {name[NR] = $1; cpu[NR] = $2; bytes[NR] = $3; next}
		$1 != name[FNR] || $2 != cpu[FNR] || ($3 - bytes[FNR])^2 > 4 {print "not", $0; bad = 1}
		END {exit bad || FNR != NR - FNR}' expected -
}

# Makes enough blocks to interrupt a push in between.
small_blocks() {
	export GCPROF_TEST_BLOCK=10
}

report_from() {
	"$GCPROF" report --from "$url" "$@"
}

# Figures of functions, sites and calls, as lines; bytes and collection times are rounded.
figures() {
	jq -r '(.functions[] | ["function", .name, .module, .runtime, .cpu_samples, .cpu_self_ns, .cpu_total_ns,
			(.alloc_self_bytes, .alloc_total_bytes, .survived_bytes, .alloc_self.low, .alloc_total.high,
			.gc_self_ns, .gc_ns | . / 100 | round), .syscall_self_ns, .syscall_ns, .off_cpu_self_ns,
			.off_cpu_ns, ((.survived_low // 0) * 1000 | round)]),
		(.sites[] | ["site", (.functions | join(" < ")), .type, .samples, (.gc_ns, .bytes.low, .bytes.high | . / 100 |
			round), ((.survived_high // 0) * 1000 | round)]),
		(.syscalls[] | ["call", .name, .count, .errors, .total_ns, .max_ns, .in_gc_ns]) |
			map(. // 0) | @tsv' "$1" | LC_ALL=C sort
}

# Equal except for rounding.
close_to() { # EXPECTED FOUND
	paste "$1" "$2" | awk -F '\t' '
		{n = NF / 2; for (i = 1; i <= n; i++) if ($i != $(i + n) && !($i ~ /^[0-9]+$/ && ($i - $(i + n)) ^ 2 <= 1)) bad = 1}
		bad {print; exit} END {exit bad || NR < 30}' && [ "$(wc -l <"$1")" = "$(wc -l <"$2")" ]
}

@test "report --from agrees with the report of the file" {
	push known.data
	"$GCPROF" report --json known.data | jq '.functions |= map(select(.cpu_samples + .alloc_total_bytes + .gc_ns +
		.cpu_total_ns + .syscall_ns + .off_cpu_ns > 0))' >local.json
	for where in 'service!=x' time\>2026-01-01 'time>2026-01-01T00:00:01 AND host!=nowhere'; do
		report_from --where "$where" --json >server.json
		figures local.json >expected
		figures server.json >found
		close_to expected found
		same pauses "$(jq -c '[.pauses | map(.count, .total_ns) | _nwise(2)] | transpose | map(add)' server.json)" \
			"$(jq -c '.gc | [.minor.count + .major.count, .minor.total_ns + .major.total_ns]' local.json)"
		same profiles "$(jq .profiles server.json)" 1
	done
	# Types, without the counts of objects.
	jq -r '.alloc.types[] | [.name // "", .samples, .bytes.low, .bytes.high] | @tsv' local.json | LC_ALL=C sort >expected
	jq -r '.types[] | [.name, .samples, .bytes.low, .bytes.high] | @tsv' server.json | LC_ALL=C sort >found
	paste expected found | awk -F '\t' '{for (i = 1; i <= 4; i++) if ($i != $(i + 4) && ($i - $(i + 4)) ^ 2 > 100) bad = 1}
		bad {print; exit} END {exit bad || NR < 3}'
	report_from --types | grep -q '^Types'
	# Threads, by name.
	jq -r '.threads | group_by(.name)[] | [.[0].name // "", length, (map(.cpu_samples) | add), (map(.cpu_ns) | add),
		(map(.queued_ns // 0) | add), (map(.alloc_bytes) | add)] | @tsv' local.json >expected
	jq -r '.threads | sort_by(.name)[] | [.name, .threads, .cpu_samples, .cpu_ns, .queued_ns // 0, .alloc_bytes] | @tsv' server.json >found
	paste expected found | awk -F '\t' '{for (i = 1; i <= 6; i++) if ($i != $(i + 6) && ($i - $(i + 6)) ^ 2 > 100) bad = 1}
		bad {print; exit} END {exit bad || NR < 1}'
	report_from --threads | grep -q '^Threads by name'
	# Stacks add up to the total, and end in _start.
	same cpu "$(jq '.stacks | map(.cpu_ns) | add' server.json)" "$(jq '.functions | map(.cpu_self_ns) | add' local.json)"
	jq -e '.stacks[] | select(.functions[-1] == "_start" and .functions[0] == "spin")' server.json >/dev/null
	report_from >text
	grep -q '^1 profile$' text
	grep -q '^Functions' text
	grep -q '^Allocation sites' text
}

# Nodes of a call tree as lines: callers, costs. Costs without a stack are no part of a file's tree.
calls() {
	jq -r 'def nodes(path): (path + [.name, .module // ""]) as $path | [($path | join(" ")),
			(to_entries[] | select(.key | test("^(total|self)_") and endswith("live_bytes") == false) | .value | . / 100 | round)],
			(.children[] | nodes($path));
		.root | del(.children[] | select(.name == "(no stack)" or .name == "(no samples)")) | .children[] | nodes([]) | @tsv' |
		LC_ALL=C sort
}

@test "report --from --tree, --callers, --callees: every node as in the report of the file" {
	push --label service=one known.data
	push --label service=two many.data
	for option in --tree '--callers spin|gc_alloc*' '--callees *burn*ll' '--tree --sort gc' "--callers %s_'\\"; do
		# shellcheck disable=SC2086 # patterns have no blanks
		"$GCPROF" report --json $option known.data | calls >expected
		report_from --where service=one --json $option >server.json
		jq -e '.profiles == 1 and .cut == false' server.json
		calls <server.json >found
		[[ $option = *%* ]] || [ -s expected ]
		paste expected found | awk -F '\t' '
			{n = NF / 2; for (i = 1; i <= n; i++) if ($i != $(i + n) && !(i > 1 && ($i - $(i + n)) ^ 2 <= 4)) bad = 1}
			bad {print; exit} END {exit bad}'
		same nodes "$(wc -l <found)" "$(wc -l <expected)"
	done
	same totals "$(report_from --tree --json | jq -c '.root | [.total_cpu_ns, .total_syscall_ns, .total_off_cpu_ns]')" \
		"$(report_from --json | jq -c '.totals | [.cpu_ns, .syscall_ns, .off_cpu_ns]')"
	report_from --tree --sort alloc >text
	grep -q '^2 profiles$' text
	grep -q '^Call tree, from the outermost function (by allocated bytes)$' text
	grep -q 'make_tree$' text
	run -2 report_from --tree --sort live
	run -2 report_from --tree --callers spin
}

@test "long: report --from --timeline: sums of windows as in the report, by the second and by the hour" {
	push known.data
	totals='(.totals | .cpu_ns, .syscall_ns, .off_cpu_ns, .bytes.estimate), (.pauses | map(.total_ns) | add), (.pauses | map(.count) | add)'
	sums='.windows | map(.cpu_ns), map(.syscall_ns), map(.off_cpu_ns), map(.alloc.estimate), map(.pause_ns), map(.pauses) | add'
	timeline() {
		report_from --timeline --json "$@"
	}
	same_totals() { # FILE
		paste expected <(jq "$sums" "$1") | awk '($1 - $2) ^ 2 > (1e-6 * $1 + 1000) ^ 2 {print; bad = 1} END {exit bad || NR != 6}'
	}
	report_from --json | jq "$totals" >expected
	timeline >seconds.json
	same_totals seconds.json
	start=$(ask_server 'SELECT toUInt32(min(time)) FROM samples WHERE time > 0')
	same 'the first window' "$(jq -c '[.step_ns, .windows[0].time]' seconds.json)" "[1000000000,$start]"
	# CPU time without samples, a stack with the same number everywhere, is spread over its profile.
	n=$(jq '.windows[-1].time - .windows[0].time + 5' seconds.json)
	columns=profile,block,day,service,version,time,stack,cpu_ns
	ask_server "ALTER TABLE profiles UPDATE duration_ns = ($n - 1) * 1000000000 WHERE 1"
	wait_until updated
	ask_server "INSERT INTO samples ($columns) SELECT profile, 0, day, service, version, toDateTime($start), toUInt64(8568265766849537381), $n * 1000000000 FROM profiles"
	ask_server "INSERT INTO samples ($columns) SELECT profile, 0, day, service, version, toDateTime($start + 99), toUInt64(1), 7 FROM profiles"
	timeline | jq -e '[.windows[-4:-1][].cpu_ns / 1e9 | floor] == [1, 1, 1] and .windows[-1].cpu_ns == 7'
	# The same each hour for 60 days: hourly sums.
	columns=$(ask_server "SELECT name FROM system.columns WHERE database = 'gcprof' AND table = 'samples' FORMAT TSV" | paste -sd,)
	ask_server "INSERT INTO samples ($columns) SELECT ${columns/,time,/,time + n * 3600 AS time,} FROM (SELECT * FROM samples WHERE time > 0)
		ARRAY JOIN range(1440) AS n WHERE n > 0"
	report_from --json | jq "$totals" >expected
	for where in 'service!=x' 'host!=x'; do
		timeline --where "$where" >hours.json
		same step "$(jq .step_ns hours.json)" 7200000000000
		same_totals hours.json
		same windows "$(jq '.windows | length' hours.json)" "$(ask_server 'SELECT uniqExact(intDiv(toUInt32(hour), 7200)) FROM hourly WHERE hour > 0')"
	done
	report_from --timeline --width 80 >text
	grep -q '^  CPU .*  up to [0-9.]* CPUs$' text
	grep -q '^  from .* UTC on; each character is [0-9.,]* [a-z]*$' text
	same 'none' "$(timeline --where service=x | jq -c '[.profiles, .windows]')" '[0,[]]'
	run -2 report_from --timeline --types
}

@test "long: export -f folded --from: the stacks of all profiles, as in the export of the file" {
	push --label service=one known.data
	push --label service=two many.data
	for by in cpu bytes gc syscall off-cpu; do
		"$GCPROF" export -f folded --by $by -o - known.data | sed 's/_\[i\]//g' >local
		"$GCPROF" export -f folded --by $by --from "$url" --where service=one -o - >remote
		# Collection time is rounded by stack.
		for file in local remote; do
			awk '{v = $NF; sub(/ [0-9]+$/, ""); n[$0] += v} END {for (k in n) if (n[k] > 1000) print k " " n[k]}' $file |
				LC_ALL=C sort >$file.sums
		done
		[ -s local.sums ]
		same stacks "$(sed 's/ [0-9]*$//' remote.sums)" "$(sed 's/ [0-9]*$//' local.sums)"
		paste local.sums remote.sums | awk '{a = $(NF / 2); b = $NF} (a - b) ^ 2 > 1 + (a / 1e4) ^ 2 {print; bad = 1} END {exit bad}'
	done
	"$GCPROF" export -f folded --from "$url"
	grep -q 'make_tree' fleet.folded
	run -2 "$GCPROF" export --from "$url"
	run -2 "$GCPROF" export -f folded --from "$url" --by faults
	run -2 "$GCPROF" export -f folded --where service=one known.data
}

# 18.16 has no maps: pairs of arrays stand in for them, which newer servers convert.
@test "--otel: the table of OpenTelemetry's exporter gets each profile once" {
	"$GCPROF" push --schema --otel gcprof.otel_profiles >schema
	same columns "$(grep -c '^	' schema)" 24
	grep -q 'FunctionNames Array(LowCardinality(String)),' schema
	ask_server "$(grep -v ^-- schema | sed 's/LowCardinality(String)/String/g; s/Map(String, String)/Tuple(Array(String), Array(String))/
		s/DateTime64(9)/DateTime/')"
	push --label service="it's" --label zone='a\b' --otel otel_profiles known.data 2>log
	grep -q 'known.data: [0-9]* rows copied to otel_profiles' log
	push --label service=two --otel gcprof.otel_profiles many.data
	ask_server "SELECT sum(cpu_ns), sum(off_cpu_ns), sum(syscall_ns), round(sum(alloc_bytes) / 1e6), round(sum(gc_ns) / 1e6)
		FROM samples WHERE service = 'it\\'s' FORMAT TSV" >expected
	ask_server "SELECT sum(if(SampleType = 'cpu', Values[1], 0)), sum(if(SampleType = 'off_cpu', Values[1], 0)),
		sum(if(SampleType = 'syscall', Values[1], 0)), round(sum(if(SampleType = 'alloc_space', Values[1], 0)) / 1e6),
		round(sum(if(SampleType = 'gc_time', Values[1], 0)) / 1e6) FROM otel_profiles WHERE ServiceName = 'it\\'s' FORMAT TSV" >found
	same sums "$(cat found)" "$(cat expected)"
	# As in the folded stacks.
	ask_server "SELECT concat(arrayStringConcat(arrayReverse(FunctionNames), ';'), ' ', toString(sum(Values[1]))) FROM otel_profiles
		WHERE SampleType = 'cpu' AND ServiceName = 'two' GROUP BY FunctionNames FORMAT TSV" | LC_ALL=C sort >stacks
	"$GCPROF" export -f folded --from "$url" --where service=two -o - | sed 's/_\[k\]//g' | LC_ALL=C sort | cmp - stacks
	same attributes "$(ask_server "SELECT DISTINCT arrayStringConcat(arrayFilter(x -> x LIKE 'service.name=%' OR x LIKE 'zone=%', arrayMap((k, v) ->
		concat(k, '=', v), ResourceAttributes.1, ResourceAttributes.2)), ' ') FROM otel_profiles WHERE ServiceName = 'it\\'s' FORMAT TSVRaw")" \
		"service.name=it's zone=a\\b"
	same lengths "$(ask_server 'SELECT countIf(length(FunctionNames) != length(FileNames) OR length(FunctionNames) != length(LineNumbers)
		OR length(FunctionNames) = 0) FROM otel_profiles')" 0

	rows=$(ask_server 'SELECT count() FROM otel_profiles')
	push --otel otel_profiles many.data 2>log
	grep -q 'otel_profiles has all its rows' log
	same rows "$(ask_server 'SELECT count() FROM otel_profiles')" "$rows"
	ask_server "INSERT INTO otel_profiles SELECT * FROM otel_profiles WHERE ServiceName = 'two' LIMIT 1"
	run -1 push --otel otel_profiles many.data
	grep -q 'ALTER TABLE otel_profiles DELETE' <<<"$output"
	run -2 push --otel 'a b' many.data
}

# Newer servers refuse others.
@test "subqueries of joins have names in all statements" {
	cat >proxy.py <<-'END'
		import http.server, os, urllib.request
		class Handler(http.server.BaseHTTPRequestHandler):
		    protocol_version = 'HTTP/1.1'
		    def do_POST(self):
		        body = self.rfile.read(int(self.headers['Content-Length']))
		        open('statements', 'ab').write(body + b'\n')
		        answer = urllib.request.urlopen(urllib.request.Request(os.environ['url'] + self.path, body)).read()
		        self.send_response(200)
		        self.send_header('Content-Length', str(len(answer)))
		        self.end_headers()
		        self.wfile.write(answer)
		server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
		print(server.server_port, flush=True)
		server.serve_forever()
	END
	url=$url timeout 100 python3 proxy.py >place 2>/dev/null 3>&- &
	proxy=$!
	wait_until test -s place
	"$GCPROF" push --schema --otel gcprof.otel_profiles | grep -v ^-- | sed 's/LowCardinality(String)/String/g
		s/Map(String, String)/Tuple(Array(String), Array(String))/; s/DateTime64(9)/DateTime/' | ask_server "$(cat)"
	push --label service=one known.data
	to=http://127.0.0.1:$(cat place)
	"$GCPROF" push --to "$to" --otel otel_profiles known.data
	for part in '' --timeline --tree '--callers allocate'; do
		# shellcheck disable=SC2086 # an option and its value
		"$GCPROF" report --from "$to" $part >/dev/null
	done
	"$GCPROF" diff --from "$to" service=one service=one >/dev/null
	"$GCPROF" export -f folded --from "$to" -o folded
	kill "$proxy"
	[ "$(grep -c ' JOIN (SELECT' statements)" -ge 10 ]
	run -1 grep -E '\) (ANY|USING)' statements
}

# The server has applied all statements ALTER TABLE ... UPDATE.
updated() {
	[ "$(ask_server 'SELECT count() FROM system.mutations WHERE NOT is_done')" = 0 ]
}

@test "diff --from: unequal numbers of profiles compare per second of CPU time, as the diff of the files" {
	push --label service=s --label version=1 known.data
	# Two more profiles with the same figures, as version 2.
	for table in samples pauses calls; do
		columns=$(ask_server "SELECT name FROM system.columns WHERE database = 'gcprof' AND table = '$table' FORMAT TSV")
		copies=$(sed "s/^version$/'2' AS version/; s/^profile$/profile + n AS profile/" <<<"$columns" | paste -sd,)
		ask_server "INSERT INTO $table ($(paste -sd, <<<"$columns")) SELECT $copies FROM $table ARRAY JOIN [1, 2] AS n"
	done
	push --label service=s --label version=3 many.data
	diff_from() {
		"$GCPROF" diff --from "$url" --where service=s --json "$@"
	}
	diff_from version=1 version=2 >same.json
	same 'per' "$(jq -r '.per, .cpu_ns[1] - 2 * .cpu_ns[0], .profiles[0], .profiles[1]' same.json | xargs)" 'cpu_second 0 1 2'
	jq -e '[.functions, .types, .sites, .pauses, .syscalls, .totals | length > 0] | all' same.json
	jq -e '[.functions, .types, .sites, .pauses, .syscalls, .totals | .[] | (.change.estimate | fabs) <= 1e-6 * .before.estimate] | all' same.json

	diff_from version=1 version=3 >server.json
	"$GCPROF" diff --json known.data many.data >local.json
	jq -e --slurpfile local local.json '.cpu_ns as $cpu | . as $server |
		def close($a; $b; $part): ($a - $b | fabs) <= $part * ($b | fabs) + 200;
		def agree($table; $part): ($server[$table] | map({key: .name, value: .}) | from_entries) as $rows |
			[$local[0][$table][] | $rows[.name] as $row | ("before", "after") as $side |
				((if $side == "before" then $cpu[0] else $cpu[1] end) / 1e9) as $scale |
				close($row[$side].estimate * $scale; .[$side].estimate; 1e-4),
				($part == null or .[$side].estimate == 0 or close($row[$side].high * $scale; .[$side].high; $part))] |
				length > 8 and all;
		agree("types"; 1e-3) and agree("functions"; null)' server.json
	same significant "$(jq -c '[.types[] | select(.significant).name] | sort' server.json)" \
		"$(jq -c '[.types[] | select(.significant).name] | sort' local.json)"
	diff_from version=3 'version=3 AND process=gcbench' | jq -e '.syscalls == [] and (.functions | length > 0)'
	# Sums and variances of more than 64 bits.
	for change in 'hourly cpu_ns 1.8e19' 'calls total_ns 1.8e19' 'calls max_ns 1.8e19' 'pauses pause_ns 1.8e19' \
		'pauses max_ns 1.8e19'; do
		read -r table column value <<<"$change"
		ask_server "ALTER TABLE $table UPDATE $column = toUInt64($value) WHERE version = '2' AND $column > 0"
	done
	wait_until updated
	diff_from version=1 version=2 >large.json
	jq -e '.cpu_ns[1] > 1.7e19 and ([.syscalls[] | select(.after.high > .after.estimate)] | length > 0)' large.json
	report_from --where version=2 --json >large.json
	jq -e '[.totals.cpu_ns, .syscalls[0].total_ns, .pauses[0].total_ns] | map(. > 3e19) | all' large.json
	jq -e '[.syscalls[], .pauses[] | .count] | all(. == floor)' large.json

	"$GCPROF" diff --from "$url" version=1 version=3 >text
	grep -q 'All figures are per second of CPU time' text
	grep -Eq 'new +make_tree$' text
	run -1 diff_from version=1 version=9
	grep -q 'version=9: no profile with CPU time' <<<"$output"
	run -2 diff_from version=1
	run -2 diff_from version=1 'version<2'
	run -2 "$GCPROF" diff --where version=1 known.data many.data
}

@test "query --from: a statement on the server's tables, printed as those on a profile" {
	(umask 077 && echo "wonder'land" >password)
	push --label service="$(printf 'x\t\e]0;y\a')" known.data
	query() {
		"$GCPROF" query --from "$url" --user alice --password-file password "$@"
	}
	sql='SELECT name, count, total_ns FROM calls WHERE time > 0 ORDER BY name'
	"$GCPROF" query -f csv 'SELECT name, count, total_ns FROM syscall_totals ORDER BY name' known.data >expected
	query -f csv "$sql" >found
	diff expected found
	[ "$(wc -l <found)" -gt 5 ]
	same json "$(query -f json - <<<"$sql" | jq -r '.[] | [.name, .count, .total_ns] | join(",")')" "$(tail -n +2 expected)"
	query "$sql LIMIT 1" | head -n 1 | grep -Eq '^name +count +total_ns$'
	sql="SELECT service, 18446744073709551615 AS big, -1 AS small, 0.5 AS half, NULL AS none, ['a\\'b', '\\n'] AS list, 2 AS \`a\"\x07b\` FROM profiles"
	query -f json "$sql" >found
	same cells "$(jq -c '.[] | [.[]]' found)" \
		'["x\\x09\\x1b]0;y\\x07","18446744073709551615",-1,0.5,null,"['"'a\\\\'b','\\\\n'"']",2]'
	for format in table csv json; do
		query -f $format "$sql" >found
		run -1 grep -aqP '[\x00-\x09\x0b-\x1f\x7f]' found
	done
	same 'no rows' "$(query -f csv "SELECT 1 AS a WHERE 0")" a
	for bad in 'DROP TABLE calls' "INSERT INTO calls (name) VALUES ('x')" 'SELECT nonsense' 'SELECT 1 FORMAT JSON' \
		'SELECT throwIf(number = 3000000) FROM system.numbers LIMIT 4000000'; do
		run -1 query "$bad"
		[[ $output = 'gcprof: error: '*"$url"* ]]
	done
	run -2 query "$sql" known.data
}

@test "long: two services, versions and machines: --where selects each one, or both" {
	push --label service=a --label version=1 --label host=left --label zone="it's" known.data
	push --label service=b --label version=2 --label host=right --label zone=other names.data
	cpu() {
		report_from --json --where "$1" | jq '.totals.cpu_ns // 0'
	}
	one=$("$GCPROF" report --json known.data | jq '.functions | map(.cpu_self_ns) | add')
	two=$("$GCPROF" report --json names.data | jq '.functions | map(.cpu_self_ns) | add')
	for where in service=a 'version != 2' host=left "zone='it''s'" 'zone="it'\''s" and service=a' 'host!=right'; do
		same "$where" "$(cpu "$where")" "$one"
	done
	for where in service=b version=2 zone=other 'service=b AND time>-2h AND host=right AND zone!=x'; do
		same "$where" "$(cpu "$where")" "$two"
	done
	for where in 'process != nobody' 'time > -2h' 'time<2099-01-01' 'time > 2026-01-01T00:00:00Z AND time < 2099-12-31T23:59'; do
		same "$where" "$(cpu "$where")" $((one + two))
	done
	for where in 'time<2026-01-01' 'service=a AND version=2' "service='a'' OR 1=1'" 'service=c' "zone='x'' OR 1=1 --'" "zone='x\\'"; do
		same "$where" "$(cpu "$where")" 0
	done
	same 'one process' "$(cpu 'process=known')" \
		"$("$GCPROF" query -f csv "SELECT sum(ns) FROM ticks JOIN processes ON process = processes.id WHERE name = 'known'" known.data |
			tail -n 1 | tr -d '\r' | cut -d . -f 1)"
}

@test "invalid conditions are refused" {
	for where in 'service' 'service=' "service='a" 'service=a OR service=b' 'service=a AND' 'service<a' 'time=2026-01-01' \
		'time>yesterday' 'a b=c' "service='a' x=b" '1=1) OR (1=1' 'service=a; DROP TABLE samples' 'time>-5y'; do
		run -2 report_from --where "$where"
		grep -q -- '--where: ' <<<"$output"
	done
	for option in --live '--filter phase=gc' --recording '--frames managed' known.data; do
		run -2 report_from $option
		grep -q -- '--from: only with' <<<"$output"
	done
	# A valid one may select nothing.
	for part in '' --tree '--callers main' --timeline --threads; do
		# shellcheck disable=SC2086 # an option and its value
		report_from --where service=nobody $part | grep -q '^0 profiles'
		# shellcheck disable=SC2086
		report_from --where service=nobody --json $part | jq -e '.profiles == 0'
	done
}

@test "names and labels arrive unchanged" {
	label=$'x\'; DROP TABLE samples; --\\\n\t\xfe'
	push --label service="$label" --label version="$label" --label team="$label" names.data
	same labels "$(ask_server "SELECT hex(service), hex(version), hex(label_values[1]), label_names FROM profiles FORMAT TSV")" \
		"$(hex=$(printf %s "$label" | od -An -v -tx1 | tr -d ' \n' | tr a-f A-F) && printf "%s\t%s\t%s\t['team']" "$hex" "$hex" "$hex")"
	ask_server "SELECT DISTINCT hex(process) FROM samples WHERE time > 0 AND process != '' FORMAT TSV" | sort >found
	"$GCPROF" query -f csv 'SELECT DISTINCT hex(name) FROM processes JOIN ticks ON process = processes.id' names.data |
		tail -n +2 | tr -d '\r' | sort >expected
	grep -q '2762225C' expected # '"\
	diff expected found
	ask_server "SELECT DISTINCT hex(name), hex(module) FROM functions FORMAT CSV" | tr -d '"' | sort >found
	"$GCPROF" query -f csv "SELECT DISTINCT hex(name), hex(coalesce(module, '')) FROM functions" names.data |
		tail -n +2 | tr -d '"\r' | sort >expected
	diff expected found
	agrees names.data
}

@test "report --from prints no control characters that somebody stored in the server" {
	push known.data
	ask_server "INSERT INTO functions SELECT service, day + 1, function, runtime, module,
		concat('\\x1b]0;title\\x07\\xe2\\x80\\xae', name), file, line FROM functions"
	ask_server 'OPTIMIZE TABLE functions FINAL'
	same stored "$(ask_server "SELECT count() > 0 FROM functions WHERE startsWith(name, '\\x1b')")" 1
	"$GCPROF" report --from "$url" >text
	grep -qiF '\x1b]0;title\x07' text
	"$GCPROF" report --from "$url" --json >json
	"$GCPROF" report --from "$url" --tree --json >tree
	grep -qiF 'x1b]0;title' tree
	for file in text json tree; do
		run -1 grep -aqP '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae' "$file"
	done
}

@test "labels are checked, and the service of a pushed profile cannot change" {
	run -2 push --label 'a b=c' known.data
	grep -q 'expected NAME=VALUE' <<<"$output"
	run -2 push --label service known.data
	run -2 push --label service= known.data
	push --label service=one known.data
	run -1 push --label service=two known.data
	grep -q 'already pushed with another service' <<<"$output"
}

@test "long: client is killed: another push adds the missing rows" {
	small_blocks
	whole=$(push many.data 2>&1 | sed -n 's/.*pushed \([0-9]*\) rows.*/\1/p')
	[ "$whole" -gt 300 ] # 30 blocks
	ask_server 'DROP DATABASE gcprof'
	make_tables
	partly=0
	for try in 1 2 3; do
		"$GCPROF" push --to "$url" many.data 2>/dev/null &
		client=$!
		wait_until has_blocks $((try * 3)) "$client"
		kill -KILL "$client" 2>/dev/null || true
		wait "$client" || partly=$((partly + 1))
	done
	[ "$partly" -ge 2 ]
	push many.data
	agrees many.data
}

has_blocks() { # COUNT CLIENT
	[ "$(ask_server "SELECT count() FROM samples WHERE time = 0")" -ge "$1" ] || ! kill -0 "$2" 2>/dev/null
}

@test "long: server is killed: another push adds the missing rows" {
	small_blocks
	for blocks in 8 24; do
		"$GCPROF" push --to "$url" many.data 2>log &
		client=$!
		wait_until has_blocks $blocks "$client"
		kill_server
		start_server server
		# The client retries, and finds the new server or gives up.
		wait "$client" || grep -q "error: .*$url: " log || {
			cat log
			return 1
		}
		push many.data
		agrees many.data
		ask_server 'DROP DATABASE gcprof'
		make_tables
	done
}

@test "long: responses are lost: no row is stored twice" {
	small_blocks
	for when in 7 20 31; do
		strace -qq -f -o trace -e trace=recvfrom -e inject=recvfrom:error=ECONNRESET:when=$when \
			"$GCPROF" push --to "$url" many.data 2>log || cat log
		grep -q INJECTED trace
		push many.data
		agrees many.data
		ask_server 'DROP DATABASE gcprof'
		make_tables
	done
}

@test "long: missing hourly sums of a block are added" {
	small_blocks
	ask_server 'DROP TABLE hourly_of_samples'
	push many.data
	same hourly "$(ask_server 'SELECT count() FROM hourly')" 0
	# As if the push had stopped before the row of profiles.
	ask_server 'DROP TABLE profiles'
	make_tables
	push many.data
	agrees many.data
}

@test "pyroscope: a push is a POST of the pprof export, with labels" {
	cat >recorder.py <<-'END'
		import http.server
		class Handler(http.server.BaseHTTPRequestHandler):
		    def do_POST(self):
		        open('body', 'wb').write(self.rfile.read(int(self.headers['Content-Length'])))
		        open('request', 'w').write(self.requestline)
		        self.send_response(int(open('answer').read()))
		        self.send_header('Content-Length', '18')
		        self.end_headers()
		        self.wfile.write(b'Code: 81. Nothing\n')
		server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
		print(server.server_port, flush=True)
		server.handle_request()
		server.handle_request()
	END
	echo 500 >answer
	python3 recorder.py >place 2>/dev/null 3>&- &
	wait_until test -s place
	to=pyroscope+http://127.0.0.1:$(cat place)
	labels=(--label service=shop --label version=1 --label host=h --label 'team=a,b')
	run -75 "$GCPROF" push --to "$to" --spool spool "${labels[@]}" known.data
	# The response's body is not read.
	grep -q 'the server refused the profile: HTTP status 500' <<<"$output"
	[ "$(ls spool | wc -l)" = 1 ]
	echo 200 >answer
	"$GCPROF" push --to "$to" --spool spool "${labels[@]}"
	same 'the spool has' "$(ls spool)" ''
	grep -Eqx 'POST /ingest\?name=shop%7Bversion%3D1%2Chost%3Dh%2Cteam%3Da_b%7D&from=[0-9]{10}&until=[0-9]{10}&format=pprof HTTP/1.1' request
	"$GCPROF" export -f pprof -o - known.data | cmp - body
	run -1 "$GCPROF" push --to "$to" known.data
	run -2 "$GCPROF" push --to "$to" --schema
}

@test "long: two pushes of a file at once: one is refused" {
	small_blocks
	cp --remove-destination "$(realpath many.data)" many.data
	cp many.data copy.data
	push many.data 2>first &
	client=$!
	wait_until has_blocks 1 "$client"
	run push many.data
	same status "$status" 1
	grep -q 'another gcprof push' <<<"$output"
	wait "$client"
	push copy.data 2>log
	grep -q 'the server already has it' log
	agrees many.data
}

@test "errors have a message" {
	run -1 push nothing.data
	grep -q 'nothing.data: No such file' <<<"$output"
	echo nonsense >nonsense.data
	run -1 push nonsense.data
	grep -q 'nonsense.data: ' <<<"$output"
	run -1 "$GCPROF" push --to "$url/other" known.data
	grep -q 'there is no database other' <<<"$output"
	ask_server 'CREATE DATABASE other'
	run -1 "$GCPROF" push --to "$url/other" known.data
	grep -q 'database other has no gcprof tables' <<<"$output"
	ask_server 'CREATE VIEW other.gcprof_schema AS SELECT toUInt32(99) AS version'
	run -1 "$GCPROF" push --to "$url/other" known.data
	grep -q 'have version 99' <<<"$output"
	"$GCPROF" push --schema --to "$url/another" | clickhouse-client --port $((port + 1)) --multiquery
	"$GCPROF" push --to "$url/another" known.data
	for bad in ftp://localhost http:// localhost:8123 http://host/a.b 'http://h?x' 'http://a b'; do
		run -2 "$GCPROF" push --to "$bad" known.data
		grep -q 'expected http' <<<"$output"
	done
	run -2 "$GCPROF" push --to http://alice:secret@localhost known.data
	grep -q 'a password file' <<<"$output"
	absent secret <(echo "$output")
	kill_server
	run -1 push known.data
	grep -q "$url: .*onnect" <<<"$output"
}

@test "password is read from a file" {
	(umask 077 && printf "wonder'land\nsecond line\n" >password && echo wrong >wrong)
	push --user alice --password-file password known.data 2>log
	absent warning log
	agrees known.data
	chmod 644 password
	push --user alice --password-file password known.data 2>log
	grep -q 'other users may read it' log
	run -1 push --user alice --password-file wrong known.data
	grep -q 'refuses this user or password' <<<"$output"
	run -1 push --user alice known.data
	run -1 push --user nobody known.data
	# Newer servers have one code for all these cases.
	timeout 100 python3 -c "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); c = s.accept()[0]; c.recv(9999)
c.sendall(b'HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\nCode: 516. DB::Exception: nobody: Authentication failed')" >place 3>&- &
	wait_until test -s place
	run -1 "$GCPROF" push --to "http://127.0.0.1:$(cat place)" --user nobody known.data
	grep -q 'refuses this user or password' <<<"$output"
	run -1 push --user alice --password-file missing known.data
	grep -q 'password-file missing: No such file' <<<"$output"
}

@test "https: the certificate is checked" {
	command -v openssl >/dev/null || skip 'openssl is not installed'
	kill_server
	(cd server && openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
		-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null && rm config.xml)
	cat >server/more.xml <<-END
		<https_port>$((port + 2))</https_port>
		<openSSL><server><certificateFile>$BATS_FILE_TMPDIR/server/cert.pem</certificateFile>
		<privateKeyFile>$BATS_FILE_TMPDIR/server/key.pem</privateKeyFile><verificationMode>none</verificationMode></server></openSSL>
	END
	write_config server
	start_server server
	run -1 "$GCPROF" push --to "https://127.0.0.1:$((port + 2))" known.data
	grep -qi 'certificate' <<<"$output"
	"$GCPROF" push --to "https://127.0.0.1:$((port + 2))" --ca-file server/cert.pem known.data
	agrees known.data
}

@test "profile that is still being written is refused, a truncated one is pushed" {
	head -c $(($(stat -L -c %s many.data) * 2 / 3)) many.data >part.data
	touch -d '1 hour' part.data
	run -1 push part.data
	grep -q 'still being written' <<<"$output"
	touch -d '1 minute ago' part.data
	push part.data 2>log
	grep -q 'the end is missing' log
	[ "$(ask_server 'SELECT sum(cpu_samples) FROM samples')" -gt 0 ]
}

@test "a damaged profile is pushed up to the damage, with an error; an empty one is not pushed" {
	cat many.data >bad.data
	printf '\377\377\377\377\377\377\377\377' |
		dd of=bad.data bs=1 seek=$(($(stat -c %s bad.data) / 2)) conv=notrunc status=none
	touch -d '1 minute ago' bad.data
	run -1 push bad.data
	grep -q 'error: bad.data: the file is damaged: only what precedes the damage was read' <<<"$output"
	[ "$(ask_server 'SELECT sum(cpu_samples) FROM samples')" -gt 0 ]
	: >empty.data
	run -1 push empty.data
	grep -q 'empty.data: it is empty' <<<"$output"
}

@test "process that reads a profile has no network, files, rights or password" {
	(umask 077 && echo "wonder'land" >password)
	strace -qq -f -o trace -e trace=socket,connect,open,openat,execve,seccomp,setresuid \
		"$GCPROF" push --user alice --password-file password --to "$url" known.data
	reader=$(awk '/execve.*gcprof-rows/ {print $1}' trace)
	[ -n "$reader" ]
	awk -v p="$reader" '$1 == p' trace >reader.trace
	grep -q 'setresuid(18790' reader.trace # a range of gcprof's own
	# After it has set its filter, it opens and connects nothing.
	sed -n '/seccomp(SECCOMP_SET_MODE_FILTER/,$p' reader.trace | tail -n +2 >behind
	absent 'socket(' reader.trace
	absent 'connect(' reader.trace
	absent ') = [0-9]' <(grep -E 'open(at)?\(' behind || true)
}

@test "record --push pushes complete profiles, as the user who called it" {
	chmod 777 .
	SUDO_UID=12345 SUDO_GID=12345 strace -qq -f --seccomp-bpf -o trace -e trace=setresuid,setgroups,connect,execve \
		"$GCPROF" record -F 999 --push "$url" --spool spool --label service=mine --label team=ours \
		-o mine.data -R 64K -- "$WORKLOADS/known" >out 2>record.log
	grep -q 'pushed [0-9]* rows' record.log
	agrees mine.data
	same labels "$(ask_server 'SELECT service, label_names, label_values FROM profiles FORMAT TSV')" "$(printf "mine\t['team']\t['ours']")"
	same 'the spool has' "$(ls -A spool)" ''
	same 'it belongs to' "$(stat -c %u spool)" 12345
	# The process that connects became the user first and then executed gcprof push.
	for pid in $(awk '/connect\(.*AF_INET/ {print $1}' trace | sort -u); do
		grep -q "^$pid .*execve(.*\"push\"" trace
	done
	awk '/setresuid\(12345, 12345, 12345\)/ {print $1}' trace | grep -q .
}

@test "long: server is down: profiles stay in the spool, one per file of --rotate" {
	kill_server
	record -R 64K --rotate 500ms --push "$url" --spool spool --label service=later -o part.data -- "$WORKLOADS/churn" --seconds 3
	grep -q "profiles in spool are pushed with the next one" record.log
	set -- part-*.data
	[ $# -ge 2 ]
	same 'profiles in the spool' "$(ls spool | wc -l)" $#
	start_server server
	push --spool spool --label service=later
	same 'the spool has' "$(ls -A spool)" ''
	same profiles "$(ask_server 'SELECT uniqExact(profile) FROM samples')" $#
	for part; do
		"$GCPROF" report --json "$part" | jq '.functions | map(.cpu_self_ns) | add'
	done | jq -s add >expected
	same cpu "$(ask_server "SELECT sum(cpu_ns) FROM samples WHERE service = 'later'")" "$(cat expected)"
	push --spool spool
	push --spool spool known.data
	same 'the spool has' "$(ls -A spool)" ''
}

@test "invalid combinations of options with --push are refused" {
	for options in '-o - --push http://localhost' '--spool spool' '--label a=b' '--push localhost' '--push http://u:p@localhost' \
		'--push http://localhost --label nonsense'; do
		run -2 "$GCPROF" record $options -- true
		[ ! -e spool ]
	done
	run -1 push --spool known.data
	grep -q 'known.data: Not a directory' <<<"$output"
	run -1 push --spool spool nothing.data
	grep -q 'nothing.data: No such file' <<<"$output"
}

# Without ZooKeeper, which 18.16 needs for replicated tables, the tables are plain ones.
@test "long: cluster of two servers: a profile is on one of them, and each answers for both" {
	first=$port
	start_server other
	second=$port
	for name in server other; do
		cat >$name/more.xml <<-END
			<remote_servers><two>
			<shard><replica><host>127.0.0.1</host><port>$((first + 1))</port></replica></shard>
			<shard><replica><host>127.0.0.1</host><port>$((second + 1))</port></replica></shard>
			</two></remote_servers>
		END
	done
	port=$first write_config server
	port=$second write_config other
	"$GCPROF" push --schema --cluster two >schema
	same 'replicated tables' "$(grep -Ec "Replicated(Replacing|Summing)?MergeTree\\('/clickhouse/tables/[{]shard[}]/gcprof/[a-z]+', '[{]replica[}]'" schema)" 8
	sed -E "s/Replicated(.*MergeTree\\()'[^']*', '[{]replica[}]'(, )?/\\1/" schema >plain
	run -2 "$GCPROF" push --schema --cluster 'two, x'
	for port in $first $second; do
		for place in $first $second; do
			curl -sS "127.0.0.1:$place" --data-binary 'SYSTEM RELOAD CONFIG'
			curl -sS "127.0.0.1:$place" --data-binary 'DROP DATABASE IF EXISTS gcprof'
			clickhouse-client --port $((place + 1)) --multiquery <plain
		done
		url=http://127.0.0.1:$port
		push --label team=ours known.data
		agrees known.data
		push known.data 2>log
		grep -q 'the server already has it' log
		for place in $first $second; do
			url=http://127.0.0.1:$place
			agrees known.data
			report_from --json --where 'team=ours' >server.json
			same cpu "$(jq .totals.cpu_ns server.json)" "$(jq '.functions | map(.cpu_self_ns) | add' .report.json)"
			jq -e '.functions | map(.name) | contains(["spin"])' server.json >/dev/null
			same callers "$(report_from --callers spin --json | jq '.root.total_cpu_ns')" \
				"$(jq '.functions[] | select(.name == "spin").cpu_total_ns' server.json)"
			report_from --timeline --json | jq -e --argjson cpu "$(jq .totals.cpu_ns server.json)" \
				'(.windows | map(.cpu_ns) | add) - $cpu | fabs < 10' # rounded by window
			ask_server 'SELECT count() > 0 FROM samples_local'
		done >stored
		same 'servers with its rows' "$(grep -c '^1' stored)" 1
	done
	push --expire 36500
}

@test "long: --expire drops old rows and keeps their hourly sums" {
	push known.data
	ask_server "INSERT INTO samples (day, service, time, stack, cpu_ns) VALUES ('2020-01-01', 'old', 1577880000, 1, 7000),
		('2020-01-01', 'old', 1577880001, 1, 3000)"
	ask_server "INSERT INTO calls (day, service, time, name) VALUES ('2020-01-02', 'old', 1577966400, 'read')"
	same 'old samples' "$(ask_server "SELECT count() FROM samples WHERE service = 'old'")" 2
	push --expire 36500 2>log
	grep -q 'dropped the samples of 0 days' log
	push --expire 30 2>log
	grep -q 'dropped the samples of 1 day$' log
	same 'old rows' "$(ask_server "SELECT count() FROM samples WHERE service = 'old'"
		ask_server "SELECT count() FROM calls WHERE service = 'old'")" $'0\n0'
	same 'old sums' "$(ask_server "SELECT sum(cpu_ns) FROM hourly WHERE service = 'old'")" 10000
	ask_server "ALTER TABLE hourly DROP PARTITION 202001"
	agrees known.data
}
