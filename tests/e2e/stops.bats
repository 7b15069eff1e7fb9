#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# stops.bats: how long collections stop a program, together with what follows them at once.
# Parallel: no other recorder matters.

load common

@test "stops are what follows each other at once" {
	need_root
	record -- "$WORKLOADS/gcbench"
	holds '.gc | .minor.count > 50 and .stops.count < .minor.count + .major.count and
		.stops.count >= .minor.count'
	# What lies between two of them counts, too; not what is in sums before one that is not.
	holds '.gc | .stops.total_ns >= 0.98 * (.minor.total_ns + .major.total_ns) and
		.stops.max_ns >= ([.minor.max_ns, .major.max_ns] | max)'
	"$GCPROF" report | tee text
	grep -qE '^ +all, as stops +[0-9,]+ ' text
}

@test "what a program requests is counted by the request, however many collections that takes" {
	need_root
	gcc -O1 -std=gnu11 -I"$ROOT/gc" "$BATS_TEST_DIRNAME/programs/asks.c" "$BUILD/libgcprof-gc.a" \
		"$BUILD/libgcprof-provider.a" -lm -lpthread -o asks
	for ceiling in 100 0; do
		GCPROF_GC_CEILING=$ceiling record --max-overhead off -- ./asks 4000 70 900
		same requests "$(ask .gc.requests)" 4970
		# A full one is also a minor one, and a step may be.
		holds '.gc.reasons.explicit.count >= 5040'
	done
}
