#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# export.bats: exports of real recordings are valid and say what the report says.
# Parallel: no other recorder matters.

load common

# Waits are samples of their own: what adds up CPU time has none.
setup_file() {
	[ "$(id -u)" = 0 ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	build=$(cd "$root" && realpath "${BUILD_DIR:-build}")
	"$build/gcprof" record --no-off-cpu --max-overhead off -o known.data -R 64K -- "$build/workloads/known" --burn-ms 300 >/dev/null 2>known.log
	"$build/gcprof" record --no-off-cpu -o lisp.data -- "$build/workloads/lisp" \
		"$root/tests/workloads/lisp/tree.lisp" >/dev/null 2>lisp.log
	for name in known lisp; do
		"$build/gcprof" report --json "$name.data" >"$name.report"
		"$build/gcprof" export "$name.data" 2>"$name.firefox.log"
		zcat "$name.data.json.gz" >"$name.json"
		"$build/gcprof" export -f pprof "$name.data" 2>"$name.pprof.log"
		zcat "$name.data.pb.gz" | protoc --decode=perftools.profiles.Profile \
			--proto_path="$root/userspace/export/pprof" profile.proto >"$name.pprof"
	done
}

setup() {
	need_root
	cd "$BATS_FILE_TMPDIR" || return 1
}

# Fails unless two numbers differ by a thousandth at most.
near() { # WHAT LEFT RIGHT
	awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; m = b < 0 ? -b : b; exit !(d * d <= m * m / 1e6 + 4) }' && return 0
	echo "$1: $2, not $3"
	return 1
}

folded_sum() { # FILE MEASURE
	"$GCPROF" export -f folded --by "$2" -o - "$1" | awk '{ sum += $NF } END { printf "%.0f\n", sum }'
}

@test "Firefox exports have no fault that the checker knows" {
	for name in known lisp; do
		run jq -r -f "$ROOT/tests/e2e/firefox.jq" "$name.json"
		same "$name" "$output" ""
	done
}

# One run of jq for all rows: prints those of which the checker does not say what it should.
unnoticed() { # ROWS PROFILE
	{
		sed '/^\. as \$root |$/,$d' "$ROOT/tests/e2e/firefox.jq"
		echo '. as $sound | ('
		awk -F ' :: ' '{ printf "%s[%d, ($sound | %s)]", (NR > 1 ? ",\n" : ""), NR - 1, $2 }' "$1"
		echo ') as [$row, $broken] | $rows[$row] as [$trap, $change, $wanted] | [$broken | (try ('
		sed -n '/^\. as \$root |$/,$p' "$ROOT/tests/e2e/firefox.jq"
		echo ') catch "the checker fails: \(.)")] | select(any(contains($wanted)) | not) | [$trap, $wanted, .[:3]] | tostring'
	} >traps.jq
	jq -r --argjson rows "$(jq -R 'split(" :: ")' "$1" | jq -s .)" -f traps.jq "$2"
}

@test "the checker finds what is broken" {
	"$GCPROF" record -o traps.data --faults -F 4999 -R 128K -- "$WORKLOADS/churn" --bytes 32M >/dev/null 2>traps.log
	"$GCPROF" export -o - traps.data 2>/dev/null | zcat >traps.json
	same sound "$(jq -r -f "$ROOT/tests/e2e/firefox.jq" traps.json)" ""
	grep ' :: ' "$ROOT/tests/e2e/firefox.traps" >rows
	[ "$(wc -l <rows)" -gt 50 ]
	unnoticed rows traps.json >unnoticed
	same unnoticed "$(cat unnoticed)" ""
	echo 'nothing at all :: . :: a fault' >rows
	unnoticed rows traps.json >unnoticed
	grep -q 'nothing at all' unnoticed
}

