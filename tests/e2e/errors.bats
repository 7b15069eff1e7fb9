#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# errors.bats: mistakes of every kind: a clear message, a non-zero exit, nothing lost.
# Parallel: no other recorder matters.

load common

# Runs gcprof; the test fails unless the status and the message are as wanted.
expect() { # STATUS PATTERN ARGUMENTS...
	local wanted=$1 pattern=$2
	shift 2
	run "$GCPROF" "$@"
	echo "gcprof $*: status $status"
	echo "$output"
	[ "$status" = "$wanted" ] && grep -qiE -- "$pattern" <<<"$output"
}

@test "no verb, an unknown verb, an unknown option" {
	expect 2 'usage'
	expect 2 'no such command' what
	expect 2 'reprot: no such command; did you mean report?' reprot
	expect 2 'no such command' help what
	expect 0 'Usage: gcprof report' help report
	expect 2 'unknown option' report --what
	expect 2 'fliter=x: unknown option; did you mean --filter?' report --fliter=x
	expect 2 'perfeto: no such format; did you mean perfetto?' export -f perfeto
	expect 2 'unknown option' record --what -- /bin/true
	expect 0 'usage' --help
	commit=' \([0-9a-f]{12}\+?\)'
	[ -e "$ROOT/.git" ] || commit=
	expect 0 "^gcprof [0-9.]+$commit\$" --version
	for verb in record report info dump; do
		expect 0 "usage: gcprof $verb" "$verb" --help
	done
}

@test "every command refuses a profile of another version by the name of its writer" {
	printf '\1\025\6gcprof\6\014gcprof 9.8.7' | zstd -q >newer.data
	printf '\1\010\6gcprof\2' | zstd -q >older.data
	for command in report info dump query diff export view merge; do
		case $command in
		query) arguments='select(1) newer.data' ;;
		diff) arguments='newer.data newer.data' ;;
		export) arguments='-f folded newer.data' ;;
		merge) arguments='-o both.data newer.data newer.data' ;;
		*) arguments=newer.data ;;
		esac
		# shellcheck disable=SC2086 # words
		expect 1 'newer.data: gcprof 9.8.7 wrote it in format 6; this is gcprof .*reads format 5' $command $arguments
	done
	expect 1 'older.data: an older gcprof wrote it in format 2' report older.data
}

@test "record: no command" {
	expect 2 'command' record
	expect 2 'command' record -F 99 --
}

@test "record: command not found, not executable, a folder" {
	need_root
	expect 127 'not found' record -- no-such-program-here
	expect 127 'no such file|not found' record -- ./missing
	echo text >plain
	expect 126 'not executable|permission' record -- ./plain
	mkdir folder
	expect 126 'directory|folder' record -- ./folder
	[ ! -e gcprof.data ]
}

@test "record: a file that is executable but no program" {
	need_root
	printf 'no program\n' >junk
	chmod +x junk
	expect 126 'exec format|not a program|cannot' record -- ./junk
}

@test "record: options out of range" {
	expect 2 'out of range' record -F 1000000 -- /bin/true
	expect 2 'out of range' record -R 1 -- /bin/true
	expect 2 'not a size' record -R 12Q -- /bin/true
	expect 2 'not a number' record -F many -- /bin/true
	expect 2 'not a time' record --duration soon -- /bin/true
}

@test "record: not root" {
	need_root
	chmod 777 .
	cp "$GCPROF" gcprof && chmod 755 gcprof
	run setpriv --reuid=65534 --regid=65534 --clear-groups ./gcprof record -- /bin/true
	echo "$output"
	[ "$status" = 1 ]
	grep -qiE 'root|sudo|CAP_' <<<"$output"
	[ ! -e gcprof.data ]
}

@test "record: output that cannot be written" {
	need_root
	expect 1 'no such file|cannot' record -o missing/folder/x -- /bin/touch ran
	expect 1 'directory|folder' record -o . -- /bin/touch ran
	ln -s /etc/hostname link
	expect 1 'link' record -o link -- /bin/touch ran
	[ ! -e ran ]
}

