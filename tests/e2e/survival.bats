#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# survival.bats: what becomes of sampled objects, read from outside of programs.
# Parallel: no other recorder matters.

load common

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	! command -v javac >/dev/null ||
		javac -d "$PROGRAMS" "$ROOT"/tests/causes/gc/Shares.java "$ROOT"/tests/e2e/programs/{Lives,Told}.java
}

setup() {
	need_root
	command -v javac >/dev/null || skip 'no javac: default-jdk-headless'
	cd "$BATS_TEST_TMPDIR" || return 1
	started=()
}

# Of the samples of a type most have an outcome, fewer where collections come late, and the share that survived is within 2.1 times the
# interval: one in 30,000 is not.
has_share() { # TYPE SHARE
	holds "[.alloc.types[] | select(.name == \"Shares\$$1\") |
		.samples > 500 and .fates > 0.4 * .samples and
		(.survived - $2 | fabs) < 1.05 * (.survived_high - .survived_low)] == [true]"
}

shares() { # JAVA OPTIONS...
	record_told go alloc 1 -F 99 -R 64K -- "$1" -Xmn64m -Xmx512m "${@:2}" -cp "$PROGRAMS" Told go Shares 500000 1.5
	has_share Kept10 0.1
	has_share Kept50 0.5
	has_share Kept90 0.9
}

# Objects that stay are never dead, whatever is unknown of them; others have died.
none_dead() {
	"$GCPROF" query "SELECT count(*), count(died), total(fate = 'died young') FROM samples
		JOIN types ON types.id = type WHERE name = 'Lives\$Stays'" | tail -n 1 >stays
	"$GCPROF" query "SELECT count(fate), total(survived) FROM samples
		JOIN types ON types.id = type WHERE name = 'Lives\$Gone'" | tail -n 1 >gone
	cat stays gone
	awk '$1 > 30 && $2 == 0 && $3 == 0 {right = 1} END {exit !right}' stays
	awk '$1 > 30 && $2 < 0.01 * $1 {right = 1} END {exit !right}' gone
}

@test "of each class survives what is kept: Serial" {
	shares java -XX:+UseSerialGC
}

@test "long: of each class survives what is kept: Parallel" {
	shares java -XX:+UseParallelGC
}

@test "long: of each class survives what is kept: G1" {
	shares java -XX:+UseG1GC
}

@test "long: of each class survives what is kept: other releases of Java" {
	local java
	for java in /usr/lib/jvm/*/bin/java; do
		[ ! -L "${java%/bin/java}" ] || continue
		for collector in Serial Parallel G1; do
			shares "$java" -XX:+Use${collector}GC
		done
	done
}

# What the live heap is after full collections, in which old objects die.
@test "long: old objects die in full collections: Serial" {
	record -F 0 -R 64K -- java -XX:+UseSerialGC -Xmn64m -Xmx240m -Xlog:gc:file=log -cp "$PROGRAMS" Shares 500000 1.5
	grep -q 'Pause Full' log
	holds '[.alloc.types[] | select(.name == "Shares$Kept90") | .died_old_bytes > 0.1 * .bytes.estimate] == [true]'
}

@test "old objects die where regions are collected: G1" {
	record_told go alloc 1 -F 0 -R 64K -- java -XX:+UseG1GC -Xmn64m -Xmx300m -Xlog:gc:file=log -cp "$PROGRAMS" Told go Shares 500000 1.5
	grep -q 'Pause Remark' log
	holds '[.alloc.types[] | select(.name == "Shares$Kept90") | .died_old_bytes > 0.1 * .bytes.estimate] == [true]'
}

# There is hardly any room: objects are not copied, or all that moves is not where it was.
@test "nothing that is alive is dead if a collection fails: Serial" {
	record_told go alloc 1 -F 0 -R 8K -- java -XX:+UseSerialGC -Xmx40m -Xlog:gc:file=log -cp "$PROGRAMS" Told go Lives 3000
	grep -q 'Pause Full' log
	holds '.alloc.lost_fates > 0'
	"$GCPROF" report --live | tr -s ' \n' ' ' | grep -F 'More may be alive: of '
	none_dead
}

@test "long: nothing that is alive is dead if a collection fails: Parallel" {
	record -F 0 -R 8K -- java -XX:+UseParallelGC -Xmx40m -Xlog:gc:file=log -cp "$PROGRAMS" Lives 3000
	grep -q 'Pause Full' log
	holds '.alloc.lost_fates > 0'
	none_dead
}

@test "long: nothing that is alive is dead if a collection fails: G1" {
	record -F 0 -R 8K -- java -XX:+UseG1GC -Xmx36m -Xlog:gc*:file=log -cp "$PROGRAMS" Lives 6000
	grep -q 'To-space exhausted\|Evacuation Failure' log
	grep -q 'Pause Full' log
	none_dead
}

@test "of collections that are not understood nothing is known" {
	record_told go alloc 1 -F 0 -R 8K -- java -XX:+UseZGC -Xmx192m -cp "$PROGRAMS" Told go Lives 3000
	holds '[.alloc.types[] | select(.name == "Lives$Gone") | .samples > 30 and .fates == 0] == [true]'
	holds '[.alloc.types[] | .died_old_bytes, .live_bytes] | unique == [null]'
}

@test "a running program: what was there before is not followed" {
	java -XX:+UseSerialGC -Xmx256m -cp "$PROGRAMS" Lives 100000000 >/dev/null &
	started+=($!)
	wait_busy $!
	record_until alloc 3000 -F 0 -R 64K -p "${started[0]}"
	none_dead
	holds '[.alloc.types[] | select(.name == "Lives$Gone") | .fates > 0.5 * .samples] == [true]'
}

# A nursery has 16,000 samples, and the lists of the kernel side end at 4096.
@test "long: of too many objects some are followed, new and old ones alike" {
	record -F 0 -R 4K --ceiling 100000 -- java -XX:+UseSerialGC -Xmn64m -Xmx512m -cp "$PROGRAMS" Shares 500000 1.5
	holds '[.alloc.types[] | select(.name | test("Kept")) | .fates < 0.9 * .samples] == [true, true, true]'
	holds "[.alloc.types[] | select(.name | test(\"Kept\")) | (.survived - (.name[-2:] | tonumber) / 100 | fabs) <
		0.8 * (.survived_high - .survived_low)] == [true, true, true]"
}
