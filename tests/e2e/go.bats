#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# go.bats: Go programs as they are: what they allocate, their collections, their variables.
# Parallel: no other recorder matters.

load common

setup_file() {
	[ "$(id -u)" = 0 ] && command -v go >/dev/null || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	export GO111MODULE=off GOFLAGS=
	go build -o objects "$BATS_TEST_DIRNAME/programs/objects.go"
	go build -ldflags='-s -w' -o stripped "$BATS_TEST_DIRNAME/programs/objects.go"
	go build -o goroutines "$BATS_TEST_DIRNAME/programs/goroutines.go"
	go build -buildmode=pie -ldflags='-s -w' -o heap "$BATS_TEST_DIRNAME/programs/heap.go"
	go build -buildmode=pie -ldflags='-s -w' -o goroutines-anywhere \
		"$BATS_TEST_DIRNAME/programs/goroutines.go"
	go build -buildmode=pie -ldflags='-s -w' -o anywhere "$BATS_TEST_DIRNAME/programs/objects.go"
	record -- ./goroutines 1
}

# The processes of recorders that are still there end, too.
setup() {
	need_root
	command -v go >/dev/null || skip 'there is no Go compiler'
	PROGRAMS=$BATS_FILE_TMPDIR
	cd "$BATS_TEST_TMPDIR" || return 1
	started=()
}

# 48 and 1024 bytes, so many times: within 2.4 halves of the intervals; one of 64 nodes is kept, and what
# is allocated while a collection marks survives it.
right_shares() { # TIMES
	holds "[.alloc.types[] | select(.name == \"main.node\")] | length == 1 and
		(.[0].bytes | (.estimate - 192 * $1 | fabs) < 1.2 * (.high - .low)) and
		.[0].survived < 0.5" &&
		holds "[.alloc.types[] | select(.name == \"uint8\")] | length == 1 and
			(.[0].bytes | (.estimate - 1024 * $1 | fabs) < 1.2 * (.high - .low))" &&
		# What the runtime itself allocates in a call is of the same place: it has no one type then.
		holds '.sites | any(.functions[0] == "main.makeNode" and (.type | IN("main.node", null))) and
			any(.functions[0] == "main.makeBytes" and (.type | IN("uint8", null)))'
}

@test "a program that was started has types, functions and deaths" {
	record -- "$PROGRAMS/objects" 400000
	right_shares 400000
	holds '[.alloc.types[] | select(.name == "uint8")][0] | .fates > 0.7 * .samples'
}

@test "long: a stripped one has them" {
	record -- "$PROGRAMS/stripped" 400000
	right_shares 400000
}

@test "a stripped one that is loaded anywhere has them" {
	record -- "$PROGRAMS/anywhere" 400000
	right_shares 400000
}

@test "doctor and reports say what there is, and what is missing" {
	"$GCPROF" doctor --json "$PROGRAMS/stripped" >doctor.json
	jq -e '.[0] | .runtime == "go" and (.missing | not) and (.note | test("16 bytes")) and
		(.records | [.samples, .freed, .pauses, .reasons, .sizes, .live, .cycles, .heap_profile] | all)' doctor.json
	"$GCPROF" report "$PROGRAMS/gcprof.data" | tr -s ' \n' '  ' | grep -F 'objects of less than 16 bytes'
}

@test "samples begin where the program allocates, also in stack dumps" {
	record --stack copy -- "$PROGRAMS/objects" 200000
	right_shares 200000
	holds '[.sites[] | select(any(.functions[]; . == "main.main")) | .functions[0]] |
		all(startswith("runtime.") | not)'
}

# The runtime's own functions may have names of other packages, such as reflect.unsafe_New.
@test "long: sites begin outside of the runtime, whatever its functions are called" {
	cat >reflects.go <<-'GO'
		package main

		import "reflect"

		var last reflect.Value

		func main() {
			for i := 0; i < 500000; i++ {
				last = reflect.New(reflect.TypeOf([20]int64{}))
			}
		}
	GO
	GO111MODULE=off go build reflects.go
	record -- ./reflects
	holds '.sites | any(.functions[:2] == ["reflect.New", "main.main"]) and
		all(.functions[0] | startswith("reflect.unsafe_") | not)'
}

