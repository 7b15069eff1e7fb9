#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# runtimes.bats: unchanged programs of runtimes that only have a table, beside their own logs.
# Parallel: no other recorder matters.

load common

PROGRAMS=$BATS_TEST_DIRNAME/programs

need() { # PROGRAM
	need_root
	command -v "$1" || skip "there is no $1"
}

# How many collections of each name began in a span of time, as "name count, name count, ".
names_between() { # BEGIN END
	"$GCPROF" query "SELECT name || ' ' || count(*) AS x FROM collections
		WHERE start BETWEEN $1 AND $2 GROUP BY name ORDER BY name" 2>/dev/null |
		awk 'NR > 2 { printf "%s, ", $0 }' | tr -s ' '
}

# Starts a program and records it, once it is busy, until it has collected so often.
attach() { # COLLECTIONS COMMAND...
	"${@:2}" >said 2>&1 &
	started=($!)
	wait_busy "${started[0]}"
	record_until gc_begin "$1" -F 0 -p "${started[0]}"
}

# --- runtimes that are recognised only ---------------------------------------------------------

# Builds programs/named.c as a program that exports these names: FILE; other arguments go to the compiler.
make_named() { # FILE EXPORTS [ARGUMENT...]
	: >names.c
	for name in $2; do
		echo "int $name = 1;" >>names.c
	done
	gcc -O1 -fno-omit-frame-pointer -rdynamic "${@:3}" "$PROGRAMS/named.c" names.c -o "$1"
}

@test "runtimes are recognised by what their files export or contain, each with advice of its own" {
	local title exports argument words rows=0
	while IFS='|' read -r title exports argument words; do
		make_named program "$exports" ${argument:+"$argument"}
		"$GCPROF" doctor ./program >out
		grep -qE "runtime +$title\$" out || { echo "$title"; cat out; return 1; }
		grep -qF -- "$words" out || { echo "$title: no $words"; cat out; return 1; }
		strip program
		"$GCPROF" doctor ./program | grep -qE "runtime +$title\$"
		rows=$((rows + 1))
	done <<'END'
erlang|erts_garbage_collect||erl +JPperf true
deno|napi_create_function|-DTEXT="DENO_V8_FLAGS"|deno run --v8-flags=--perf-basic-prof
bun|napi_create_function|-DTEXT="BUN_JSC_"|No names can be had
luajit|luaJIT_setmode lua_createtable||No names can be had
lua|lua_createtable||No names can be had
mono|mono_gc_collect||mono --jitmap
chez-scheme|S_do_gc||No names can be had
ghc|hs_main||not stripped
ghc||-DTEXT="%7.3f  (Gen: %2d)"|not stripped
graalvm-native||-DSECTION=".svm_heap"|-H:+PreserveFramePointer
sbcl|collect_garbage call_into_lisp||No names can be had
dotnet|g_dacTable||DOTNET_PerfMapEnabled=1
php|zend_gc_collect_cycles executor_globals||No names can be had
r|R_gc||No names can be had
END
	same rows "$rows" "$(($(grep -c '^NAMED(' "$ROOT/userspace/runtimes/recognised.def") + 1))"
	# gcprof itself, which looks for all of these, has none of the runtimes.
	"$GCPROF" doctor "$GCPROF" >out
	absent '^ *runtime ' out
	# Half of what is asked for is not enough.
	for exports in napi_create_function collect_garbage executor_globals ''; do
		make_named program "$exports"
		"$GCPROF" doctor ./program >out
		grep -q 'No runtime that gcprof knows' out || { cat out; return 1; }
	done
}

@test "long: code without names: the advice is that of its runtime, or none" {
	need_root
	make_named erlang erts_garbage_collect
	make_named unknown ''
	make_named deno napi_create_function '-DTEXT="DENO_V8_FLAGS"'
	for program in erlang unknown deno; do
		record -- "./$program" 0.5
		# Of a runtime that is recognised, too, it is said that nothing of it is recorded.
		[ $program = unknown ] || grep -q "no collections were recorded: gcprof does not record those of $program" record.log
		ask '.warnings[] | select(.name == "unnamed_code" or .name == "guessed_stacks") | .name, .remedy' >$program.said
		absent 'python3' $program.said
		absent 'node ' $program.said
	done
	printf '%s\n' guessed_stacks '' unnamed_code '' | diff - unknown.said
	grep -q 'erl +JPperf true' erlang.said
	grep -q 'v8-flags=--perf-basic-prof' deno.said
	# Its code keeps frame pointers: no callers are missing.
	absent guessed_stacks deno.said
	holds '.stacks.unfinished.user_guessed == null and .stacks.complete > 0.9'
}

# --- Ruby ------------------------------------------------------------------------------------