@test "CPU time is the report's everywhere" {
	for name in known lisp; do
		wanted=$(jq '.cpu | .on_cpu_ns - .recording_ns' "$name.report")
		near "$name firefox" "$(jq '[.threads[].samples | select(.weightType == "tracing-ms") |
			.weight[]] | add * 1e6' "$name.json")" "$wanted"
		near "$name pprof" "$(pprof_sum "$name.pprof" cpu)" "$wanted"
		near "$name folded" "$(folded_sum "$name.data" cpu)" "$wanted"
	done
}

# Sums over the rows of the graph of each thread that had at least 20 ms, and what the report says.
graphs() { # NAME
	jq -r --slurpfile report "$1.report" '.threads[] | select(.samples.weightType == "tracing-ms") | . as $thread |
		($report[0].threads[] | select(.tid == $thread.tid) | .cpu_ns) as $wanted | select($wanted > 2e7) |
		"\(.tid) \(.samples.threadCPUDelta | add) \($wanted)"' "$1.json"
}

@test "activity graphs hold the CPU time of each thread, and none that is of no thread" {
	"$GCPROF" record --off-cpu --faults -o off.data -- sh -c '"$0" --burn-ms 100; :' "$WORKLOADS/known" >/dev/null 2>off.log
	"$GCPROF" report --json off.data >off.report
	"$GCPROF" export -o - off.data 2>/dev/null | zcat >off.json
	# The shell was there first, but does nothing.
	same "first process" "$(jq -r '.threads[0].name' off.json)" known
	same "page faults" "$(jq -r '[.threads[.meta.initialVisibleThreads[]]] | map(select(.name == "Page faults") | .processName)[]' off.json)" known
	for name in known lisp off; do
		graphs "$name" >sums
		cat sums
		awk '$2 < 0.99 * $3 || $2 > 1.01 * $3 { exit 1 } END { exit NR < 1 }' sums
		same "$name others" "$(jq -c '[.threads[].samples | select(.weightType != "tracing-ms") | .threadCPUDelta]
			| unique' "$name.json")" "[null]"
	done
}

@test "allocated bytes are the report's everywhere" {
	for name in known lisp; do
		wanted=$(jq .alloc.bytes.estimate "$name.report")
		near "$name firefox" "$(jq '[.threads[].samples | select(.weightType == "bytes") |
			.weight[]] | add' "$name.json")" "$wanted"
		near "$name native" "$(jq '[.threads[].nativeAllocations // empty |
			.weight[] | select(. > 0)] | add' "$name.json")" "$wanted"
		near "$name pprof" "$(pprof_sum "$name.pprof" alloc_space)" "$wanted"
		near "$name folded" "$(folded_sum "$name.data" bytes)" "$wanted"
		near "$name objects" "$(pprof_sum "$name.pprof" alloc_objects)" "$(jq .alloc.objects.estimate "$name.report")"
		near "$name in use" "$(pprof_sum "$name.pprof" inuse_space)" "$(jq '[.alloc.types[].live_bytes] | add' "$name.report")"
	done
}

@test "bytes of each type are the report's" {
	for name in known lisp; do
		# A sample's stack ends in what became of the object; above it stands the type.
		jq '.shared as $s | ($s.stackTable | [.frame, .prefixOffset] | transpose) as $stacks |
			reduce (.threads[].samples | select(.weightType == "bytes") | [.stack, .weight] | transpose[]) as [$tip, $bytes]
			({}; $s.frameTable.func[$stacks[$tip - $stacks[$tip][1]][0]] as $func |
			 .[$s.stringArray[$s.funcTable.name[$func]]] += $bytes)' "$name.json" >types
		while IFS=$'\t' read -r type bytes; do
			near "$name $type" "$(jq --arg type "$type" '.[$type]' types)" "$bytes"
		done < <(jq -r '.alloc.types[] | [.name, .bytes.estimate] | @tsv' "$name.report")
	done
}

