#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# first_cause.bats: the first finding of a report names the fault that was planted in a program.
# Parallel: true sentences about other programs may precede.

load common

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return 1
}

# All programs of the table: make causes.
scores() { # PATTERN COUNT
	CAUSES_FOLDER=$BATS_TEST_TMPDIR run "$ROOT/tests/causes/score" "$BUILD" "$1"
	echo "$output"
	[[ $output == *"first right $2, among findings 0, silent 0, wrong 0, skipped 0"* ]]
}

@test "a lock, a call, an expression and a death in C are named first" {
	command -v gcc >/dev/null || skip 'no gcc'
	scores '^(mutex|tiny_writes|regcomp|crash)[.]c$' 4
}

@test "cycles and expressions in Python are named first" {
	command -v python3 >/dev/null || skip 'no python3'
	scores '^(cycles|regex)[.]py$' 2
}

@test "on a terminal the answer is one screen, in a pipe it is everything" {
	cd "$BATS_TEST_TMPDIR"
	"$GCPROF" record -o profile -- "$WORKLOADS/ledger" >/dev/null 2>log
	for columns in 60 80 100 200; do
		TERM=xterm script -qefc "stty cols $columns; $GCPROF report --no-browse profile" /dev/null >screen
		(($(wc -l <screen) <= 24))
		grep -q 'What stands out' screen
		grep -q 'report --all' screen
		! grep -q 'Functions (' screen
	done
	TERM=xterm script -qefc "$GCPROF report --all profile" /dev/null >all
	grep -q 'Functions (' all
	"$GCPROF" report profile | grep -q 'Functions ('
}

@test "nothing is advised to idle threads" {
	command -v gcc >/dev/null || skip 'no gcc'
	scores '^healthy_idle[.]c$' 1
}
