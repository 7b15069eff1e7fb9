#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# node.bats: unchanged Node.js programs, beside their own logs and profiles.
# Parallel: no other recorder matters.

load common

PROGRAMS=$BATS_TEST_DIRNAME/programs

need() { # PROGRAM
	need_root
	command -v "$1" || skip "there is no $1"
}

# Starts a program and records it, once it is busy, until it has collected so often.
attach() { # COLLECTIONS COMMAND...
	"${@:2}" >said 2>&1 &
	started=($!)
	wait_busy "${started[0]}"
	record_until gc_begin "$1" -F 0 -p "${started[0]}"
}

# --- collections ------------------------------------------------------------------------------

# A line for each collection in the order of time: "Scavenge 40.4 27.8 58.7 allocation failure", with
# MB in use before and after it, and of all memory after it. First those that the program has printed.
collections_of_trace() { # FILE
	sed -En 's/.* ms: (Scavenge|Mark-Compact)( \([a-z ]+\))? ([0-9.]+) \([0-9.]+\) -> ([0-9.]+) \(([0-9.]+)\) MB.*\) ([^;]*);.*/\1 \3 \4 \5 \6/p' "$1"
}

collections_of_profile() {
	"$GCPROF" query --format json 'SELECT * FROM collections ORDER BY start' 2>/dev/null |
		jq -r '.[] | [.name, (.heap_before, .heap_after, .heap_size | . / 1048576), .reason] | @tsv' |
		awk -F '\t' '{ printf "%s %.1f %.1f %.1f %s\n", $1, $2, $3, $4, $5 }'
}

@test "collections are those of --trace-gc, with reasons and heap sizes" {
	need node
	record -F 0 -- node --trace-gc --expose-gc "$PROGRAMS/scavenge.js" 1
	collections_of_trace out >wanted
	[ "$(grep -c '^Scavenge.*allocation failure' wanted)" -ge 5 ] && [ "$(grep -c '^Mark-Compact.*testing' wanted)" = 2 ]
	collections_of_profile >found
	diff wanted found
	"$GCPROF" report | grep -E "^ *runtime v8 $(node -p 'process.versions.v8.split("-")[0]'): allocations are sampled with --agent node"
}

@test "long: pauses are as long as --trace-gc says" {
	need node
	record -F 0 -- node --trace-gc "$PROGRAMS/scavenge.js" 1
	sed -En 's/.* MB, ([0-9.]+) .*/\1/p' out >wanted
	"$GCPROF" query --format csv 'SELECT duration_ns / 1e6 FROM collections ORDER BY start' | tail -n +2 | tr -d '\r' >found
	paste found wanted
	# Its thread may be kept from its CPU between both clocks, but not often.
	paste found wanted | awk '{ n++; right += $1 > 0.6 * $2 - 0.1 && $1 < 1.1 * $2 + 0.1 } END { exit !(n > 4 && right > 0.7 * n) }'
}

@test "a perf map names functions where they are not walked" {
	need node
	record --stack fp -- node --perf-basic-prof --interpreted-frames-native-stack --no-turbo-inlining \
		"$PROGRAMS/functions.js" 1
	holds '[.functions[] | (.name | capture("^JS:.(?<name>first|second|share) ")?) + {cpu: .cpu_total_ns}] |
		group_by(.name) | map({(.[0].name): (map(.cpu) | add)}) | add as $of |
		($of.first / ($of.first + $of.second) - 0.75 | fabs) < 0.1 and
		$of.share > 0.95 * ($of.first + $of.second)'
	holds '.cpu.on_cpu_ns as $all | [.functions[] | select(.name == "node::Start(int, char**)").cpu_total_ns][0] > 0.5 * $all'
}

@test "collections of a program that runs already" {
	need node
	attach 20 node "$PROGRAMS/scavenge.js" 1000
	holds '[.gc.named[] | select(.name == "Scavenge")][0].count > 3 and .gc.heap_peak_bytes > 1e6'
}

