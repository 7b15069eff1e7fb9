#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# recorders.bats: several recorders of one program, in any order: each has all names.
# Parallel: nobody else runs these programs.

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
# was told. (Samples that are under way while programs are told may be of what was before.)
has_names() { # FILE
	holds '.alloc.samples > 20 and ([.alloc.types[].name] | length > 0 and all(startswith("type ") | not)) and
		([.functions[] | select(.runtime == "managed").name] | length > 0 and all(startswith("code ") | not)) and
		(.stacks.unfinished.lost // 0) <= .alloc.samples / 50 + 5' "$1"
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
	kill -KILL "$third"
	wait_until has_stored alloc 100 second.data
	end_recorders "$second"
	start_recorder fourth -p "$pid"
	wait_on "$pid" 20
	end_recorders "$first" "$recorder"
	has_names first.data
	has_names second.data
	has_names fourth.data
}

@test "a program that slept while one recorder left and another one came names everything again" {
	own_copy churn
	start ./churn --seconds 1000
	program=$pid
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

# A recorder counts itself among those of a process, which for a child is some time after its fork.
is_recorded() { # PID
	[ "$(requests "$1" | cut -c1-8)" != 00000000 ]
}

@test "children that were born before a recorder heard of their program have names, too" {
	gcc -O1 -D_GNU_SOURCE -I"$ROOT/gc" "$ROOT/tests/e2e/programs/family.c" \
		"$BUILD/libgcprof-gc.a" "$BUILD/libgcprof-provider.a" -o program -lpthread
	start_recorder first -- ./program 0
	first=$recorder
	started+=("$(pgrep -P "$first" -x program)")
	kill -STOP "${started[-1]}" # that it has the file mapped is enough
	start_shell './program 2'
	start_recorder second -p "$shell"
	start_unheard "$recorder"
	mapfile -t children < <(pgrep -P "$pid")
	for child in "$pid" "${children[@]}"; do
		wait_until is_recorded "$child"
	done
	for child in "$pid" "${children[@]}"; do
		wait_on "$child" 10
	done
	kill -KILL "${started[1]}"
	end_recorders "$first" "$recorder"
	has_names second.data
	holds '[.threads[] | select(.alloc_samples > 0)] | length == 3' second.data
}

make_neighbour() {
	gcc -O1 -I"$ROOT/gc" "$ROOT/tests/e2e/programs/neighbour.c" -L"$BUILD" -lgcprof-provider -o neighbour
	cp "$BUILD/libgcprof-provider.so" libgcprof-provider.so.0
	export LD_LIBRARY_PATH=$PWD
}

make_static_neighbour() {
	gcc -O1 -I"$ROOT/gc" "$ROOT/tests/e2e/programs/neighbour.c" "$BUILD/libgcprof-provider.a" -lpthread -lm -o neighbour
}

# Ends a program that was started as `NAME`; what it printed is in NAME.out.
end_neighbour() { # NAME PID
	kill -TERM "$2"
	wait "$2" || true
	echo "$1: $(cat "$1.out") samples"
}

# Three quarters of the bytes are buffers, the rest pairs, but for chance: five standard deviations,
# of which an interval has 3.92. Both and their provider have names.
is_right() { # FILE
	holds '(.alloc.types | map({(.name): .bytes}) | add) as $of |
		($of | keys) == ["buffer", "pair"] and
		([.runtimes[] | .name + " " + .version] == ["neighbour 1.0"]) and
		($of | map_values((.high - .low) / .estimate) | .buffer * .buffer + .pair * .pair | sqrt) as $interval |
		($of.buffer.estimate / ($of.buffer.estimate + $of.pair.estimate) - 0.75 | fabs) <
			0.01 + 0.25 * 0.75 * $interval / 3.92 * 5' "$1"
}

@test "two processes share a library and one of them is recorded: the other one takes no sample" {
	make_neighbour
	./neighbour 60 >recorded.out 3>&- &
	recorded=$!
	./neighbour 60 >other.out 3>&- &
	other=$!
	started+=("$recorded" "$other")
	start_recorder attached -p "$recorded"
	# One that is started is recorded from its first allocation on.
	"$GCPROF" record -o launched.data -- ./neighbour 1 >launched.out 2>launched.log
	wait_until has_stored alloc 1001 attached.data
	end_recorders "$recorder"
	end_neighbour recorded "$recorded"
	end_neighbour other "$other"
	is_right attached.data
	is_right launched.data
	[ "$(cat recorded.out)" -gt 1000 ]
	same launched "$("$GCPROF" report --json launched.data | jq .alloc.samples)" "$(cat launched.out)"
	needs_nobody_else same other "$(cat other.out)" 0
}

@test "a library that the linker finds by a relative path has its probes before the program runs" {
	make_neighbour
	LD_LIBRARY_PATH=. "$GCPROF" record -v -o launched.data -- ./neighbour 1 >launched.out 2>launched.log
	sed '/ms  the program runs$/q' launched.log | grep -E '/libgcprof-provider\.so\.0: [0-9]+ probes attached'
	is_right launched.data
}

@test "long: five recorders come and go at random, some are killed: right names, right shares, nothing is left" {
	make_static_neighbour
	./neighbour 120 >program.out 3>&- &
	program=$!
	started+=("$program")
	wait_until test -e "/proc/$program"
	RANDOM=${SEED:-$$}
	echo "SEED=$RANDOM"
	for i in 1 2 3 4 5; do
		start_recorder "$i" -R $((1 << (14 + RANDOM % 4))) --ceiling 0 -p "$program"
		recorders[i]=$recorder
		sleep "0.$((RANDOM % 5))"
		# One of those that are there goes, in any order.
		victim=$((RANDOM % i + 1))
		[ -n "${recorders[victim]}" ] || continue
		if [ $((RANDOM % 2)) = 0 ]; then
			kill -KILL "${recorders[victim]}"
			killed+=("$victim")
		else
			kill -INT "${recorders[victim]}"
		fi
		wait "${recorders[victim]}" || true
		recorders[victim]=
	done
	for i in 1 2 3 4 5; do
		[ -z "${recorders[i]}" ] || end_recorders "${recorders[i]}"
	done
	# The next one frees what the killed ones had.
	start_recorder last -p "$program"
	wait_until has_stored alloc 1000 last.data
	end_recorders "$recorder"
	is_right last.data
	for i in 1 2 3 4 5; do
		holds '[.alloc.types[].name] - ["buffer", "pair"] == []' "$i.data"
		holds '.alloc.samples < 400' "$i.data" || is_right "$i.data"
	done
	needs_nobody_else same requests "$(requests "$program")" "$(printf '%08d %0768d' 0 0)"
	echo "killed: ${killed[*]}"
}

@test "--no-writes: nothing is written, a program that runs already takes no samples and a warning says so" {
	make_static_neighbour
	./neighbour 60 >program.out 3>&- &
	program=$!
	started+=("$program")
	wait_until ran "$program" 1
	before=$(requests "$program")
	start_recorder attached --no-writes -p "$program"
	wait_on "$program" 3
	needs_nobody_else same requests "$(requests "$program")" "$before"
	end_recorders "$recorder"
	grep "process $program does not know that it is recorded, and takes no allocation samples: --no-writes" attached.log
	end_neighbour program "$program"
	needs_nobody_else same samples "$(cat program.out)" 0
	"$GCPROF" record --no-writes -o launched.data -- ./neighbour 1 >launched.out 2>launched.log
	is_right launched.data
	same launched "$("$GCPROF" report --json launched.data | jq .alloc.samples)" "$(cat launched.out)"
}

is_asked_for_nothing() { # PID
	[ "$(requests "$1")" = "$(printf '%08d %0768d' 0 0)" ]
}

@test "a program that gcprof started is not recorded any more once that has left or is killed, nor are its children" {
	gcc -O1 -D_GNU_SOURCE -I"$ROOT/gc" "$ROOT/tests/e2e/programs/family.c" \
		"$BUILD/libgcprof-gc.a" "$BUILD/libgcprof-provider.a" -o program -lpthread
	for signal in INT KILL; do
		start_recorder first -- ./program 2
		program=$(pgrep -P "$recorder" -x program)
		started+=("$program")
		wait_until pgrep -P "$program" -x program
		mapfile -t children < <(pgrep -P "$program" -x program)
		started+=("${children[@]}")
		[ "${#children[@]}" -gt 0 ]
		for pid in "$program" "${children[@]}"; do
			wait_until is_recorded "$pid"
		done
		kill -s $signal "$recorder"
		wait "$recorder" || true
		for pid in "$program" "${children[@]}"; do
			wait_until is_asked_for_nothing "$pid" || needs_nobody_else false
		done
		kill -KILL "$program"
	done
}
