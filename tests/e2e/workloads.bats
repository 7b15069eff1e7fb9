#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# workloads.bats: the programs to profile do what they say, without a profiler.
# Parallel: no other recorder matters.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	bin=${BUILD_DIR:-build}/workloads
	lisp=tests/workloads/lisp
	dir=$BATS_TEST_TMPDIR
	# The environment must not change what is measured here.
	unset GC_NURSERY GC_MIN_HEAP READFILE
}

# expect_failure STATUS TEXT: the last `run` ended with STATUS and said TEXT.
expect_failure() {
	if [ "$status" -ne "$1" ] || [[ $output != *"$2"* ]]; then
		printf 'status %s, output: %s\n' "$status" "$output"
		return 1
	fi
}

# run_lisp TEXT: runs a program that is given as text.
run_lisp() {
	printf '%s\n' "$1" > "$dir/test.lisp"
	run "$bin/lisp" "$dir/test.lisp"
}

@test "every workload explains itself" {
	for program in gcbench churn indexer lisp known; do
		run "$bin/$program" --help
		[ "$status" -eq 0 ]
		[[ ${lines[0]} == "usage: $program "* ]]
	done
}

@test "every workload rejects an option that it does not know" {
	for program in gcbench churn indexer lisp known; do
		run "$bin/$program" --no-such-option
		expect_failure 2 "Try '$program --help'."
	done
}

@test "gcbench prints one number of milliseconds a run and nothing else" {
	run "$bin/gcbench" 2
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 2 ]
	for line in "${lines[@]}"; do
		[[ $line =~ ^[0-9]+\.[0-9]{3}$ ]]
	done
}

@test "gcbench wants a number of runs" {
	for bad in 0 -1 x 1x ''; do
		run "$bin/gcbench" -- "$bad"
		expect_failure 2 "is not a whole number"
	done
	run "$bin/gcbench" 1 2
	expect_failure 2 "one number is enough"
}

@test "churn allocates what it was told, on every thread" {
	run "$bin/churn" --bytes 64M --threads 3 --sizes 16,40,100 --keep 10 --depth 20
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 1 ]
	[[ $output =~ threads=3\ bytes=([0-9]+)\ objects=([0-9]+)\ seconds=[0-9.]+\ minor=([0-9]+) ]]
	# Each thread stops at the first object that reaches its bytes: 104 too many at most.
	over=$((BASH_REMATCH[1] - 3 * 64 * 1024 * 1024))
	[ "$over" -ge 0 ] && [ "$over" -lt $((3 * 104)) ]
	# The sizes take turns and are rounded up to 16, 40 and 104 bytes: 160 for three objects.
	[ "${BASH_REMATCH[2]}" -gt $((BASH_REMATCH[1] * 3 / 160 - 20)) ]
	[ "${BASH_REMATCH[2]}" -lt $((BASH_REMATCH[1] * 3 / 160 + 20)) ]
	# 192 MiB, of which threads that run on a processor each have 4 MiB at a time.
	[ "${BASH_REMATCH[3]}" -ge 15 ]
}

@test "churn keeps objects alive only if it is told to" {
	run "$bin/churn" --bytes 64M --keep 0 --sizes 64
	[[ $output =~ promoted=([0-9]+)$ ]]
	[ "${BASH_REMATCH[1]}" -lt 10000 ]
	run "$bin/churn" --bytes 64M --keep 1000 --sizes 64
	[[ $output =~ promoted=([0-9]+)$ ]]
	[ "${BASH_REMATCH[1]}" -gt 640000 ]
}

@test "churn allocates large objects" {
	run "$bin/churn" --bytes 100M --sizes 256K,32
	[ "$status" -eq 0 ]
	[[ $output == *" objects="* ]]
}

@test "churn stops after the seconds it was given" {
	run "$bin/churn" --seconds 1 --threads 2
	[ "$status" -eq 0 ]
	[[ $output =~ seconds=([0-9]+)\. ]]
	[ "${BASH_REMATCH[1]}" -ge 1 ]
}