@test "collections are the report's everywhere" {
	for name in known lisp; do
		# On a busy machine short ones come as sums.
		near "$name count" "$(jq '[.threads[].markers.data[] |
			select(.type == "GcprofCollection" or .type == "GcprofCollections") |
			select(.kind == "minor") | .count // 1] | add' "$name.json")" \
			"$(jq .gc.minor.count "$name.report")"
		wanted=$(jq '.gc.minor.total_ns + .gc.major.total_ns' "$name.report")
		near "$name pauses" "$(jq '[.threads[].markers.data[] |
			select(.type == "GcprofCollection" or .type == "GcprofCollections") |
			.pause] | add * 1e6' "$name.json")" "$wanted"
		# What is charged is the CPU time of collectors.
		wanted=$(jq .cpu.collector_ns "$name.report")
		near "$name pprof" "$(pprof_sum "$name.pprof" gc_time)" "$wanted"
		near "$name folded" "$(folded_sum "$name.data" gc)" "$wanted"
	done
}

@test "collections say in Firefox whose allocations caused them, with a stack; the longest what the report says" {
	for name in known lisp; do
		jq -c '.shared as $s | ($s.stackTable | [.frame, .prefixOffset] | transpose) as $stacks |
			[.threads[].markers.data[] | select(.causedBy) | [.cycle, .causedBy,
			 $s.stringArray[$s.funcTable.name[$s.frameTable.func[$stacks[.cause.stack][0]]]]]] | sort' \
			"$name.json" >caused
		jq -c '[.pauses[] | select(.sites != []) | .sites[0] as $first | [.cycle, $first.type, $first.functions[0]]] |
			sort' "$name.report" >wanted
		cat caused wanted
		# Each begins with the share, the type and the function of the first, where its stack ends.
		jq -n -e --slurpfile caused caused --slurpfile wanted wanted '$wanted[0] as $wanted | $caused[0] |
			($wanted | length > 2) and ($wanted | all(. as $w | any($caused[0][]; .[0] == $w[0] and .[2] == $w[2] and
				(.[1] | sub("^[0-9]+ % "; "") | startswith("\($w[1]) of \($w[2])")))))'
		# All of them, but for those before the first sample.
		jq -e '[.threads[].markers.data[] | select(.type == "GcprofCollection" and .kind != "stop")] |
			(map(select(.causedBy)) | length) as $caused | [length, $caused] | debug | $caused > 0.8 * .[0]' "$name.json"
	done
}

@test "every recorded system call is a marker with its name" {
	same calls "$(jq '[.threads[].markers.data[] | select(.type == "GcprofSyscall")] | length' known.json)" \
		"$(jq .streams.syscall.events known.report)"
	run jq '[.threads[].markers | [.name, .data] | transpose[] | select(.[1].type == "GcprofSyscall") |
		.[0]] as $names | .shared.stringArray as $strings |
		[$names[] | select($strings[.] == "nanosleep")] | length' known.json
	same nanosleep "$output" "$(jq '.syscalls[] | select(.name == "nanosleep") | .count' known.report)"
}

@test "an export that is too large is thinned out, and that is said" {
	"$GCPROF" export --max-size 600K -o small.json.gz known.data 2>small.log
	zcat small.json.gz >small.json
	[ "$(wc -c <small.json)" -le 614400 ]
	grep -q 'of .* system calls are shown' small.log
	run jq -r -f "$ROOT/tests/e2e/firefox.jq" small.json
	same faults "$output" ""
}

@test "a Perfetto trace that is too large has only the longest system calls, or is refused" {
	"$GCPROF" export -f perfetto -o all.trace known.data
	local size
	size=$(stat -c %s all.trace)
	"$GCPROF" export -f perfetto --max-size "$((size - size / 10))" -o small.trace known.data 2>small.log
	[ "$(stat -c %s small.trace)" -le "$((size - size / 10))" ]
	[ "$(stat -c %s small.trace)" -gt "$((size / 3))" ]
	grep -qE '[0-9]+ of [0-9]+ system calls are shown, the longest' small.log
	# As large as it is, nothing is left out.
	"$GCPROF" export -f perfetto --max-size "$size" -o same.trace known.data 2>same.log
	cmp all.trace same.trace
	absent 'are shown' same.log
	run "$GCPROF" export -f perfetto --max-size 64K -o none.trace known.data
	same status "$status" 1
	[[ $output == *'too large for --max-size even without system calls'* ]]
	[ ! -e none.trace ]
	run "$GCPROF" export -f folded --max-size 1M known.data
	same "no limit" "$status" 2
	[[ $output == *'the format folded always has everything'* ]]
}

