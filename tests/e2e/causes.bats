#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# causes.bats: the charges of collections are what programs save without the site that is charged.
# Parallel: CPU time of threads is compared, not wall time.

load common

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	! command -v javac >/dev/null || javac -d "$PROGRAMS" "$ROOT/tests/causes/gc/Shop.java"
}

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return 1
}

# What a program's collector saves without a cause is what was predicted: a row of tests/causes/gc/table.
predicts() { # ROW
	PAIRS=1 run "$ROOT/tests/causes/removals" "$BUILD" "^$1\$"
	echo "$output"
	[[ ${lines[1]} != skipped* ]] || skip 'its runtime is not installed'
	[ "$status" = 0 ] && [[ ${lines[1]} == right* ]]
}

@test "long: a site that keeps its objects has the collections that it causes: Serial" {
	predicts cache-serial
}

@test "long: a site that keeps its objects has the collections that it causes: Parallel" {
	predicts cache-parallel
}

@test "a site that keeps its objects has the collections that it causes: G1" {
	predicts cache-g1
}

@test "a site that keeps objects just long enough has the collections that it causes: the project's own collector" {
	predicts ledger
}

# Records a server while it answers so many requests, once it remembers all that it can.
serve() { # REQUESTS [fixed]
	rm -f port
	java -Xmx300m -XX:+UseG1GC -cp "$PROGRAMS" Shop serve "${@:2}" >port 3>&- &
	pid=$!
	started+=("$pid")
	wait_until test -s port
	java -cp "$PROGRAMS" Shop ask "$(cat port)" 12000
	begin_recording -p "$pid"
	java -cp "$PROGRAMS" Shop ask "$(cat port)" "$1"
	end_recording
	kill "$pid"
	read_report gcprof.data
}

@test "long: a Java server that remembers too much: its collector takes as much less without as is predicted" {
	command -v javac >/dev/null || skip 'no javac: default-jdk-headless'
	local without
	started=()
	serve 20000 fixed
	without=$(ask .cpu.collector_ns)
	serve 20000
	echo "without: $without"
	holds "(1 - $without / .cpu.collector_ns) as \$truth |
		([.functions[] | select(.name == \"Shop.load\").gc_keeping_ns] | add) / .cpu.collector_ns |
		\$truth > 0.5 and (. - \$truth | fabs) < 0.15"
	holds '[.findings[] | select(.kind == "collections") | .where.function] == ["Shop.load"]'
}

@test "long: garbage makes Go's cycles come as often as it is allocated" {
	predicts go-garbage
}

@test "long: Go's cycles take as long as what is alive" {
	predicts go-live
}

@test "long: GOGC and GOMEMLIMIT change how often cycles come, and what is saved" {
	for gogc in 50 200 400; do
		GOGC=$gogc predicts go-garbage
	done
	export GOGC=off GOMEMLIMIT=150MiB
	predicts go-garbage
	predicts go-live
}

@test "long: Python's full collections take as long as what is alive in them, and free what is not any more" {
	predicts python-live
	predicts python-cycles
}

@test "long: Python's collections take as long as there are containers, and those freed at once cost nothing" {
	predicts python-young-live
	record -R 64K --agent python -- python3 "$ROOT/tests/causes/gc/cycles.py"
	holds '.cpu.collector_ns as $all | ([.sites[] | select(.functions[0] == "acyclic").gc_ns] | add) < 0.05 * $all'
	holds '([.sites[] | select(.functions[0] == "cycles").gc_allocating_ns] | add) > 0
		and ([.sites[] | select(.functions[0] == "cycles").gc_keeping_ns] | add) < 0.1 * .cpu.collector_ns'
}
