#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# instructions.bats: BPF programs, and the paths of samples and events, do not grow unnoticed. The table in
# bpf/README.md holds the limits of the programs.
# Parallel: the numbers do not depend on what else runs.
# shellcheck disable=SC2154 # what `start` and `begin_recording` set

load common

# NAME TRANSLATED VERIFIED of each BPF program of a process.
programs() { # PID
	bpftool -j prog show | jq -r '.[] | "\(.id) \(.name // "") \(.bytes_xlated / 8)"' >loaded
	cat /proc/"$1"/fdinfo/* 2>/dev/null | awk '
		FNR == NR { name[$1] = $2 " " $3; next }
		$1 == "prog_id:" { id = $2 }
		$1 == "verified_insns:" { verified[id] = $2 }
		END { for (id in verified) if (id in name) print name[id], verified[id] }' loaded - | sort -u
}

@test "BPF programs have at most 3 % more instructions than bpf/README.md says" {
	need_root
	[[ $(uname -r) = 6.18.* ]] || skip 'the table is of Linux 6.18: other kernels verify differently'
	start sleep 600
	begin_recording --off-cpu --faults -p "$pid"
	programs "$recorder" >now
	end_recording
	[ "$(wc -l <now)" -gt 15 ]
	# The table is clang 14's. What others make is a bit larger, and the verifier follows more of its paths.
	read -r clang _ <"$BUILD/bpf/flags"
	large=1.03 most=1.03
	[[ $("$clang" -dumpversion) = 14.* ]] || large=1.1 most=4
	# The rest of small programs varies by a few instructions with the compiler.
	awk -v large="$large" -v most="$most" -F '[|` ]+' '
		FNR == NR { if (/^\| `/ && NF == 5) { translated[$2] = $3; verified[$2] = $4 }; next }
		{ split($0, of, " "); name = of[1] }
		of[2] > translated[name] * large + 20 || of[3] > verified[name] * most + 20 {
			printf "more than the table has: | `%s` | %d | %d |\n", name, of[2], of[3]
			grown = 1
		}
		END { exit grown }' "$ROOT/bpf/README.md" now
}

# PROGRAM TEST of the unit tests: instructions for each run of what callgrind counts, by gcc 12.
paths() {
	cat <<-'END'
		sample_path samples_one_by_one 20000 268
		sample_path samples_in_batches 20000 2365
		store_path timer_samples_are_stored 5000 2195
		store_path system_calls_are_stored 5000 1587
	END
}

@test "an allocation sample and an event take at most 3 % more instructions than they did" {
	command -v valgrind >/dev/null || skip 'there is no valgrind'
	[[ $(gcc -dumpversion) = 12* ]] || skip 'the numbers are those of gcc 12'
	# Maps have random seeds, and so collisions. Without random bytes they have the address of a variable.
	echo '#include <stddef.h>
	long getrandom(void *to, size_t size, unsigned flags) { (void)to, (void)size, (void)flags; return -1; }' |
		gcc -shared -fPIC -o no_random.so -x c -
	for program in sample_path store_path; do
		# A process for each test, in their order; the first output is that of all.
		LD_PRELOAD=$PWD/no_random.so valgrind --tool=callgrind --callgrind-out-file="$program.%p" --toggle-collect=gcprof_alloc_slow \
			--toggle-collect=store_event "$BUILD/tests/unit/$program" 2>"$program.log" | sed "s/^/$program /" >"$program.tap"
		cat "$program.tap" "$program.log"
		paste -d ' ' <(grep ' ok ' "$program.tap") \
			<(awk '$2 == "Collected" && $4 > 0 {print $4}' "$program.log") >>counted
	done
	# PROGRAM "ok" N TEST COUNT beside PROGRAM TEST TIMES LIMIT
	paste -d ' ' <(paths) counted | awk '
		$1 != $5 || $2 != $8 || !($9 > 0) {print "not counted: " $0; bad = 1}
		{printf "%s: %.0f of %d\n", $2, $9 / $3, $4}
		$9 / $3 > $4 * 1.03 {bad = 1}
		END {exit bad || NR != 4}'
}

# Instructions of the program for each malloc() and free() of it, with the agents that are preloaded, if any.
instructions_of_a_pair() { # [PRELOADED]
	local pairs
	for pairs in 20000 40000; do
		LD_PRELOAD=${1:-} valgrind --tool=callgrind --callgrind-out-file=pairs.out ./pairs "$pairs" 2>&1 | awk '$2 == "Collected" {print $4}'
	done | awk 'NR == 1 {less = $1} END {print ($1 - less) / 20000}'
}

@test "the malloc agent adds seven instructions to a malloc() and its free()" {
	command -v valgrind >/dev/null || skip 'there is no valgrind'
	[[ $(uname -m) = x86_64 ]] || skip 'the number is that of x86-64'
	echo '#include <stdlib.h>
	int main(int argc, char **argv) {
		for (long i = argc > 1 ? atol(argv[1]) : 0; i; i--) { void *volatile block = malloc(100); free(block); }
	}' | gcc -O2 -o pairs -x c -
	alone=$(instructions_of_a_pair)
	agent=$(instructions_of_a_pair "$BUILD/libgcprof-malloc.so")
	echo "$alone, $agent with the agent"
	# Once in 128 KiB it takes the slow path.
	awk -v alone="$alone" -v agent="$agent" 'BEGIN {exit !(alone > 20 && agent - alone >= 7 && agent - alone < 7.5)}'
	# Each function in lines of its own.
	nm -D --defined-only "$BUILD/libgcprof-malloc.so" >functions
	[ "$(grep -cE '[048c]0 T (malloc|free)$' functions)" = 2 ]
}