@test "Ruby: marks are those of GC.stat, with their reasons" {
	local begin end minor major reasons
	need ruby
	record -F 0 -- ruby "$PROGRAMS/collect.rb" 0.3
	read -r begin end minor major reasons <out
	[ "$minor" -ge 20 ] && [ "$major" -ge 5 ]
	same marks "$(names_between "$begin" "$end" | sed 's/sweep.*//')" "major mark $major, minor mark $minor, "
	same 'asked for' "$("$GCPROF" query --format csv "SELECT reason FROM collections
		WHERE name = 'major mark' AND start < $end ORDER BY start DESC LIMIT 5" | tail -n 5 | tac | tr -d '\r' | xargs)" "$reasons"
	# Each collection sweeps, and what it sweeps at once is a part of it.
	holds '[.gc.named[] | {(.name): .count}] | add | .sweep > .["minor mark"] + .["major mark"]'
	"$GCPROF" report | grep -E "^ *runtime ruby $(ruby -e 'print RUBY_VERSION'): no allocation samples"
}

@test "long: Ruby: marks and sweeps of a program that runs already" {
	need ruby
	attach 100 ruby "$PROGRAMS/collect.rb" 1000
	holds '[.gc.named[] | {(.name): .count}] | add | .["minor mark"] > 0 and .sweep > 10'
}

@test "Ruby: doctor says what there is, --runtime leaves it out" {
	need ruby
	"$GCPROF" doctor --json ruby >doctor.json
	jq -e '.[0] | .runtime == "ruby" and .records.pauses and .records.reasons and .records.stacks and (.missing | not)' doctor.json
	record --runtime go -- ruby -e 'GC.start'
	holds '.streams.gc.attached | not'
}

# --- OCaml -----------------------------------------------------------------------------------

build_ocaml() {
	need ocamlopt
	cp "$PROGRAMS/promote.ml" .
	ocamlopt promote.ml -o promote
	strip -o stripped promote
}

# The collections are those that the runtime counts, and so are the words that it promotes. Each slice
# of a major one says in the log how many words were allocated before.
holds_ocaml() { # LOG
	same collections "$("$GCPROF" query --format csv "SELECT count(*), sum(promoted_bytes) / 8 FROM collections
		WHERE name = 'minor'" | tail -n 1 | tr -d '\r')" \
		"$(sed -n 's/^minor_collections: //p' "$1"),$(sed -n 's/^promoted_words: //p' "$1")"
	same slices "$("$GCPROF" query --format csv "SELECT count(*) FROM collections WHERE name = 'major slice'" |
		tail -n 1 | tr -d '\r')" "$(grep -c '^allocated_words = ' "$1")"
	holds '[.gc.named[] | {(.name): .count}] | add | .minor > 20 and .["major slice"] > 20'
	holds '.gc.unpaired | . == null or . == 0'
}

@test "OCaml: collections and promoted words are those of its log, in a stripped program, too" {
	build_ocaml
	export OCAMLRUNPARAM=v=0x440
	record -F 0 -- ./promote 2000
	holds_ocaml record.log
	record -F 0 -- ./stripped 2000
	holds_ocaml record.log
	"$GCPROF" report | grep -E '^ *runtime ocaml 4: no allocation samples'
}

@test "long: OCaml: collections of a program in bytecode" {
	need ocamlc
	cp "$PROGRAMS/promote.ml" .
	ocamlc promote.ml -o bytecode
	OCAMLRUNPARAM=v=0x440 record -F 0 -- ./bytecode 2000
	holds_ocaml record.log
}

@test "long: OCaml: collections of a program that runs already" {
	build_ocaml
	attach 100 ./stripped 1000000000
	holds '[.gc.named[] | {(.name): .count}] | add | .minor > 5 and .["major slice"] > 5'
	holds '.gc.promoted_bytes > 100000'
}

# Each domain counts what it promotes until its work is done. It has its part in each stop, so pauses overlap.
holds_domains() {
	record -F 0 -- ./domains 500 2
	holds ".gc.promoted_bytes / 8 / $(cat out) | . >= 1 and . < 1.02"
	same heaps "$("$GCPROF" query --format csv "SELECT count(DISTINCT heap) FROM collections WHERE name = 'minor'" |
		tail -n 1 | tr -d '\r')" 3
	holds '.gc.unpaired | . == null or . == 0'
	holds '.gc.any_ns > 0 and .gc.any_ns <= .duration_ns'
	"$GCPROF" report | grep -F 'pauses of several threads overlap'
}

# Fibers have stacks of their own; each leads to that of its handler.
holds_fibers() {
	record -- ./effects 50000
	holds '.stacks.complete > 0.8'
	holds '.cpu.on_cpu_ns as $all | [.functions[] | {(.name): .cpu_total_ns}] | add |
		[to_entries[] | select(.key | test("Effects.(inner|handle|outer)_"))] |
		length == 3 and all(.value > 0.7 * $all)'
}