@test "outputs go where they are sent" {
	"$GCPROF" export -f folded -o - known.data >one 2>log
	same "standard error" "$(cat log)" ""
	"$GCPROF" export -f folded known.data
	cmp one known.data.folded
	"$GCPROF" export -f list | grep -q '^pprof '
	cp known.data copy.data
	run "$GCPROF" export -o copy.data copy.data
	same "onto the profile" "$status" 2
	cmp copy.data known.data
	ln -sf /etc/passwd trap
	run "$GCPROF" export -o trap known.data
	same "through a link" "$status" 1
	run "$GCPROF" export -f folded -o /nonexistent/x known.data
	same "no such folder" "$status" 1
	run "$GCPROF" export -f folded -o /dev/full known.data
	same "full disk" "$status" 1
	"$GCPROF" export -f folded -o - known.data | head -n 1 >/dev/null
}

@test "mistakes are told apart" {
	run "$GCPROF" export -f xml known.data
	same "no such format" "$status" 2
	run "$GCPROF" export --by bytes known.data
	same "no such measure" "$status" 2
	run "$GCPROF" export -f folded --by size known.data
	same "no such measure" "$status" 2
	run "$GCPROF" export missing.data
	same "no such file" "$status" 1
	[[ $output == *'no such file'* ]]
	[ ! -e missing.data.json.gz ]
	echo hello >text.data
	run "$GCPROF" export text.data
	same "no profile" "$status" 1
	[[ $output == *'not a profile'* ]]
	[ ! -e text.data.json.gz ]
	head -c 60000 known.data >torn.data
	run "$GCPROF" export torn.data
	same torn "$status" 0
	[[ $output == *'the end is missing'* ]]
	zcat torn.data.json.gz | jq -r -f "$ROOT/tests/e2e/firefox.jq" >faults
	same faults "$(cat faults)" ""
}

# Three programs that spend their time in the line with "% 7".
write_programs() {
	cat >spin.c <<-'EOT'
		static volatile long sum;
		static void __attribute__((noinline)) spin(long n)
		{
			for (long i = 0; i < n; i++)
				sum += i * i % 7;
		}
		int main(void)
		{
			for (int i = 0; i < 150; i++)
				spin(1000000);
			return 0;
		}
	EOT
	cat >spin.py <<-'EOT'
		def spin(n):
		    total = 0
		    for i in range(n):
		        total += i * i % 7
		    return total
		for _ in range(20):
		    spin(200000)
	EOT
	cat >spin.js <<-'EOT'
		function spin(n) { let t = 0; for (let i = 0; i < n; i++) t += i * i % 7; return t; }
		const end = Date.now() + 300;
		while (Date.now() < end) spin(100000);
	EOT
	gcc -g -O1 -o spin spin.c
}

# The text that an export has of a source file, which lies in this folder.
text_of() { # FILE
	zcat spin.json.gz | jq -j --arg name "$PWD/$1" '.shared | .stringArray as $strings |
		[.sources | .filename, .content] | transpose[] | select($strings[.[0]] == $name) | .[1]'
}

# The line of spin() with the most time of its own, as the Firefox Profiler's own reader shows it.
hottest_line() {
	local function
	profiler-cli load spin.json.gz >load.log 2>&1 || true
	wait_until eval 'profiler-cli status >status 2>&1'
	function=$(profiler-cli thread functions --json --search spin | jq -r '.functions | max_by(.selfSamples).functionHandle')
	profiler-cli function annotate "$function" --json |
		jq -r '.srcAnnotation.lines | max_by(.selfSamples) | select(.selfSamples > 10).sourceText'
	profiler-cli stop >/dev/null
}