@test "one that a shell starts has them from when its sampler was switched on" {
	record -- sh -c "cd $PROGRAMS && ./stripped 400000 524289; true"
	right_shares 400000
}

@test "cycles and stops are those of gctrace" {
	GODEBUG=gctrace=1 record -- "$PROGRAMS/stripped" 100000
	traced=$(grep -c '^gc [0-9]' record.log)
	awk '/^gc [0-9]/ {
		for (i = 1; $i != "ms"; i++);
		split($(i - 1), part, "+"); print part[1] "\n" part[3]
	}' record.log >stopped
	"$GCPROF" dump gcprof.data >records
	cycles=$(jq -s '[.[] | select(.record == "gc_cycle" and .unfinished == 0)] | length' records)
	# The program may end between the end of a cycle and its line.
	[ "$cycles" = "$traced" ] || same cycles "$cycles" $((traced + 1))
	jq -s --slurpfile stopped stopped '
		[.[] | select(.record == "gc_begin").time] as $begins |
		[.[] | select(.record == "gc_end").time] as $ends |
		{begins: ($begins | length), ends: ($ends | length), right: ([range($stopped | length) |
			(($ends[.] - $begins[.]) / 1e6) as $ms | $stopped[.] |
			select($ms > 0.95 * . - 0.005 and $ms < 1.25 * . + 0.05)] | length)}' records >pauses
	cat pauses
	# Each cycle has two; a third is of one that was under way at the end. The program may end in one.
	# A thread may be kept from its CPU between both clocks: on a busy machine in a quarter of them.
	jq -e --argjson cycles "$cycles" '(.begins == .ends or .begins == .ends + 1) and .begins >= 2 * $cycles and
		.begins <= 2 * $cycles + 2 and .right > 0.5 * 2 * $cycles' pauses
	# MiB at the begin, at the end and reachable: 4->5->1 MB.
	jq -r 'select(.record == "gc_cycle" and .unfinished == 0) |
		[.heap_before, .heap_after, .live | . / 1048576 | floor] | join("->")' records >sizes
	grep '^gc [0-9]' record.log | grep -oE -- '[0-9]+->[0-9]+->[0-9]+ MB,' | tr -dc '0-9>\n-' >traced
	head -n "$traced" sizes >known
	# Threads allocate until they are stopped, and trace the begin a little later.
	cut -d '>' -f 2- known | diff <(cut -d '>' -f 2- traced) -
	# The last may be the one that the program ended in.
	"$GCPROF" report --json gcprof.data | jq -e --slurpfile pauses pauses '$pauses[0] as {$begins, $ends} |
		[.gc.cycles.rows[] | select(.unfinished | not).pauses] |
		(.[:-1] | all(. == 2)) and .[-1] >= 2 - ($begins - $ends) and .[-1] <= 2'
	jq -s -e '[.[] | select(.record == "gc_cycle")] | any(.heap_after > .live)' records
	jq -s -e '[.[] | select(.record == "gc_cycle")] | all(.heap_before > 1e6)' records
	# Firefox has counters and graphs of them.
	"$GCPROF" export -o - gcprof.data 2>/dev/null | zcat >firefox.json
	jq -e '[.threads[].markers.data[] | select(.type == "GcprofCycle" or .kind == "stop for a collection")] |
		length > 2 and all(.gcReason != "unknown") and (map(select(.causedBy)) | length) >= length / 2' firefox.json
	jq -c '[.counters[] | .display.label]' firefox.json >labels
	same counters "$(cat labels)" '["Heap used","RSS","Allocation rate"]'
	same highest "$(jq '[.threads[].markers.data[] | .used // 0] | max' firefox.json)" \
		"$(jq -s '[.[] | select(.record == "gc_cycle") | .heap_before, .heap_after] | max' records)"
}

# Rows of what was recorded, without a heading.
rows() { # SQL
	"$GCPROF" query --format csv "$1" | tail -n +2
}