@test "churn rejects values that make no sense" {
	tried=0
	while read -r option value; do
		run "$bin/churn" "$option" "$value"
		expect_failure 2 "$option: '$value' is not"
		tried=$((tried + 1))
	done <<-END
		--bytes 1X
		--bytes -1
		--bytes 99999999999999999999
		--sizes 15
		--sizes 1G
		--threads 0
		--threads 257
		--keep x
		--depth 1001
		--seconds 0
	END
	[ "$tried" -eq 10 ]
	run "$bin/churn" --bytes 0
	expect_failure 1 "would never end"
	run "$bin/churn" --sizes 16,32,16
	expect_failure 1 "twice"
}

make_tree() {
	mkdir -p "$dir/tree/b/c"
	printf 'Apple banana apple\ncherry-apple x\n' > "$dir/tree/a.txt"
	printf 'banana %s' "$(printf 'q%.0s' {1..100})" > "$dir/tree/b/b.txt"
	printf 'apple\0apple\n' > "$dir/tree/b/c/binary"
	: > "$dir/tree/b/c/empty"
	ln -s a.txt "$dir/tree/link"
	ln -s .. "$dir/tree/b/up"
	mkfifo "$dir/tree/fifo"
}

@test "indexer finds the words of a tree" {
	make_tree
	run "$bin/indexer" -o "$dir/index" -q APPLE -q banana -q missing "$dir/tree"
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "query=APPLE files=1 occurrences=3 most=3 in $dir/tree/a.txt" ]
	[ "${lines[1]}" = "query=banana files=2 occurrences=2 most=1 in $dir/tree/a.txt" ]
	[ "${lines[2]}" = "query=missing files=0 occurrences=0" ]
	[[ ${lines[3]} == "files=3 words=7 distinct=4 postings=5 bytes=141 "*" binary=1 skipped=0" ]]
	run cat "$dir/index"
	[ "${lines[1]}" = "0 $dir/tree/a.txt" ]
	[ "${lines[4]}" = "# terms" ]
	[ "${lines[5]}" = "apple 0:3" ]
	[ "${lines[6]}" = "banana 0:1 1:1" ]
	[ "${lines[7]}" = "cherry 0:1" ]
	[ "${lines[8]}" = "$(printf 'q%.0s' {1..64}) 1:1" ]
}

@test "indexer gives the same answer every time, and agrees with grep" {
	tree=/usr/include/linux
	"$bin/indexer" -o "$dir/one" "$tree" > "$dir/one.txt"
	GC_NURSERY=64K "$bin/indexer" --passes 2 -o "$dir/two" "$tree" > "$dir/two.txt"
	cmp "$dir/one" "$dir/two"
	cmp "$dir/one.txt" "$dir/two.txt"
	words=$(find "$tree" -type f -exec grep -aoEh '[A-Za-z0-9_]{2,}' {} + | wc -l)
	grep -q " words=$words " "$dir/one.txt"
	distinct=$(find "$tree" -type f -exec grep -aoEh '[A-Za-z0-9_]{2,}' {} + |
		tr '[:upper:]' '[:lower:]' | cut -c-64 | LC_ALL=C sort -u | tee "$dir/words" | wc -l)
	grep -q " distinct=$distinct " "$dir/one.txt"
	sed '1,/^# terms/d; s/ .*//' "$dir/one" | cmp - "$dir/words"
}

@test "indexer stops after --max-files" {
	run "$bin/indexer" --max-files 7 /usr/include/linux
	[[ $output == *"files=7 words="* ]]
}

@test "indexer goes on when something cannot be read" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to become somebody else"
	make_tree
	chmod -R a+rX "$dir/tree"
	chmod 000 "$dir/tree/a.txt"
	chmod a+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* "$dir"
	cp "$bin/indexer" "$dir/indexer"
	# Where we have our temporary files, others may not write.
	mkdir -m 777 "$dir/room"
	TMPDIR=$dir/room run setpriv --reuid 65534 --regid 65534 --clear-groups "$dir/indexer" "$dir/tree"
	[ "$status" -eq 0 ]
	[[ $output == *"files=2 "*" skipped=1"* ]]
}