@test "long: the text of source files is in a Firefox export, unless it has changed or is not wanted" {
	export HOME=$BATS_TEST_TMPDIR
	cd "$HOME"
	write_programs
	for program in ./spin "${PYTHON:-python3} spin.py" "node spin.js"; do
		[ "$program" = ./spin ] || command -v "${program% *}" || continue
		source=spin.c
		[ "$program" = ./spin ] || source=${program#* }
		record -o spin.data -- $program
		"$GCPROF" export -o spin.json.gz spin.data 2>log
		grep -q 'contains the text of .* source file.*; --no-sources leaves' log
		text_of "$source" >text
		cmp text "$source"
		! command -v profiler-cli >/dev/null || [[ $(hottest_line) == *"% 7"* ]]
		"$GCPROF" export --no-sources -o spin.json.gz spin.data 2>log
		same "not wanted" "$(zcat spin.json.gz | jq -c '.shared.sources.content | unique')" '[null]'
		absent 'source file' log
		echo >>"$source"
		"$GCPROF" export -o spin.json.gz spin.data 2>log
		same "changed" "$(text_of "$source")" null
	done
}

# The names of the files of which an export of spin.data has the text.
embedded() {
	"$GCPROF" export -f firefox -o spin.json.gz spin.data 2>log
	zcat spin.json.gz | jq -r '.shared | .stringArray as $strings | [.sources | .filename, .content] | transpose[] |
		select(.[1]) | $strings[.[0]]' >inside
	# The user is told which these are.
	sed -n 's/.* leaves* \(it\|them\) out: //p' log | sed 's/, /\n/g' | sort | diff - <(sort inside) || echo 'is not what was said'
	cat inside
}

# A program whose source file is FILE, as its debug information says.
spinner() { # FILE
	{ echo "#line 1 \"$1\"" && cat spin.c; } >line.c
	gcc -g -O1 -o spinner line.c
	chmod 755 spinner
}

@test "long: a source file is in an export only if everybody may read it at its path, or the program's user owns it" {
	need_root
	local file=secret.c folder=$BATS_TEST_TMPDIR
	cd "$folder"
	until [ "$folder" -ef "$BATS_RUN_TMPDIR/.." ]; do
		chmod o+x "$folder"
		folder=$folder/..
	done
	write_programs
	mkdir closed
	cp spin.c closed/$file
	chmod 644 closed/$file
	chmod 700 closed
	spinner "$PWD/closed/$file"
	# Another user's program names a file of root's, and root records it.
	setpriv --reuid=12345 --regid=12345 --clear-groups ./spinner &
	record -o spin.data -p $!
	same 'user of the program' "$("$GCPROF" dump spin.data | jq -r 'select(.record == "meta" and .key == "user").value')" 12345
	same 'in a closed folder' "$(embedded)" ''
	chmod 755 closed
	same 'open to all' "$(embedded)" "$PWD/closed/$file"
	chmod 600 closed/$file
	same 'of root alone' "$(embedded)" ''
	chown 12345 closed/$file
	same "of the program's user" "$(embedded)" "$PWD/closed/$file"
	# The same program of root's own.
	chown 0 closed/$file
	record -o spin.data -- ./spinner
	same 'named by root' "$(embedded)" "$PWD/closed/$file"
	# With another user's process in it, nobody knows who named it.
	record -o spin.data -- sh -c './spinner; setpriv --reuid=12345 --clear-groups true'
	same 'named by one of two' "$(embedded)" ''
	# A profile that another user made says what that user likes.
	record -o spin.data -- ./spinner
	chown 12345 spin.data
	same 'a profile of others' "$(embedded)" ''
}