# The linker leaves out what such a program does not call, as functions that stop it for others.
@test "long: a program that imports nothing has its pauses" {
	cat >plain.go <<'END'
package main

type node struct {
	left, right *node
	room        [48]byte
}

func build(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{left: build(depth - 1), right: build(depth - 1)}
}

func main() {
	for i := 0; i < 300; i++ {
		build(13)
	}
}
END
	GO111MODULE=off go build -ldflags='-s -w' -o plain plain.go
	GODEBUG=gctrace=1 record -- ./plain
	cycles=$(grep -c '^gc .* @' record.log)
	# The program may end in another cycle.
	holds ".gc.major.count >= 2 * $cycles and .gc.major.count <= 2 * $cycles + 3 and $cycles > 20"
}

@test "long: cycles say how they are paced, also when the program changes that" {
	GO111MODULE=off go build -o pacing "$BATS_TEST_DIRNAME/programs/pacing.go"
	GOGC=50 record -- ./pacing
	# A cycle may end between both changes, of GOGC and of the limit.
	"$GCPROF" report --json gcprof.data | jq -c '[.gc.cycles.rows[] | select(.unfinished | not) |
		[.growth_percent, .limit_bytes]] | unique - [[4294967295, null]]' >paces
	same paces "$(cat paces)" '[[50,null],[300,null],[4294967295,33554432]]'
	same rows "$(rows 'SELECT DISTINCT growth_percent FROM gc_cycles
		WHERE finish IS NOT NULL ORDER BY start' | xargs)" '50 300 4294967295'
}

# The program asks for three collections, which gctrace calls forced.
@test "long: cycles have the causes that gctrace has, and stops their reasons" {
	GODEBUG=gctrace=1 "$GCPROF" record -- "$PROGRAMS/heap" heap.pb 2>record.log &
	started=($!)
	wait_until test -e heap.pb.done
	pkill -P "${started[0]}" -x heap
	wait "${started[0]}" || true
	rows 'SELECT reason FROM gc_cycles WHERE finish IS NOT NULL ORDER BY start' >causes
	grep '^gc [0-9]' record.log | sed 's/.*(forced)$/runtime.GC()/; t; s/.*/heap size/' >traced
	# If one is asked for before the line of the one before is printed, that line says so, too.
	diff traced causes >differ || cat differ
	[ "$(grep -c '^[<>]' differ)" -le 2 ]
	[ "$(grep -c 'GC()' causes)" -ge 2 ]
	# Numbers are their reasons since 1.21, before, texts.
	rows "SELECT DISTINCT name FROM collections ORDER BY name" >stops
	printf '%s\n' 'mark termination' 'read mem stats' 'sweep termination' |
		if go version | grep -q 'go1\.\(19\|20\)'; then cat; else sed 's/read mem stats/ReadMemStats/' | sort; fi |
		diff - stops
}

# The goroutines that were seen with a function on their stacks.
seen_in() { # TABLE FUNCTION
	rows "WITH RECURSIVE found(id) AS (SELECT s.id FROM stacks s JOIN functions f
		ON f.id = s.function WHERE f.name = '$2'
		UNION SELECT s.id FROM stacks s JOIN found ON s.parent = found.id)
		SELECT DISTINCT fiber FROM $1 WHERE fiber IS NOT NULL AND stack IN found
		ORDER BY fiber"
}

printed() { # FUNCTION
	awk -v name="$1" '$1 == name {print $2}' printed | sort -n
}