@test "indexer rejects what it cannot use" {
	run "$bin/indexer"
	expect_failure 2 "which directory?"
	run "$bin/indexer" /nonexistent
	expect_failure 1 "cannot read /nonexistent: No such file or directory"
	run "$bin/indexer" /dev/null
	expect_failure 1 "neither a directory nor a regular file"
	run "$bin/indexer" -o / /etc/passwd
	expect_failure 1 "cannot write /"
	run "$bin/indexer" -o /dev/full /etc/passwd
	expect_failure 1 "No space left on device"
	run "$bin/indexer" --passes 0 /etc/passwd
	expect_failure 2 "--passes: '0' is not"
	TMPDIR=/nonexistent run "$bin/indexer" /etc/passwd
	expect_failure 1 "cannot make a temporary file in /nonexistent"
}

@test "lisp computes" {
	run_lisp '
		(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
		(define counter 0)
		(define (bump by) (set! counter (+ counter by)) counter)
		(write (list (fib 15) (- 7) (quotient -7 2) (remainder -7 2) (<= 1 2 2) (= 1 2)))
		(newline)
		(write (list (bump 2) (bump 3) counter (let* ((a 1) (b (+ a 1))) (* a b))))
		(newline)
		(write (let loop ((i 0) (sum 0)) (if (= i 100) sum (loop (+ i 1) (+ sum i)))))
		(newline)
		(write (cond (#f 1) ((= 1 1) 2) (else 3)))
		(write (list (and) (or) (and 1 2) (or #f 3) (if #f 1)))
		(newline)
		(define (adder n) (lambda (x) (+ x n)))
		(write (map (adder 5) (filter (lambda (x) (> x 1)) (quote (1 2 3)))))
		(write (list (apply + (list 1 2 3)) (reverse (list 1 2 3)) (append (list 1) (list 2) 3)))
		(write ((lambda (a . rest) rest) 1 2 3))'
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "(610 -7 -3 -1 #t #f)" ]
	[ "${lines[1]}" = "(2 5 5 2)" ]
	[ "${lines[2]}" = "4950" ]
	[ "${lines[3]}" = "2(#t #f 2 3 ())" ]
	[ "${lines[4]}" = "(7 8)(6 (3 2 1) (1 2 . 3))(2 3)" ]
}

@test "lisp handles strings, tables and files" {
	printf 'one two\n\nthree' > "$dir/input"
	run_lisp "
		(write (string-split \" a b,c \" \" ,\"))
		(write (string-join '(\"a\" \"b\") \"--\"))
		(write (string-append \"x\\\"\" (substring \"hello\" 1 3) (number->string -5)))
		(newline)
		(write (list (string->number \"12\") (string->number \"1x\") (string-ref \"A\" 0)
			(string-upcase \"aZ9\") (string<? \"a\" \"ab\") (equal? '(1 (\"x\")) '(1 (\"x\")))))
		(newline)
		(define t (make-table))
		(let ((i 0))
			(while (< i 1000)
				(table-set! t i (* i i))
				(table-set! t (number->string i) i)
				(set! i (+ i 1))))
		(write (list (table-count t) (table-get t 31) (table-get t \"31\") (table-get t 'x 'no)
			(length (table-keys t))))
		(newline)
		(define in (open-input \"$dir/input\"))
		(write (list (read-line in) (read-line in) (read-line in) (read-line in)))
		(close-input in)
		(write (string-length (read-file \"$dir/input\")))"
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = '("a" "b" "c")"a--b""x\"el-5"' ]
	[ "${lines[1]}" = '(12 #f 65 "AZ9" #t #t)' ]
	[ "${lines[2]}" = "(2000 961 31 no 2000)" ]
	[ "${lines[3]}" = '("one two" "" "three" #f)14' ]
}

@test "lisp gives the file and the line of an error, and who called" {
	run_lisp '(define (inner x)
  (car
    x))
(define (outer) (+ 1 (inner 5)))
(outer)'
	expect_failure 1 "$dir/test.lisp:2: car: this needs a pair"
	[[ $output == *"in inner, line 2"*"in outer, line 4"*"in program, line 5"* ]]
}

@test "lisp reports every kind of mistake" {
	tried=0
	while IFS='|' read -r program message; do
		run_lisp "$program"
		expect_failure 1 "$dir/test.lisp:1: $message"
		tried=$((tried + 1))
	done <<-'END'
		(+ 1|this list has no end
		)|this ) closes nothing
		"abc|this string has no end
		"a\q"|an escape is one of
		(quote (1 . 2 3))|only one thing may follow a dot
		99999999999999999999|this integer is too big
		nope|nope has no value
		(set! nope 1)|nope has no value
		(5 6)|this is no function
		((lambda (x) x))|lambda: wrong number of arguments
		(car)|car: wrong number of arguments
		(* 4611686018427387904 2)|*: the result does not fit 64 bits
		(quotient 1 0)|quotient: division by 0
		(if)|this should look like (if
		(let 5)|this should look like (let
		(let x 5 6)|this should look like (let
		(lambda (5) 1)|this should look like (lambda
		(substring "abc" 2 9)|substring: no part from 2 to 9
		(read-file "/nonexistent")|read-file: /nonexistent: No such file
		(table-set! (make-table) (list) 1)|table-set!: a key is
		(error "my " (list 1 "two"))|my (1 two)
	END
	[ "$tried" -eq 21 ]
}

@test "lisp survives recursion without end" {
	run_lisp '(define (down x) (+ 1 (down x))) (down 1)'
	expect_failure 1 "the recursion is too deep"
	printf '(%.0s' {1..100000} > "$dir/deep.lisp"
	run "$bin/lisp" "$dir/deep.lisp"
	expect_failure 1 "the recursion is too deep"
}

@test "lisp rejects what it cannot use" {
	run "$bin/lisp"
	expect_failure 2 "which file?"
	run "$bin/lisp" /nonexistent.lisp
	expect_failure 1 "cannot read /nonexistent.lisp: No such file or directory"
	run "$bin/lisp" "$lisp/tree.lisp" depth
	expect_failure 2 "'depth' is not of the form NAME=VALUE"
}

@test "tree.lisp counts its trees, with a small nursery too" {
	expected='stretch tree of depth 9 nodes 1023
16 of depth 4 nodes 496
4 of depth 6 nodes 508
1 of depth 8 nodes 511
long-lived tree of depth 8 nodes 511'
	run "$bin/lisp" "$lisp/tree.lisp" depth=8
	[ "$output" = "$expected" ]
	GC_NURSERY=16K GC_MIN_HEAP=64K run "$bin/lisp" "$lisp/tree.lisp" depth=8
	[ "$output" = "$expected" ]
}

@test "strings.lisp gives the same result every time, with a small nursery too" {
	run "$bin/lisp" "$lisp/strings.lisp" rounds=50
	[ "$status" -eq 0 ]
	[[ $output =~ ^rounds\ 50\ bytes\ [0-9]+\ different\ [0-9]+\ words\ 2000$ ]]
	first=$output
	GC_NURSERY=16K GC_MIN_HEAP=64K run "$bin/lisp" "$lisp/strings.lisp" rounds=50
	[ "$output" = "$first" ]
}

@test "readfile.lisp counts like wc" {
	file=/etc/passwd
	newlines=$(wc -l < "$file")
	words=$(wc -w < "$file")
	different=$(tr -s ' \t' '\n' < "$file" | grep . | LC_ALL=C sort -u | wc -l)
	run "$bin/lisp" "$lisp/readfile.lisp" "file=$file" passes=3
	[ "$status" -eq 0 ]
	[[ $output == "lines $newlines words $words different $different most "* ]]
	READFILE=$file run "$bin/lisp" "$lisp/readfile.lisp" passes=1
	[[ $output == "lines $newlines words $words different $different most "* ]]
}

@test "known prints one line of JSON that agrees with itself" {
	"$bin/known" --burn-ms 60 --threads 3 > "$dir/known.json"
	[ "$(wc -l < "$dir/known.json")" -eq 1 ]
	jq -e '
		(.types | length) >= 6 and
		([.types[].bytes] | add) >= 200e6 and
		([.types[] | .objects > 0 and (.bytes / 8 | . == floor)] | all) and
		([.types[] | (.survivors / .objects - .survive | fabs) < 1e-8] | all) and
		([.types[].bytes] | add) == ([.functions[].alloc_bytes] | add) and
		# At a period of 64 KiB there is enough of every type for an interval.
		([.types[].bytes / 65536 >= 150] | all) and
		([.types[] | .bytes / .objects] | min <= 16 and max > 131072)' "$dir/known.json"
	jq -e '
		.threads == 3 and .minor >= 200 and .sleep_ns == .syscalls.nanosleep * 1000000 and
		.types.dies16.survive == 0 and .types.half64.survivors * 2 == .types.half64.objects and
		.types.kept128.survive == 1 and (.types.tenth512.survive - 0.1 | fabs) < 0.001 and
		.syscalls.write == 5001 and .syscalls.getppid == 20000 and
		.syscall_errors == {getppid: 0, read: 0, write: 0, openat: 500, close: 0, nanosleep: 0}
		' "$dir/known.json"
}

@test "known burns CPU in the proportion 1:2:3" {
	# A busy host that takes the processor away just before the end of a function makes it longer,
	# but not each time.
	for _ in 1 2 3 4 5; do
		"$bin/known" --scale 0 --calls 0 --burn-ms 300 > "$dir/known.json"
		jq -e '.functions | .burn_a.cpu_ns >= 50e6 and .burn_b.cpu_ns >= 100e6 and
			.burn_c.cpu_ns >= 150e6' "$dir/known.json"
		! jq -e '.functions | .burn_a.cpu_ns < 55e6 and .burn_b.cpu_ns < 105e6 and
			.burn_c.cpu_ns < 155e6' "$dir/known.json" || return 0
	done
	return 1
}

@test "known says the truth about its system calls" {
	command -v strace > /dev/null || skip "needs strace"
	calls=getppid,read,write,openat,close,nanosleep
	count() { # count NAME FILE
		awk -v name="$1" '$NF == name { count = $4 } END { print count + 0 }' "$2"
	}
	export ASAN_OPTIONS=detect_leaks=0 # the leak checker cannot run under strace
	strace -f -c -e "trace=$calls" -o "$dir/none" \
		"$bin/known" --scale 0 --burn-ms 0 --calls 0 > "$dir/none.json"
	strace -f -c -e "trace=$calls" -o "$dir/some" \
		"$bin/known" --scale 0 --burn-ms 0 > "$dir/some.json"
	for name in ${calls//,/ }; do
		seen=$(($(count "$name" "$dir/some") - $(count "$name" "$dir/none")))
		told=$(($(jq ".syscalls.$name" "$dir/some.json") -
			$(jq ".syscalls.$name" "$dir/none.json")))
		echo "$name: strace $seen, known $told"
		[ "$told" -gt 0 ] && [ "$seen" -eq "$told" ]
	done
}

@test "known scales, and takes a seed" {
	"$bin/known" --burn-ms 0 --calls 0 --seed 7 > "$dir/one.json"
	"$bin/known" --burn-ms 0 --calls 0 --scale 2 --threads 1 > "$dir/two.json"
	jq -e -s '[.[0].types, .[1].types] | .[0] as $one | .[1] as $two |
		[$one | keys[] | $two[.].objects == 2 * $one[.].objects] | all' \
		"$dir/one.json" "$dir/two.json"
}

@test "known does not depend on the settings in the environment" {
	GC_NURSERY=16K GC_MIN_HEAP=64K "$bin/known" --burn-ms 0 --calls 0 > "$dir/one.json"
	"$bin/known" --burn-ms 0 --calls 0 > "$dir/two.json"
	jq -e -s '.[0].types == .[1].types and .[0].minor == .[1].minor' "$dir/one.json" \
		"$dir/two.json"
}

@test "known rejects values that make no sense" {
	tried=0
	while read -r option value; do
		run "$bin/known" "$option" "$value"
		expect_failure 2 "$option: '$value' is not"
		tried=$((tried + 1))
	done <<-END
		--threads 0
		--threads 65
		--scale -1
		--burn-ms x
		--calls 1001
		--seed 1.5
	END
	[ "$tried" -eq 6 ]
	run "$bin/known" something
	expect_failure 2 "no arguments are needed"
	run bash -c "'$bin/known' --scale 0 --burn-ms 0 --calls 0 > /dev/full"
	expect_failure 1 "cannot write the result"
}
