#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# query.bats: questions in SQL about real recordings.
# Parallel: no other recorder matters.

load common

setup_file() {
	[ "$(id -u)" = 0 ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	build=$(cd "$root" && realpath "${BUILD_DIR:-build}")
	"$build/gcprof" record -o known.data -R 64K -- "$build/workloads/known" >/dev/null 2>known.log
	"$build/gcprof" record --off-cpu -o waits.data -- "$build/workloads/waits" sleep 5 >/dev/null 2>waits.log
	"$build/gcprof" record -o gcbench.data -R 64K -- "$build/workloads/gcbench" >/dev/null 2>gcbench.log
}

setup() {
	need_root
	cd "$BATS_FILE_TMPDIR" || return 1
}

# Writes the manual's examples, one file each.
examples() {
	rm -f example.*
	awk '/^\.SH/ { on = /EXAMPLES/ } on && /^\.fi/ { inside = 0 }
		inside { print > sprintf("example.%02d", n) } on && /^\.nf/ { inside = 1; n++ }' \
		"$ROOT/userspace/man/gcprof-query.1"
	sed -i 's/\\-/-/g; s/\\e/\\/g' example.*
	# On a busy machine the first 100 ms may be over when the program begins.
	sed -i '/WHERE time </s/ + 100000000/ + 100000000000/' example.*
	grep -q ' + 100000000000' example.*
}

@test "every example of the manual has an answer" {
	examples
	set -- example.*
	[ $# -ge 6 ]
	for file; do
		for name in known gcbench waits none; do
			[ $name != none ] && "$GCPROF" query -f json - "$name.data" <"$file" >answer || {
				echo "fails, or has no rows:"
				cat "$file"
				return 1
			}
			[ "$(jq length answer)" = 0 ] || break
		done
	done
}

@test "the manual's figures are the report's" {
	examples
	"$GCPROF" report --json known.data >report.json
	# The first example is about functions, the third about pauses.
	"$GCPROF" query -f json "$(cat example.01)" known.data >functions
	run jq -n --slurpfile rows functions --slurpfile report report.json '
		[$rows[0][] | .name as $name | .gc_ms as $ms | ($report[0].functions[] | select(.name == $name) |
		 .gc_self_ns / 1e6 - $ms | fabs) | select(. > 0.001)] | length'
	same "functions that differ" "$output" 0
	"$GCPROF" query -f json "$(cat example.03)" known.data >pauses
	same pauses "$(jq '[.[] | select(.kind == "minor") | .pauses] | add' pauses)" \
		"$(jq '.gc.minor.count - .gc.minor.summed' report.json)"
}

@test "the schema is the export's, with its comments" {
	"$GCPROF" export -f sqlite -o known.sqlite known.data 2>log
	"$GCPROF" query --schema >schema
	grep -q 'variance REAL, -- of bytes' schema
	command -v sqlite3 >/dev/null || skip 'sqlite3 is not installed'
	sqlite3 known.sqlite .schema | tr -d '\n' | sed 's/;//g; s,/\* [^*]*\*/,,g' >theirs
	tr -d '\n' <schema | sed 's/;//g' >ours
	cmp ours theirs
	same integrity "$(sqlite3 known.sqlite 'PRAGMA integrity_check')" ok
	same samples "$(sqlite3 known.sqlite 'SELECT count(*) FROM samples')" \
		"$("$GCPROF" query -f csv 'SELECT count(*) FROM samples' known.data | tail -n 1)"
}

@test "CSV: a text that a spreadsheet would run as a formula begins with an apostrophe, a number does not" {
	"$GCPROF" query -f csv "SELECT '=1+2' AS a, '@x,\"y' AS b, '-x' AS c, -5 AS d, -0.5 AS e, 'f=1' AS f" known.data >out
	cat out
	same cells "$(tail -n 1 out)" "'=1+2,\"'@x,\"\"y\",'-x,-5,-0.5,f=1"
}

@test "mistakes are told apart" {
	run "$GCPROF" query 'SELECT nme FROM types' known.data
	same "no such column" "$status" 2
	[[ $output == *'no such column: nme'* ]]
	same "the mark" "${lines[2]}" 'gcprof: error:            ^'
	run "$GCPROF" query 'DROP TABLE types' known.data
	same "not reading" "$status" 2
	[[ $output == *'must be a SELECT'* ]]
	run "$GCPROF" query
	same "no statement" "$status" 2
	run "$GCPROF" query SELECT 1 known.data
	same "no quotes" "$status" 2
	run "$GCPROF" query -f xml 'SELECT 1' known.data
	same "no such format" "$status" 2
	run "$GCPROF" query 'SELECT 1' missing.data
	same "no such file" "$status" 1
	run "$GCPROF" query 'SELECT abs(-9223372036854775807 - 1)' known.data
	same "fails while it runs" "$status" 1
	[[ $output == *'integer overflow'* ]]
	head -c $(($(stat -c %s known.data) * 2 / 3)) known.data >torn.data
	run "$GCPROF" query 'SELECT count(*) FROM ticks' torn.data
	same torn "$status" 0
	[[ $output == *'the end is missing'* ]]
	run "$GCPROF" query 'SELECT 1' /dev/full
	same "no profile" "$status" 1
}

@test "output to a full disk is an error of standard output, with every command" {
	for command in "query 'SELECT 1' known.data" 'query --schema' 'dump known.data' 'info known.data' \
		'report known.data' 'report --json known.data' 'diff known.data known.data' 'push --schema' \
		doctor help; do
		run sh -c "'$GCPROF' $command >/dev/full"
		echo "$command: $output"
		same "$command" "$status" 1
		same lines "$(grep -c 'error: standard output: No space left on device' <<<"$output")" 1
		[[ $output != *TMPDIR* && $output != *Input/output* ]]
	done
}

@test "nothing is left behind" {
	mkdir -p scratch
	TMPDIR=$PWD/scratch "$GCPROF" query 'SELECT count(*) FROM ticks' known.data >/dev/null
	TMPDIR=$PWD/scratch "$GCPROF" export -f sqlite -o known.sqlite known.data 2>/dev/null
	same files "$(ls -A scratch)" ""
	TMPDIR=/nonexistent "$GCPROF" query -f csv 'SELECT count(*) > 0 FROM ticks' known.data | grep -qx 1
}