# Shell code: allocates until the recorder has said, in the file told, that it gave up; for a while.
# shellcheck disable=SC2016 # the inner shell's variables
until_told='"$1" --seconds 300 & i=0
	until grep -q "recording stopped, the program continues" told || [ $i = 600 ]; do
		sleep 0.1
		i=$((i + 1))
	done
	kill $!
	touch finished'

@test "record: a full disk is told, what was written stays readable, the program runs on" {
	need_root
	mkdir small
	mount -t tmpfs -o size=64k none small || skip 'cannot mount a tmpfs'
	local code=0
	"$GCPROF" record -R 4K -o small/x -- /bin/sh -c "$until_told" sh "$WORKLOADS/churn" >out 2>told || code=$?
	cp small/x copy || true
	umount small
	cat told
	same status $code 1
	grep -qi 'no space left on device; recording stopped, the program continues' told
	[ -e finished ]
	read_report copy
	# It holds what the last line says, and is said to hold no more.
	jq -e --argjson s "$(grep -o 'ends about [0-9.]*' told | cut -d' ' -f3)" \
		'.duration_ns / 1e9 - $s | fabs < 0.5' .report.json
	! grep -q 'nothing lost' told
}

# Without 32 and 33, which belong to the C library.
ignored() {
	echo $((0x$(awk '/SigIgn/ {print $2}') & ~0x180000000))
}

@test "long: record: a limit of file sizes is told like a full disk, and not inherited" {
	need_root
	local code=0
	# shellcheck disable=SC2016 # the inner shell's variables
	bash -c 'ulimit -f 8; exec "$0" record -R 4K -o x -- /bin/sh -c "$1" sh "$2"' \
		"$GCPROF" "$until_told" "$WORKLOADS/churn" >out 2>told || code=$?
	cat told
	same status $code 1
	grep -qi 'file too large; recording stopped, the program continues' told
	[ -e finished ]
	"$GCPROF" record -o y -- grep SigIgn /proc/self/status >with 2>/dev/null
	same 'ignored signals' "$(ignored <with)" "$(ignored </proc/self/status)"
}

@test "record -p: the reader of the profile goes away: told, status 1" {
	need_root
	"$WORKLOADS/churn" --seconds 100 >/dev/null 2>&1 3>&- &
	local churn=$!
	# As a shell would start it: the tests' own may ignore the signal.
	{ env --default-signal=PIPE timeout 60 "$GCPROF" record -R 16K -p $churn -o - 2>told || echo $? >status; } | head -c 10 >/dev/null
	kill -0 $churn
	kill $churn
	cat told
	same status "$(cat status)" 1
	grep -q 'error: -: Broken pipe' told
}

@test "reading: missing, empty, some other file, a folder" {
	for verb in report info dump; do
		expect 1 'no such file' $verb missing.data
		: >empty
		expect 1 'empty' $verb empty
		expect 1 'not a (gcprof )?profile' $verb /bin/true
		printf 'text\n' >text
		expect 1 'not a (gcprof )?profile' $verb text
		expect 1 'directory' $verb .
	done
}

@test "reading: cut off anywhere, and damaged" {
	need_root
	record -R 64K -- "$WORKLOADS/churn" --bytes 128M --seconds 3
	size=$(stat -c %s gcprof.data)
	for part in 1 2 3; do
		head -c $((size * part / 4)) gcprof.data >torn
		run "$GCPROF" report torn
		echo "$output" | head -n 5
		[ "$status" = 0 ]
		grep -qi 'end is missing' <<<"$output"
	done
	cp gcprof.data bad
	printf '\377\377\377\377\377\377\377\377' | dd of=bad bs=1 seek=$((size / 2)) conv=notrunc status=none
	# Each command uses what precedes the damage, and says so in the same words.
	for command in 'report bad' 'dump bad' 'info bad' 'export -f pprof -o made bad' \
		'query "SELECT count(*) FROM ticks" bad' 'merge -o made bad'; do
		local code=0
		rm -f made
		sh -c "'$GCPROF' $command" >out 2>told || code=$?
		echo "$command: $(cat told)"
		same "$command" "$code" 1
		grep -q 'error: bad: the file is damaged: only what precedes the damage was read' told
		[ -s out ] || [ -s made ]
	done
	expect 1 'a part of a profile is not compared' diff gcprof.data bad
}