right_goroutines() {
	for name in compute allocate write; do
		echo "$name"
		[ "$(printed "$name" | wc -l)" = 3 ]
	done
	diff <(printed compute) <(seen_in ticks main.compute | grep -xFf <(printed compute))
	[ -z "$(seen_in ticks main.compute | grep -vxFf <(printed compute; printed write))" ]
	diff <(printed allocate) <(seen_in samples main.allocate)
	diff <(printed write) <(rows "SELECT fiber FROM syscalls
		WHERE name = 'write' AND fiber GROUP BY fiber HAVING count(*) > 9 ORDER BY fiber")
	holds '[.entries[] | select(.name == "main.main.func1")] | length == 1 and .[0].fibers == 9'
}

# What setup_file() has recorded.
recorded_goroutines() {
	cp "$PROGRAMS/gcprof.data" .
	cp "$PROGRAMS/out" printed
}

@test "goroutines are those that the program knows" {
	recorded_goroutines
	right_goroutines
}

@test "long: goroutines of a stripped program that is loaded anywhere and was there before" {
	"$PROGRAMS/goroutines-anywhere" 1000 >printed &
	started=($!)
	wait_busy "$!"
	record_until cpu 1000 -p "${started[0]}"
	right_goroutines
}

@test "long: goroutines of a program with C code are those that it knows" {
	command -v gcc >/dev/null || skip 'there is no C compiler'
	(cd "$BATS_TEST_TMPDIR" && mkdir c && cp "$BATS_TEST_DIRNAME/programs/goroutines.go" c &&
		printf '%s\n' 'package main' '// static __thread int many[100];' \
			'// int count(int i) { return many[i]++; }' 'import "C"' \
			'func init() { C.count(1) }' >c/thread.go && cd c && go build -o ../mixed .)
	record -- ./mixed 0.5
	mv out printed
	right_goroutines
}

# What C code calls in Go goes on where the goroutine called C.
@test "stacks of Go that C called begin where the program does" {
	command -v gcc >/dev/null || skip 'there is no C compiler'
	mkdir c
	cat >c/back.go <<'END'
package main

// extern void back(void);
// static void call(void) { back(); }
import "C"

var keep [][]byte

//export back
func back() {
	for i := 0; i < 1000; i++ {
		keep = append(keep, make([]byte, 100000))
	}
}

func main() { C.call() }
END
	(cd c && go build -o ../back back.go)
	record -- ./back
	rows "WITH RECURSIVE up(sample, id) AS (SELECT id, stack FROM samples
		UNION SELECT sample, s.parent FROM up JOIN stacks s ON s.id = up.id WHERE s.parent)
		SELECT max(f.name = 'main.back') back, max(f.name = 'main.main'),
		max(f.name LIKE 'runtime.systemstack_switch%'), max(f.name = 'runtime.mcall')
		FROM up JOIN stacks s ON s.id = up.id JOIN functions f ON f.id = s.function
		GROUP BY sample HAVING back" | sort | uniq -c | sort -rn >stacks
	cat stacks
	# The first may end in the C code, while a busy machine reads its files: no other callers are made up.
	sed -n 1p stacks | grep -q ' 1,1,1,0$'
	[ "$(sed 1d stacks | grep -cv ' 1,0,0,0$')" = 0 ]
}

# Of calls long enough for a stack: those without a goroutine, and how many have one.
# Since goroutines were known: on a busy machine, that may be a while after the program's start.
long_calls() { # CONDITION
	rows "SELECT count(*), count(stack) FROM syscalls WHERE duration_ns >= 10000 AND $1
		AND start > (SELECT min(start) FROM syscalls WHERE fiber)
		AND name IN ('futex', 'epoll_pwait', 'nanosleep', 'write', 'read')"
}

@test "threads that wait for work have no stacks, unless they are asked for" {
	recorded_goroutines
	long_calls 'fiber IS NULL' | awk -F, '{print; ok = $1 > 20 && $2 < 0.1 * $1} END {exit !ok}'
	long_calls 'fiber' | awk -F, '{print; ok = $1 > 0 && $2 == $1} END {exit !ok}'
	record --syscall-stacks -- "$PROGRAMS/goroutines" 0.5
	long_calls 'fiber IS NULL' | awk -F, '{print; ok = $1 > 20 && $2 == $1} END {exit !ok}'
}

@test "one goroutine can be selected" {
	recorded_goroutines
	one=$(printed allocate | head -n 1)
	"$GCPROF" report --json --filter "fiber=$one" >one.json
	jq -e '.entries | all(.fibers <= 1)' one.json
	jq -e "$(rows "SELECT count(*) FROM samples WHERE fiber = $one") == .alloc.samples" one.json
}

# A variable of a program that is running.
variable() { # PID SYMBOL BYTES
	memory "$1" "$((0x$(nm "$PROGRAMS/objects" | awk -v s="$2" '$3 == s {print $1}')))" "$3"
}