@test "long: incremental marking is a cycle, as --trace-incremental-marking says" {
	need node
	record -F 0 -- node --trace-incremental-marking "$PROGRAMS/scavenge.js" 2
	same cycles "$("$GCPROF" query --format csv 'SELECT count(*) FROM gc_cycles' | tail -n 1 | tr -d '\r')" \
		"$(grep -c 'IncrementalMarking. Start marking$' out)"
	grep -q 'IncrementalMarking. Start marking' out
}

# --- functions --------------------------------------------------------------------------------

# Is a number within 0.1 of another?
near() { # WHAT LEFT RIGHT
	awk -v a="$2" -v b="$3" 'BEGIN { exit !(a - b < 0.1 && b - a < 0.1) }' && return 0
	echo "$1: $2, not $3"
	return 1
}

# Functions of hot.js have the parts of the CPU time that it says. With the 400 samples that they have at
# least chance makes a part 0.1 too large or small.
holds_shares() {
	near functions "$(ask '[.functions[] | select(.runtime == "managed" and (.name | IN("one", "two"))) |
		{(.name): .cpu_total_ns}] | add | .one / (.one + .two)')" "$(tail -n 1 out)"
	holds '.stacks.samples > 400'
}

hot() { # WAY [OPTION...]
	need node
	record -F 1999 -- node "${@:2}" "$PROGRAMS/hot.js" 1 "$1"
	holds_shares
}

@test "functions have their shares, names, files and lines" {
	hot plain
	# Before its unwind rows are made, which takes 0.1 s of a CPU, stacks are guessed.
	holds '.stacks as $of | [$of.unfinished | to_entries[] | select(.key != "user_guessed").value] | add // 0 | . < 0.03 * $of.samples'
	holds '([.functions[] | select(.file // "" | endswith("/hot.js")) | {(.name): .cpu_total_ns}] | add) as $of |
		$of.share > 0.99 * ($of.one + $of.two) and $of.run >= 0.99 * $of.share'
	"$GCPROF" query --format csv "SELECT DISTINCT name, line FROM functions
		WHERE file LIKE '%/hot.js' AND name IN ('leaf', 'one', 'two', 'share', 'run') ORDER BY name" |
		tail -n +2 | tr -d '\r' >found
	awk '/^(async )?function (leaf|one|two|share|run)[(]/ { sub(/^async /, ""); split($2, of, "("); print of[1] "," NR }' \
		"$PROGRAMS/hot.js" | sort >wanted
	diff wanted found
}

@test "long: functions have their shares in generators" {
	hot generators --no-turbo-inlining
	"$GCPROF" export -f folded -o - 2>/dev/null | grep -E ';run;Builtins_GeneratorPrototypeNext;produce;share;one;.*leaf'
}

@test "long: functions have their shares in asynchronous functions and callbacks" {
	hot asynchronous --no-turbo-inlining
	"$GCPROF" export -f folded -o - 2>/dev/null | grep -E ';inner;share;one;.*leaf'
	hot callbacks --no-opt
	"$GCPROF" export -f folded -o - 2>/dev/null | grep -E ';run;Builtins_ArrayMap;\(anonymous\);share;one;.*leaf'
}

@test "long: functions have their shares in workers" {
	hot threads
	same threads "$(found_in thread share)" 3
}

@test "long: functions have their shares whichever compiler made their code" {
	hot plain --no-opt --no-sparkplug
	hot plain --no-opt --always-sparkplug
	hot plain --always-turbofan
}

# So that others lie where they did; two parts of the same name are functions of the same length.
@test "long: functions have their shares while they come and go, and the collector moves what is left" {
	hot moving --expose-gc
	holds '.gc.major.count > 0 and .gc.minor.count > 0'
}

