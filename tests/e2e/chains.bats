#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# chains.bats: shadow stacks that somebody made to mislead: what is valid is kept, and marked.
# Parallel: no other recorder matters.

load common

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	gcc -O1 -D_GNU_SOURCE -I"$ROOT/gc" "$ROOT/tests/e2e/programs/chains.c" \
		"$BUILD/libgcprof-gc.a" "$BUILD/tests/provider.a" -lm -lpthread -o "$PROGRAMS/chains"
}

# Nearly all stacks are whole but for what is managed.
natives_are_whole() {
	ask '[.stacks.unfinished | to_entries[] | select(.key | startswith("managed") | not).value] |
		(add // 0) < 10' | grep -qx true
}

# Timer ticks, system calls and allocation samples must all have the two innermost functions, and
# nothing else that is managed but OTHERS; native stacks must not suffer.
check_chain() { # CHAIN OTHERS
	# The first stacks are taken before there are unwind rows: many, if the recorder does not get
	# the CPU then. Once in ten times it does.
	for _ in $(seq 10); do
		# A wait's stack is walked before it is known whether the wait is long enough to be recorded.
		record --no-off-cpu -- "$PROGRAMS/chains" "$1"
		! natives_are_whole || break
	done
	natives_are_whole || holds '.stacks.unfinished == {}' || return 1
	holds "[.functions[] | select(.runtime == \"managed\").name] | sort == [\"managed_inner\", \"managed_middle\"$2]" || return 1
	# Not of all CPU time: what a program takes to begin may be long where memory comes slowly.
	holds '([.functions[] | select(.name == "spin") | .cpu_total_ns] | add) as $cpu |
		.functions[] | select(.name == "managed_middle") | $cpu > 1e8 and
		.cpu_total_ns > 0.9 * $cpu and .syscall_ns > 40 * 2e6 and .alloc_total_bytes > 200 * 4096' || return 1
	holds '.functions[] | select(.name == "managed_inner") | .alloc_self_bytes > 200 * 4096' || return 1
	holds '.alloc.samples == 200 and .cpu.samples > 100' || return 1
	holds '[.streams[].lost] | add == 0'
}

# Nearly all stacks have the mark, what happened before the first one was told excepted: those of the samples in
# managed functions at least.
marked() { # MARK COUNTER
	holds "(([.functions[] | select(.name == \"managed_middle\") | .cpu_samples] | add) + .alloc.samples) as \$managed |
		.stacks | (.unfinished | del(.$1) | [.[]] | add // 0) < 10 and .unfinished.$1 > 0.9 * \$managed" || return 1
	holds ".stacks.unfinished.$1 as \$marked | [.losses[] | select(.name == \"$2\").count] == [\$marked]"
}

torn() { # CHAIN
	check_chain "$1"
	marked managed_torn MANAGED_TORN
}

@test "a chain that is as it should be has no mark" {
	need_root
	check_chain whole ', "managed_outer"'
	holds '.stacks.complete > 0.97'
}

@test "a chain that leads back" {
	need_root
	torn cycle
}

@test "a chain to where no frame can be" {
	need_root
	torn hole
}

@test "a chain to what cannot be read" {
	need_root
	torn edge
}

@test "long: other chains that lead back, to where no frame can be, or to what cannot be read" {
	need_root
	for chain in self overlap unaligned kernel last forbidden absent; do
		torn "$chain"
	done
}

@test "a chain of a hundred thousand frames is cut" {
	need_root
	check_chain deep ', "managed_outer"'
	marked managed_cut MANAGED_DEPTH
}

@test "the report says why stacks are not whole" {
	need_root
	record -- "$PROGRAMS/chains" cycle
	"$GCPROF" report >text
	grep -q 'a managed frame could not be read' text
	record -- "$PROGRAMS/chains" deep
	"$GCPROF" report >text
	grep -q 'the managed stack is deeper than the recorder follows' text
}