is_rate() { # PID PATTERN
	# shellcheck disable=SC2053
	[[ $(variable "$1" runtime.MemProfileRate 8) = $2 ]]
}

OFF=0000000000000000
GOS=0000080000000000  # 512 KiB
OURS='01????0000000000' # and 1; on a fast machine a multiple of it, to limit the cost
FINE=0100010000000000 # 64 KiB + 1

start() {
	"$PROGRAMS/objects" &
	started=($!)
	wait_busy "$!"
	wait_until is_rate "$!" $OFF
}

@test "a running one takes samples while it is recorded, and no longer" {
	start
	record_until alloc 300 -p "${started[0]}"
	holds '.alloc.types | any(.name == "main.node")'
	is_rate "${started[0]}" $OFF
	# Go gives its programs no GNU build-id: the file is identified by what it is now.
	"$GCPROF" dump gcprof.data | jq -es --argjson inode "$(stat -c %i "$PROGRAMS/objects")" \
		--argjson size "$(stat -c %s "$PROGRAMS/objects")" --argjson s "$(stat -c %Z "$PROGRAMS/objects")" \
		'any(.[]; .record == "module" and .inode == $inode and .build_id == "" and
			.size == $size and (.changed / 1e9 | floor) == $s)'
}

is_switched_off() { # PID
	[ "$(variable "$1" runtime.disableMemoryProfiling 1)" = 01 ]
}

@test "long: a recorder that is killed leaves no setting in a program, attached or started" {
	start
	"$GCPROF" record -R 64K -p "${started[0]}" 2>record.log &
	started+=($!)
	wait_until is_rate "${started[0]}" $FINE
	kill -KILL "${started[1]}"
	wait_until is_rate "${started[0]}" $OFF
	"$GCPROF" record -o killed.data -- "$PROGRAMS/objects" >/dev/null 2>killed.log &
	recorder=$!
	started+=("$recorder")
	wait_until pgrep -P "$recorder" -x objects
	program=$(pgrep -P "$recorder" -x objects)
	started+=("$program")
	wait_until is_rate "$program" $GOS
	kill -KILL "$recorder"
	wait_until is_rate "$program" $OFF
	wait_until is_switched_off "$program"
}

@test "what a killed recorder left is put back by the next one" {
	start
	"$GCPROF" record -p "${started[0]}" 2>record.log &
	started+=($!)
	wait_until is_rate "${started[0]}" $OURS
	kill_with_openers "${started[1]}"
	is_rate "${started[0]}" $OURS
	record_until alloc 1 --no-writes -p "${started[0]}"
	holds '.alloc.samples > 0'
	absent 'no allocation samples' record.log
	record_until alloc 300 -p "${started[0]}"
	holds '.alloc.types | any(.name == "main.node")'
	is_rate "${started[0]}" $OFF
}

@test "long: what a killed recorder left in a program that it had started is put back by the next one" {
	"$GCPROF" record -o killed.data -- "$PROGRAMS/objects" >/dev/null 2>killed.log &
	recorder=$!
	started=("$recorder")
	wait_until pgrep -P "$recorder" -x objects
	program=$(pgrep -P "$recorder" -x objects)
	started+=("$program")
	wait_busy "$program"
	kill_with_openers "$recorder"
	is_rate "$program" $GOS
	record_until alloc 300 -p "$program"
	holds '.alloc.types | any(.name == "main.node")'
	is_rate "$program" $OFF
	same switch "$(variable "$program" runtime.disableMemoryProfiling 1)" 01
}

# Processes so short that the reader has not seen the file before most of them have ended: it would, if
# an argument were its path. The runtime's first function has a table of 8 KiB on its stack, above which
# nothing is walked.
@test "processes that a shell starts have whole stacks from the first sample on" {
	record -- sh -c "cd $PROGRAMS && for i in 1 2 3 4 5 6 7 8; do ./stripped 10000; done"
	rows "WITH t AS (SELECT p.id, t.quality, row_number() OVER (PARTITION BY p.id ORDER BY t.id) n
		FROM ticks t JOIN processes p ON p.id = t.process WHERE p.name = 'stripped' AND
		t.time > (SELECT max(time) FROM markers m WHERE m.kind = 'exec' AND m.process = p.id))
		SELECT count(DISTINCT id), count(*), sum(quality != 0), sum(quality = 0 AND n < 4)
		FROM t" >ticks
	cat ticks
	awk -F, '{ok = $1 >= 7 && $2 > 24 && $3 <= 0.1 * $2 && $4 >= 12} END {exit !ok}' ticks
}

