#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# probes.bats: the built probes and the inlined paths, checked without rights.
# Parallel: no other recorder matters.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	build=$(realpath "${BUILD_DIR:-build}")
	notes=tests/probes/notes.sh
}

@test "notes of the shared library agree with probes.def" {
	$notes "$build/libgcprof-provider.so"
}

@test "notes of programs with the static library agree with probes.def" {
	for program in "$build"/workloads/*; do
		[ -x "$program" ] && [ -f "$program" ] && nm "$program" | grep -q ' gc_heap_create$' || continue
		checked+=("$program")
	done
	echo "${checked[@]}"
	[ "${#checked[@]}" -ge 6 ]
	$notes "${checked[@]}"
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
		"$BATS_TEST_TMPDIR/plain/libgcprof-gc.so" "$BATS_TEST_TMPDIR/plain/libgcprof-provider.so" \
		"$BATS_TEST_TMPDIR/plain/tests/unit/gc_basic" "$BATS_TEST_TMPDIR/plain/tests/unit/gc_model"
	"$BATS_TEST_TMPDIR/plain/tests/unit/gc_basic"
	"$BATS_TEST_TMPDIR/plain/tests/unit/gc_model"
	run readelf -n "$BATS_TEST_TMPDIR/plain/libgcprof-gc.so" "$BATS_TEST_TMPDIR/plain/libgcprof-provider.so"
	[[ "$output" != *stapsdt* ]]
}

exports() { # LIBRARY PATTERN: exactly the names that match
	nm -D --defined-only --without-symbol-versions "$build/$1" | awk '$2 != "A" { print $3 }' >"$BATS_TEST_TMPDIR/exported"
	run grep -vE "^($2)\$" "$BATS_TEST_TMPDIR/exported"
	[ "$status" -eq 1 ]
}

@test "the libraries export their interfaces and nothing else" {
	exports libgcprof-gc.so 'gc_[a-z_]+'
	grep -qx gc_alloc_slow "$BATS_TEST_TMPDIR/exported"
	exports libgcprof-provider.so 'gcprof_[a-z_]+'
	grep -qx gcprof_control "$BATS_TEST_TMPDIR/exported"
	# The static one is linked to programs whose names it must not meet.
	run bash -c "nm --defined-only --extern-only '$build/libgcprof-provider.a' | awk 'NF == 3 { print \$3 }' |
		grep -vE '^(gcprof_|_[.]stapsdt[.]base$)'"
	[ "$status" -eq 1 ]
}

@test "every function of the provider's header is exported, and no other" {
	grep -oE '\bgcprof_[a-z_]+\(' gc/provider/provider.h | tr -d '(' | sort -u >"$BATS_TEST_TMPDIR/declared"
	nm -D --defined-only --without-symbol-versions "$build/libgcprof-provider.so" | awk '$2 == "T" { print $3 }' | sort >"$BATS_TEST_TMPDIR/exported"
	run comm -13 "$BATS_TEST_TMPDIR/declared" "$BATS_TEST_TMPDIR/exported"
	[ -z "$output" ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/exported")" -le 30 ]
}

@test "the program in the embedder's guide compiles and runs as printed" {
	sed -n '/^```c$/,/^```$/p' gc/README.md | sed '1d;/^```$/,$d' > "$BATS_TEST_TMPDIR/guide.c"
	gcc -std=c11 -Wall -Wextra -Werror -Igc "$BATS_TEST_TMPDIR/guide.c" "$build/libgcprof-gc.a" "$build/libgcprof-provider.a" \
		-lpthread -o "$BATS_TEST_TMPDIR/guide"
	run "$BATS_TEST_TMPDIR/guide"
	[ "$status" -eq 0 ]
	[[ "$output" == "sum 500000500000, "*" minor collections" ]]
}

@test "the program in the provider's guide compiles" {
	sed -n '/^```c$/,/^```$/p' gc/provider/README.md | sed '1d;/^```$/,$d' |
		gcc -std=c11 -Wall -Wextra -Werror -Igc -fsyntax-only -x c -
}
