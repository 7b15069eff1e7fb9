#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# probes.bats: the built probes and the inlined paths, checked without rights.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	build=$(realpath "${BUILD_DIR:-build}")
	notes=tests/probes/notes.sh
}

@test "notes of the shared library agree with probes.def" {
	$notes "$build/libgcprof-gc.so"
}

@test "notes of programs with the static library agree with probes.def" {
	for program in "$build"/workloads/*; do
		[ -x "$program" ] && [ -f "$program" ] && nm "$program" | grep -q ' gc_heap_create$' || continue
		$notes "$program"
		checked="$checked ${program##*/}"
	done
	echo "$checked"
	[ "$(wc -w <<<"$checked")" -ge 6 ]
}

@test "a program without probes is told from one with them" {
	run $notes /bin/true
	[ "$status" -eq 1 ]
	[[ "$output" == *"sample: expected one note, there is: none"* ]]
}

@test "the inlined fast path is the same with and without sampling" {
	tests/probes/fastpath.sh
	CFLAGS=-O1 tests/probes/fastpath.sh
	CFLAGS="-O2 -fPIC -fno-omit-frame-pointer" tests/probes/fastpath.sh
	CFLAGS=-O3 tests/probes/fastpath.sh
}

@test "the library builds and works without sampling" {
	make -s O="$BATS_TEST_TMPDIR/plain" USER_OBJ= CFLAGS=-DGCPROF_NO_SAMPLING=1 \
		"$BATS_TEST_TMPDIR/plain/libgcprof-gc.so" "$BATS_TEST_TMPDIR/plain/tests/unit/gc_basic" \
		"$BATS_TEST_TMPDIR/plain/tests/unit/gc_model" \
		"$BATS_TEST_TMPDIR/plain/tests/unit/gc_random"
	"$BATS_TEST_TMPDIR/plain/tests/unit/gc_random"
	"$BATS_TEST_TMPDIR/plain/tests/unit/gc_basic"
	"$BATS_TEST_TMPDIR/plain/tests/unit/gc_model"
	run readelf -n "$BATS_TEST_TMPDIR/plain/libgcprof-gc.so"
	[[ "$output" != *stapsdt* ]]
}

@test "the library exports its interface and nothing else" {
	nm -D --defined-only "$build/libgcprof-gc.so" | awk '{ print $3 }' > "$BATS_TEST_TMPDIR/exported"
	run grep -vE '^(gc_[a-z_]+|gcprof_control|gcprof_arrivals|gcprof_singly)$' "$BATS_TEST_TMPDIR/exported"
	[ "$status" -eq 1 ]
	grep -qx gc_alloc_slow "$BATS_TEST_TMPDIR/exported"
	grep -qx gcprof_control "$BATS_TEST_TMPDIR/exported"
}

@test "the program in the embedder's guide compiles and runs as printed" {
	sed -n '/^```c$/,/^```$/p' gc/README.md | sed '1d;/^```$/,$d' > "$BATS_TEST_TMPDIR/guide.c"
	gcc -std=c11 -Wall -Wextra -Werror -Igc "$BATS_TEST_TMPDIR/guide.c" "$build/libgcprof-gc.a" "$build/libgcprof-provider.a" \
		-lpthread -o "$BATS_TEST_TMPDIR/guide"
	run "$BATS_TEST_TMPDIR/guide"
	[ "$status" -eq 0 ]
	[[ "$output" == "sum 500000500000, "*" minor collections" ]]
}