# What systemstack runs belongs to the goroutine: gcDrain, there, to workers of the collector only.
@test "stacks go on where a goroutine has left its own" {
	record -- "$PROGRAMS/stripped" 800000
	holds '([.functions[] | select(.name == "runtime.gcDrain").cpu_total_ns] | add) as $drain |
		([.entries[] | select(.name == "runtime.gcBgMarkWorker").cpu_ns] | add) as $workers |
		$drain > 1e7 and $workers > 0.9 * $drain'
	holds '[.entries[] | select(.name == "main.main")][0].cpu_ns as $main |
		[.entries[] | select(.name | test("^(runtime.systemstack|runtime.nanotime1|runtime.sig|time)")) |
		.cpu_ns] | (add // 0) < 0.05 * $main'
}

@test "long: -R changes how many samples there are, and no sum" {
	record -R 64K -- "$PROGRAMS/objects" 200000 65537
	right_shares 200000
	# 1216 bytes each time.
	holds '.alloc.samples / (1216 * 200000 / 65536) | . > 0.85 and . < 1.15'
	record -R 2M -- "$PROGRAMS/objects" 600000 2097153
	right_shares 600000
	holds '.alloc.samples < 0.6 * 1216 * 600000 / 524288'
}

@test "long: -R reaches a running program, and what a killed recorder left of it is put back" {
	start
	record_until alloc 300 -R 64K -p "${started[0]}"
	"$GCPROF" dump | jq -s -e '[.[] | select(.record == "alloc").period] | unique == [65537]'
	is_rate "${started[0]}" $OFF
	"$GCPROF" record -R 64K -p "${started[0]}" 2>record.log &
	started+=($!)
	wait_until is_rate "${started[0]}" $FINE
	kill_with_openers "${started[1]}"
	is_rate "${started[0]}" $FINE
	record -p "${started[0]}" --duration 1s
	is_rate "${started[0]}" $OFF
}

@test "long: more samples than the ceiling make them rarer, and change no sum" {
	record --ceiling 200 -- "$PROGRAMS/objects" 1200000
	right_shares 1200000
	"$GCPROF" dump | jq -s -e '[.[] | select(.record == "alloc").period] | min == 524288 and max >= 2 * 524288'
	holds '.alloc.period_changes > 0 and .alloc.samples < 0.9 * 1216 * 1200000 / 524288'
}

# At the full rate, 4864 MB would have 5000 samples or more.
@test "long: where samples cost too much there are fewer after the first thousand, and no sum changes" {
	record --max-overhead 0.5 -- "$PROGRAMS/objects" 4000000
	right_shares 4000000
	holds '.alloc.period_changes > 0 and .alloc.samples > 1000 and .alloc.samples < 4500'
}

# Its linker has left the sampler on, and the program has set a period.
@test "long: a program that samples for itself keeps its period, also when a recorder is killed" {
	go build -o own "$BATS_TEST_DIRNAME/programs/heap.go"
	./own heap.pb &
	started=($!)
	wait_until test -e heap.pb.done
	address=$((0x$(nm own | awk '$3 == "runtime.MemProfileRate" {print $1}')))
	record -R 16K -p "${started[0]}" --duration 1s
	grep -F 'samples its allocations for itself, every 65536 bytes: -R does not change that' record.log
	absent 'control block' record.log
	same period "$(memory "${started[0]}" $address 8)" 0000010000000000
	"$GCPROF" record -v -R 16K -p "${started[0]}" 2>killed.log &
	started+=($!)
	wait_until grep -F 'samples its allocations for itself' killed.log
	kill -KILL "${started[1]}"
	wait "${started[1]}" || true
	same period "$(memory "${started[0]}" $address 8)" 0000010000000000
	record -p "${started[0]}" --duration 1s
	same period "$(memory "${started[0]}" $address 8)" 0000010000000000
}

has_sample_behind() { # TIME FILE
	"$GCPROF" dump "$2" 2>/dev/null | jq -e -s "any(.record == \"alloc\" and .time > $1)" >/dev/null
}

@test "long: a recorder that ends takes the samples of another one away for a moment only" {
	start
	"$GCPROF" record -o first.data -p "${started[0]}" 2>first.log &
	first=$!
	started+=("$first")
	wait_until is_rate "${started[0]}" $OURS
	record_until alloc 100 -p "${started[0]}"
	absent 'another gcprof may be recording' record.log
	ended=$("$GCPROF" dump | jq -s '[.[].time // 0] | max')
	wait_until is_rate "${started[0]}" $OURS
	wait_until has_sample_behind "$ended" first.data
	kill -INT "$first"
	wait "$first"
	is_rate "${started[0]}" $OFF
}

@test "one that outlives its recording is as it was" {
	record_until alloc 300 -- "$PROGRAMS/objects"
	started=("$("$GCPROF" dump | jq -s '[.[] | select(.record == "process").pid][0]')")
	holds '.alloc.types | any(.name == "main.node")'
	is_rate "${started[0]}" $OFF
	same switch "$(variable "${started[0]}" runtime.disableMemoryProfiling 1)" 01
}

@test "--no-writes leaves programs as they are, and says what is missing" {
	record --no-writes -- "$PROGRAMS/objects" 100000
	grep -F 'no-writes forbids to switch it on: no allocation samples' record.log
	holds '.alloc.samples == 0'
	"$GCPROF" dump gcprof.data | grep -F '"record":"gc_cycle"' >/dev/null
	start
	"$GCPROF" record --no-writes -p "${started[0]}" 2>record.log &
	started+=($!)
	wait_until grep -F 'no-writes forbids' record.log
	is_rate "${started[0]}" $OFF
}

# Bytes in use that functions allocated, by a profile.
in_use() { # PATTERN PROFILE
	go tool pprof -unit=bytes -sample_index=inuse_space -nodefraction=0 -top "$PROGRAMS/heap" \
		"$2" 2>/dev/null | awk -v pattern="$1" '$NF ~ pattern {sub(/B$/, "", $1); sum += $1}
		END {print sum + 0}'
}

@test "what is alive is what the program's own heap profile says, without writing to it" {
	"$PROGRAMS/heap" heap.pb &
	started=($!)
	wait_until test -e heap.pb.done
	record --no-writes -p "${started[0]}" --duration 1s
	holds '.live_heap | length >= 2'
	for name in keepSmall keepLarge; do
		bytes=$(in_use "main.$name\$" heap.pb.done)
		[ "$bytes" -gt 10000000 ]
		holds ".live_heap[] | select(.name == \"main.$name\") |
			(.bytes - $bytes | fabs) < 10 and .before_bytes == .bytes and
			.bytes_low < .bytes and .bytes_high > .bytes and .bytes_high < 2 * .bytes"
	done
	holds '.live_heap | all(.name != "main.drop")'
	# The export says so, too, but for what Go does not round.
	"$GCPROF" export -f pprof -o own.pb.gz
	for name in keepSmall keepLarge; do
		more=$(($(in_use "main.$name\$" own.pb.gz) - $(in_use "main.$name\$" heap.pb.done)))
		[ "$more" -ge 0 ] && [ "$more" -le 10 ]
	done
	"$GCPROF" report --json --filter function=main.keepSmall >small.json
	jq -e '[.live_heap[].name] == ["main.keepSmall"]' small.json
	# Half of a byte for each place is rounded away.
	sum=$(in_use . heap.pb.done)
	[ "$(rows 'SELECT count(DISTINCT time) FROM heap_sites')" = 2 ]
	more=$(($(rows 'SELECT CAST(sum(bytes) AS INTEGER) FROM heap_sites
		WHERE time = (SELECT max(time) FROM heap_sites)') - sum))
	echo "$sum bytes alive, and $more more"
	[ "${more#-}" -lt 100 ]
}
