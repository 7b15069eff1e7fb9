#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# java_alloc.bats: what becomes of the objects of Java programs, by the agent.
# Parallel: no other recorder matters.

load common

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	! command -v javac >/dev/null || javac -d "$PROGRAMS" "$ROOT"/tests/e2e/programs/{Lives,Stress}.java
}

setup() {
	need_root
	command -v javac >/dev/null || skip 'no javac: default-jdk-headless'
	cd "$BATS_TEST_TMPDIR" || return 1
	started=()
}

# The live heap of a type is what the program says, within 2.4 of the interval's halves; nothing else of
# it is there.
lives() { # TYPE BYTES
	holds ".alloc.types[] | select(.name == \"Lives\$$1\") |
		((.bytes.high - .bytes.low) * 1.2 * ((.live_bytes / .bytes.estimate) | sqrt) + 1e6) as \$off |
		(.live_bytes - $2 | fabs) < \$off"
}

# Of all samples of a type, these shares survived their first collection, as far as that is known.
survived() { # TYPE FROM TO [KNOWN]
	holds "[.alloc.types[] | select(.name == \"Lives\$$1\") |
		.samples > 100 and .fates > ${4:-0.95} * .samples and .survived >= $2 and .survived <= $3] == [true]"
}

check_lives() { # BYTES_OF_AN_OBJECT
	local stays alive
	read -r stays alive < <(tail -n 1 out)
	grep -q 'nothing lost' record.log
	lives Stays $((stays * $1))
	lives Queued $((alive * $1))
	lives Gone 0
	survived Gone 0 0.01
	survived Stays 0.99 1
	survived Queued 0.5 1
	# An object in the queue dies when WAITING others have come, which is 2000 rounds; the collector may take
	# its time to find out.
	holds '[.alloc.types[] | select(.name == "Lives$Queued") | .died_old_bytes / .bytes.estimate] | .[0] > 0.2'
	"$GCPROF" query "SELECT count(*), 2000 * 1250 * $1 <= 1.25 * min(age) FROM samples JOIN types
		ON types.id = type WHERE name = 'Lives\$Queued' AND died IS NOT NULL" | tail -n 1 >ages
	cat ages
	awk '$1 > 100 && $2 == 1 {right = 1} END {exit !right}' ages
}

lived() { # OPTION BYTES_OF_AN_OBJECT
	record -F 0 -R 8K --agent java -- java -Xmx192m "$1" -cp "$PROGRAMS" Lives 3000 follow
	check_lives "$2"
}

@test "long: survival and live heap are what the program says: Serial" {
	lived -XX:+UseSerialGC 40
}

@test "long: survival and live heap are what the program says: Parallel" {
	lived -XX:+UseParallelGC 40
}

@test "long: survival and live heap are what the program says: G1" {
	lived -XX:+UseG1GC 40
}

@test "long: survival and live heap are what the program says: ZGC" {
	# Its references take 8 bytes.
	lived -XX:+UseZGC 48
}

@test "long: survival and live heap are what the program says: Shenandoah" {
	lived -XX:+UseShenandoahGC 40
}

checks() { # MODE OF_STRESS
	java -Xmx160m -cp "$PROGRAMS" Stress "$@" >truth || :
	"$GCPROF" record -R 64K --agent java -- \
		java -Xcheck:jni -Xmx160m -cp "$PROGRAMS" Stress "$@" >out 2>record.log || :
	cmp truth out
	absent jni record.log
	holds '[.alloc.types[].fates] | add > 10'
}

@test "with -Xcheck:jni the machine has nothing to say" {
	# For several collections, also where the first nursery is large.
	checks exceptions 50000
}

@test "long: with -Xcheck:jni the machine has nothing to say of threads and classes" {
	checks threads 20
	checks classes 400
}

@test "a running machine loads the agent" {
	java -Xmx256m -XX:+UseSerialGC -cp "$PROGRAMS" Lives 100000000 >/dev/null 2>said &
	started+=($!)
	wait_busy $!
	# The machine is busy, and the agent there late: what was sampled before is not followed.
	record_until alloc 6000 -F 0 -R 64K --agent java -p "${started[0]}"
	survived Gone 0 0.01 0.1
	survived Stays 0.99 1 0.1
	# It stays there, and is of use to the next recorder.
	record_until alloc 4000 -F 0 -R 64K -p "${started[0]}"
	survived Gone 0 0.01 0.1
	[ ! -s said ]
}

@test "one that may not be attached to is recorded without the agent" {
	java -XX:+DisableAttachMechanism -XX:+UseZGC -Xmx256m -cp "$PROGRAMS" Lives 100000000 &>said &
	started+=($!)
	wait_busy $!
	record_until alloc 100 -F 0 -R 64K --agent java -p "${started[0]}"
	grep -q 'the agent cannot be loaded: -XX:+DisableAttachMechanism' record.log
	holds '[.alloc.types[] | select(.name == "Lives$Gone") | .samples > 10 and .fates == 0] == [true]'
	# No threads were printed.
	[ ! -s said ]
	"$GCPROF" record -F 0 --agent java -p $$ --duration 0.1 2>record.log
	grep -q 'has not loaded HotSpot' record.log
}

# Anybody may make files in /tmp.
@test "what other users have put in its place in /tmp is left alone" {
	java -Xmx256m -cp "$PROGRAMS" Lives 100000000 &>said &
	java=$!
	started+=("$java")
	wait_busy $java
	rm -f /tmp/.attach_pid$java /tmp/.java_pid$java
	touch /tmp/.attach_pid$java
	chown nobody /tmp/.attach_pid$java
	record -F 0 --agent java -p $java --duration 0.5
	rm /tmp/.attach_pid$java
	grep -q 'the agent cannot be loaded: File exists' record.log
	python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()
c = s.accept()[0]; print("connected", flush=True); print(c.recv(1000), flush=True)' /tmp/.java_pid$java >listener &
	started+=($!)
	wait_until test -S /tmp/.java_pid$java
	record -F 0 --agent java -p $java --duration 0.5
	rm /tmp/.java_pid$java
	grep -q 'the agent cannot be loaded: it does not answer: Operation not permitted' record.log
	wait_until grep -q "^b''" listener
	kill -0 $java
	# No threads were printed.
	[ ! -s said ]
}

@test "where another agent has the samples that is said" {
	local home=/usr/lib/jvm/default-java/include
	[ -f $home/jvmti.h ] || skip 'no headers of a JDK'
	# Its text compares our header with theirs.
	cc -shared -fPIC -I$home -I$home/linux -o other.so "$ROOT/tests/e2e/programs/solo_agent.c"
	record -F 0 -R 64K --agent java -- java -agentpath:"$PWD"/other.so -XX:+UseZGC -Xmx256m -cp "$PROGRAMS" Lives 2000 follow
	grep -q 'another agent has the samples of this Java virtual machine' record.log
	holds '[.alloc.types[] | select(.name == "Lives$Gone") | .samples > 10 and .fates == 0] == [true]'
	java -agentpath:"$PWD"/other.so -XX:+UseZGC -Xmx256m -cp "$PROGRAMS" Lives 100000000 >/dev/null 2>said &
	started+=($!)
	wait_busy $!
	record -F 0 -R 64K --agent java -p $! --duration 1
	grep -q 'another agent has the samples of this Java virtual machine' record.log
	kill -0 $!
	[ ! -s said ]
}
