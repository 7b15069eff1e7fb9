#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# causes.bats: the charges of collections are what programs save without the site that is charged.
# Parallel: CPU time of threads is compared, not wall time.

load common

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	! command -v javac >/dev/null || javac -d "$PROGRAMS" "$ROOT"/tests/causes/gc/Cache.java
}

setup() {
	need_root
	command -v javac >/dev/null || skip 'no javac: default-jdk-headless'
	cd "$BATS_TEST_TMPDIR" || return 1
}

# CPU time of the collector's threads, by the scheduler.
collector_ns() {
	jq '[.threads[] | select(.name | test("^(GC Thread|G1 |VM Thread)")).cpu_ns] | add' report.json
}

run_cache() { # OPTION [without]
	record -R 64K -- java -Xmn32m -Xmx256m "$1" -cp "$PROGRAMS" Cache 8000000 "${@:2}"
	ask . >report.json
}

# The site's share in collections is within 15 points of what they cost less without it.
saves() { # OPTION
	local with without
	run_cache "$1" without
	without=$(collector_ns)
	run_cache "$1"
	with=$(collector_ns)
	holds "(1 - $without / $with) as \$truth | ([.sites[] | select(.functions[0] == \"Cache.keeper\").gc_ns] | add) /
		([.sites[].gc_ns] | add) | (. - \$truth | fabs) < 0.15 and . > 0.5"
	holds '.gc.parts | .samples > 50 and .copying_ns > .roots_ns'
}

@test "long: a site that keeps its objects has the collections that it causes: Serial" {
	saves -XX:+UseSerialGC
}

@test "long: a site that keeps its objects has the collections that it causes: Parallel" {
	saves -XX:+UseParallelGC
}

@test "a site that keeps its objects has the collections that it causes: G1" {
	saves -XX:+UseG1GC
}