@test "long: other releases of OCaml" {
	local folder
	need_root
	cp "$PROGRAMS"/{promote,domains,effects}.ml .
	for folder in "$BUILD"/ocamls/*/; do
		[ -x "$folder/ocamlopt" ] || skip 'there are none'
		"$folder/ocamlopt" -version
		for program in promote domains effects; do
			"$folder/ocamlopt" $program.ml -o $program
		done
		strip promote domains
		"$folder/ocamlc" promote.ml -o bytecode
		export OCAMLRUNPARAM=v=0x440
		record -F 0 -- ./promote 2000
		holds_ocaml record.log
		record -F 0 -- "$folder/usr/bin/ocamlrun" bytecode 2000
		holds_ocaml record.log
		unset OCAMLRUNPARAM
		holds_domains
		holds_fibers
	done
}

# --- libgc, by Guile ---------------------------------------------------------------------------

@test "Guile: collections and the size of the heap are those of gc-stats" {
	local count size
	need guile
	export GUILE_AUTO_COMPILE=0
	record -F 0 -- guile "$PROGRAMS/lists.scm" 1000
	read -r count size < <(tail -n 1 out)
	same collections "$("$GCPROF" query --format csv 'SELECT count(*) FROM collections' | tail -n 1 | tr -d '\r')" "$count"
	"$GCPROF" query --format csv 'SELECT heap_size FROM collections ORDER BY start DESC LIMIT 1' >last.csv
	# It may have grown or given memory back since.
	awk -v size="$size" 'END { exit !($1 > 0.5 * size && $1 < 2 * size) }' last.csv
	holds '.gc.heap_peak_bytes > 1e6'
	"$GCPROF" report | grep -E '^ *runtime bdwgc [0-9.]+: no allocation samples'
}

@test "Guile: collections of a program that runs already" {
	need guile
	export GUILE_AUTO_COMPILE=0
	attach 10 guile "$PROGRAMS/lists.scm" 1000000000
	holds '[.gc.named[] | select(.name == "mark")][0].count > 3'
}

# --- PyPy ------------------------------------------------------------------------------------

# Each process of collect.py has the collections that its own hooks counted, and they took as long, but for the
# longest: a thread that has to wait for a CPU between both clocks is in one of them.
holds_pypy() { # OUTPUT
	local pid begin end minor minor_ns step step_ns used minor_most step_most
	[ "$(wc -l <"$1")" -eq 2 ]
	while read -r pid begin end minor minor_ns step step_ns used minor_most step_most; do
		[ "$minor" -ge 20 ] && [ "$step" -ge 20 ]
		"$GCPROF" query --format csv "SELECT collections.name, count(*), sum(duration_ns), max(duration_ns) FROM collections
			JOIN processes ON processes.id = process WHERE pid = $pid AND start BETWEEN $begin AND $end
			GROUP BY collections.name ORDER BY collections.name" | tr -d '\r' >counted
		same "collections of $pid" "$(tail -n +2 counted | cut -d, -f1,2 | xargs)" "major step,$step minor,$minor"
		awk -F, -v minor="$minor_ns $minor_most" -v step="$step_ns $step_most" '
			NR > 1 { split($1 == "minor" ? minor : step, by) }
			NR > 1 && ($3 < 0.7 * (by[1] - by[2]) || $3 - $4 > 1.1 * by[1]) { exit 1 }
			' counted || { cat counted "$1"; return 1; }
		same "heap of $pid" "$("$GCPROF" query --format csv "SELECT heap_after FROM collections
			JOIN processes ON processes.id = process WHERE pid = $pid AND collections.name = 'minor' AND start <= $end
			ORDER BY start DESC LIMIT 1" | tail -n 1 | tr -d '\r')" "$used"
	done <"$1"
	holds '.gc.unpaired | . == null or . == 0'
}

@test "PyPy: collections and the size of the heap are those of its hooks, also in what it forks" {
	local status=0
	need pypy3
	export PYPY_GC_NURSERY=1M
	"$GCPROF" record -F 0 --max-overhead 100 -- pypy3 "$PROGRAMS/collect.py" 0.2 >out 2>record.log || status=$?
	same status "$status" 3
	holds_pypy out
	absent gc-minor record.log
	"$GCPROF" report | tr -s '\n ' ' ' | grep -F 'runtime pypy: no allocation samples'
	record --runtime none -- pypy3 -c 'import gc; gc.collect()'
	holds '.streams.gc.attached | not'
}

@test "long: PyPy: collections of a program that runs already" {
	need pypy3
	PYPY_GC_NURSERY=1M attach 100 pypy3 "$PROGRAMS/collect.py" 1000
	holds '[.gc.named[] | {(.name): .count}] | add | .minor > 5 and .["major step"] > 5'
}

@test "PyPy: where it collects is found in code of another shape, and doctor says if it is not" {
	need_root
	gcc -O2 -rdynamic -s "$PROGRAMS/sections.c" -o sections
	"$GCPROF" doctor --json ./sections >doctor.json
	jq -e '.[0] | .runtime == "pypy" and .records.pauses and (.missing | contains("size of its heap"))' doctor.json
	record -F 0 -- ./sections
	holds '[.gc.named[] | {(.name): .count}] | add == {"minor": 3, "major step": 2}'
	gcc -O2 -rdynamic -s -DTWICE "$PROGRAMS/sections.c" -o sections
	"$GCPROF" doctor --json ./sections >doctor.json
	jq -e '.[0] | (.records.pauses | not) and (.missing | contains("where it collects is unknown"))' doctor.json
	jq -e '.[0].note | contains("PYPYLOG=gc:")' doctor.json
}