@test "long: functions have their shares in the profile that V8 takes itself" {
	need node
	record -F 1999 -- node --cpu-prof --cpu-prof-name=own.json "$PROGRAMS/hot.js" 1 plain
	holds_shares
	near own "$(jq '(.nodes | map({(.id | tostring): .}) | add) as $of |
		(.samples | group_by(.) | map({(.[0] | tostring): length}) | add) as $count |
		def sum: ($count[.id | tostring] // 0) + ([.children // [] | .[] | $of[tostring] | sum] | add // 0);
		def outer($name): if .callFrame.functionName == $name then sum
			else [.children // [] | .[] | $of[tostring] | outer($name)] | add // 0 end;
		(.nodes[0] | outer("one")) as $one | (.nodes[0] | outer("two")) as $two | $one / ($one + $two)' own.json)" \
		"$(ask '[.functions[] | select(.name | IN("one", "two")) | {(.name): .cpu_total_ns}] | add | .one / (.one + .two)')"
}

@test "long: functions have their shares in a program that runs already" {
	need node
	node "$PROGRAMS/hot.js" 2 plain >said &
	started=($!)
	wait_busy "${started[0]}"
	record -F 1999 -p "${started[0]}"
	holds '.cpu.on_cpu_ns as $all | ([.functions[] | select(.name | IN("one", "two", "run")) |
		{(.name): .cpu_total_ns}] | add) as $of | $of.run > 0.5 * $all and
		($of.one / ($of.one + $of.two) - 0.75 | fabs) < 0.1'
}

@test "long: stacks deeper than the limit have their innermost functions" {
	need node
	record -- node "$PROGRAMS/hot.js" 1 deep
	holds '.stacks.unfinished.user_cut > 0.2 * .stacks.samples'
	holds '.cpu.on_cpu_ns as $all | [.functions[] | select(.name | IN("one", "two")) | .cpu_total_ns] | add > 0.5 * $all'
}

@test "waits and system calls have functions; modules, text that is not ASCII, lines far down" {
	need node
	{
		printf '\n%.0s' {1..5000}
		cat <<'END'
import fs from 'node:fs';
const word = new Int32Array(new SharedArrayBuffer(4));
function schläft() { Atomics.wait(word, 0, 0, 50); } // 😀
function reads() { return fs.readSync(fs.openSync('/dev/zero'), Buffer.alloc(8 << 20)); }
for (let i = 0; i < 50; i++) { schläft(); reads(); }
END
	} >waits.mjs
	record --off-cpu --syscalls slow=10us -- node waits.mjs
	# Of 2.5 s; on a busy machine the first ones come before the program's code is known.
	holds '[.functions[] | select(.name == "schläft") | .off_cpu_ns > 0.2e9] == [true]'
	holds '[.functions[] | select(.name == "reads" and (.file | test("^/.*/waits.mjs$"))) | .syscall_ns > 0] == [true]'
	same lines "$("$GCPROF" query --format csv "SELECT DISTINCT line FROM functions
		WHERE name IN ('schläft', 'reads') ORDER BY 1" | tail -n +2 | tr -d '\r' | xargs)" '5003 5004'
}

@test "doctor says what there is, --runtime leaves it out" {
	need node
	"$GCPROF" doctor --json "$(command -v node)" >doctor.json
	jq -e '.[0] | .runtime == "v8" and .records.pauses and .records.cycles and (.missing | not)' doctor.json
	record --runtime go -- node -e 'gc => gc'
	holds '.streams.gc.attached | not'
}

@test "long: other releases of Node.js" {
	local other
	need_root
	for other in ~/.nvm/versions/node/v{20,22,24}.*/bin/node; do
		[ -x "$other" ] || continue
		PATH=${other%/*}:$PATH
		hot moving --expose-gc
		hot plain --always-turbofan
		record -F 0 -- node --trace-gc --expose-gc "$PROGRAMS/scavenge.js" 1
		collections_of_trace out >wanted
		collections_of_profile >found
		diff wanted found
	done
	[[ $PATH == */.nvm/* ]] || skip 'there are none'
}
