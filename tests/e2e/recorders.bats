#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# recorders.bats: several recorders of one program, in any order: each has all names.

load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	need_root
	mkfifo go
}

# Starts a recorder that writes NAME.data, and waits until it has attached everything.
start_recorder() { # NAME OPTIONS...
	"$GCPROF" record -v -o "$1.data" "${@:2}" >/dev/null 2>"$1.log" 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until grep -qsF 'ms  probes attached' "$1.log"
}

# A shell that executes a program once somebody writes to the fifo; it is in $shell.
start_shell() { # COMMAND
	sh -c "read go <go; $1; true" >/dev/null 2>&1 3>&- &
	shell=$!
	started+=("$shell")
}

# Ends recorders and waits until their profiles are complete.
end_recorders() { # PID...
	kill -INT "$@"
	wait "$@" || true
}

# The profile has samples, all types and managed functions have names, and stacks are made of what
# was told. (A sample that is under way while the program is told may be of what was before.)
has_names() { # FILE
	holds '.alloc.samples > 20 and ([.alloc.types[].name] | length > 0 and all(startswith("type ") | not))' "$1"
	holds '[.functions[] | select(.runtime == "managed").name] | length > 0 and all(startswith("code ") | not)' "$1"
	holds '(.stacks.unfinished.lost // 0) <= 4' "$1"
}

# Makes the shell execute `program` while these recorders are kept from hearing of it, until it has
# run for a while; it is in $pid.
start_unheard() { # RECORDER...
	kill -STOP "$@"
	echo >go
	wait_until pgrep -P "$shell" -x program
	pid=$(pgrep -P "$shell" -x program)
	started+=("$pid")
	wait_on "$pid" 10
	kill -CONT "$@"
}

@test "recorders that hear of a program later than another one have its names, also when some are killed" {
	cp "$WORKLOADS/churn" program
	# From now on whoever runs this file has a listener from its first instruction on.
	start_recorder first -- ./program --seconds 1000
	first=$recorder
	started+=("$(pgrep -P "$first" -x program)")
	start_shell './program --seconds 1000'
	start_recorder second -p "$shell"
	second=$recorder
	start_recorder third -p "$shell"
	third=$recorder
	start_unheard "$second" "$third"
	wait_on "$pid" 20
	kill -KILL "$third"
	wait_on "$pid" 20
	end_recorders "$second"
	start_recorder fourth -p "$pid"
	wait_on "$pid" 20
	end_recorders "$first" "$recorder"
	has_names first.data
	has_names second.data
	has_names fourth.data
}

@test "a program that slept while one recorder left and another one came names everything again" {
	"$WORKLOADS/churn" --seconds 1000 >/dev/null 2>&1 3>&- &
	program=$!
	started+=("$program")
	wait_busy "$program"
	start_recorder first -p "$program"
	wait_on "$program" 20
	kill -STOP "$program"
	kill -KILL "$recorder"
	wait "$recorder" || true
	start_recorder second -p "$program"
	kill -CONT "$program"
	wait_on "$program" 20
	end_recorders "$recorder"
	has_names second.data
}

@test "children that were born before a recorder heard of their program have names, too" {
	gcc -O1 -D_GNU_SOURCE -I"$ROOT/gc" "$ROOT/tests/e2e/programs/family.c" \
		"$BUILD/libgcprof-gc.a" "$BUILD/libgcprof-provider.a" -o program -lpthread
	start_recorder first -- ./program 0
	first=$recorder
	started+=("$(pgrep -P "$first" -x program)")
	start_shell './program 4'
	start_recorder second -p "$shell"
	start_unheard "$recorder"
	for child in $(pgrep -P "$pid"); do
		wait_on "$child" 10
	done
	end_recorders "$first" "$recorder"
	has_names second.data
	holds '[.threads[] | select(.alloc_samples > 0)] | length == 5' second.data
}
