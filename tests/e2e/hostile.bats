#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# hostile.bats: programs that lie to the recorder. Names as in faults.bats: "lie: what happens".
# Parallel: no other recorder matters.

load common

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	gcc -std=gnu11 -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/hostile.c" -o "$PROGRAMS/hostile"
	gcc -std=gnu11 -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/endless.c" -o "$PROGRAMS/endless"
	gcc -std=gnu11 -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/functions.c" -o "$PROGRAMS/functions"
	gcc -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/clocked.c" -o "$PROGRAMS/clocked" -lpthread
}

# Records a lie, of another program if `liar` names one; the program's status is in $code, the recorder's own memory at its peak in $peak (KiB).
record_lie() { # LIE
	need_root
	local kib
	code=0 peak=0
	GLIBC_TUNABLES=glibc.pthread.rseq=0 "$GCPROF" record -v -- "$PROGRAMS/${liar:-hostile}" "$@" >out 2>record.log 3>&- &
	recorder=$!
	while kib=$(awk '/^RssAnon/ {print $2}' /proc/$recorder/status 2>/dev/null) && [ -n "$kib" ]; do
		[ "$kib" -le "$peak" ] || peak=$kib
		sleep 0.05
	done
	wait $recorder || code=$?
	cat record.log
	echo "status $code, peak $peak KiB"
	"$GCPROF" report >text
	"$GCPROF" info >info
	absent 'end is missing' info
	# Nothing that a program says reaches the terminal as it is.
	absent $'\033' text
	absent $'\033' record.log
}

# The losses told are those in the profile.
told() { # SENTENCE
	grep -qE "[0-9]+ $1" record.log
}

# Of memory that belongs to the recorder alone; the rings come on top.
stays_below() { # MIB
	[ "$peak" -gt 0 ] && [ "$peak" -lt $(($1 * 1024)) ]
}

@test "probe arguments are wild pointers: refused or cut, each counted" {
	record_lie pointers
	same status $code 0
	told 'probe firings were refused'
	told 'probe events are incomplete'
	told 'samples or outcomes were lost: their batch could not be read'
	told 'managed stacks are truncated'
	stays_below 64
}

@test "counts up to 2^64: refused, each counted" {
	record_lie counts
	same status $code 0
	told 'probe firings were refused'
	told 'samples of a batch were refused'
	told 'events from the kernel were not understood'
	stays_below 64
}

@test "long: half a million pieces of stacks, cut anywhere, and stacks made of nonsense: refused or left without a stack, memory stays bounded" {
	record_lie pieces
	same status $code 0
	told 'events from the kernel were not understood'
	holds '.alloc.samples > 900 and .stacks.unfinished.lost > 0'
	stays_below 128
}

@test "sums of collections that cannot be, and begins in the future: refused, each counted, system calls stay within themselves" {
	record_lie collections
	same status $code 0
	told 'events from the kernel were not understood'
	told 'probe firings were refused'
	holds '.gc.minor.count > 100 and ([.syscalls[] | select(.in_gc_ns > .total_ns)] | length) == 0'
	stays_below 64
}

@test "names without an end, or that would paint on a terminal: cut, and shown escaped" {
	record_lie names
	same status $code 0
	"$GCPROF" report --json | jq -e '[.alloc.types[].name | length] | max < 5000'
	"$GCPROF" dump | jq -e -s '[.[] | select(.record == "type")] | length > 0'
	stays_below 64
}

@test "shadow stack is a circle: the stack ends there and says so" {
	record_lie frames
	same status $code 0
	told 'managed stacks are truncated'
	holds '.alloc.samples > 4000 and (.stacks.unfinished | length) > 0'
	stays_below 64
}

@test "long: a quarter of a million types and as many stacks: names beyond the budget are dropped and counted, memory stays bounded" {
	# So many names are more than a report takes of a file of this size, unless it is allowed.
	export GCPROF_MEMORY=8G
	record_lie types
	same status $code 0
	told 'mappings or names were left out: their process had more than its share'
	[ "$("$GCPROF" dump | grep -c '^{"record":"alloc"')" -gt 100000 ]
	stays_below 160
}

@test "long: functions without end: memory stays bounded" {
	export GCPROF_MEMORY=8G
	liar=functions record_lie 2
	same status $code 0
	told 'mappings or names were left out: their process had more than its share'
	[ "$("$GCPROF" dump | grep -c '^{"record":"managed_frame"')" -gt 700000 ]
	stays_below 240
}

@test "functions without end while a recording is in parts: other programs have their functions in all parts" {
	need_root
	GLIBC_TUNABLES=glibc.pthread.rseq=0 "$GCPROF" record --rotate 2s -o part.data -- /bin/sh -c \
		'"$0/clocked" busy 14 & sleep 1; "$0/functions"; wait' "$PROGRAMS" >out 2>record.log
	cat record.log
	[ -e part-0002.data ]
	export GCPROF_MEMORY=8G
	"$GCPROF" report --functions "$(printf '%s\n' part-*.data | tail -n 1)" >last
	cat last
	grep -qE 'work_(one|two) +clocked' last
}

@test "long: name tables lead nowhere, in circles, or have billions of entries: what was read is kept, others are recorded whole" {
	need_root
	local lie liars=()
	for lie in circle nowhere billions not; do
		"$PROGRAMS/hostile" $lie 3 >"$lie" 3>&- &
		liars+=($!)
	done
	# A table that is read before it is there has no names.
	for lie in circle nowhere billions; do
		wait_until grep -q 'table is there' $lie
	done
	"$GCPROF" record -v -p "$(IFS=,; echo "${liars[*]}")" >out 2>record.log 3>&- &
	recorder=$!
	peak=0
	while kib=$(awk '/^RssAnon/ {print $2}' /proc/$recorder/status 2>/dev/null) && [ -n "$kib" ]; do
		[ "$kib" -le "$peak" ] || peak=$kib
		sleep 0.05
	done
	cat record.log
	told 'programs have types or functions without names'
	grep -q 'names of types and functions were not all read: it is too large' record.log
	grep -q 'names of types and functions were not all read: part of it is not in its memory' record.log
	# One of four has the name, and all are recorded, but for what they did while they were attached to.
	holds '[.alloc.types[].name] | index("was there") != null'
	holds '[.threads[] | select(.alloc_samples > 500)] | length == 4'
	# No name waits for the tables of others; what threads do that stand still on a busy machine may.
	holds '[.losses[] | select(.name == "LATE").count] | (add // 0) < 1500'
	stays_below 128
}

@test "semaphores are faked: samples that fire are recorded, nothing else changes" {
	record_lie semaphores
	same status $code 0
	holds '.alloc.samples > 0'
	stays_below 64
}

@test "long: a program floods the ring of allocation events: what it sends beyond its share is lost and counted, another program has its samples" {
	need_root
	"$GCPROF" record --max-overhead off -- sh -c "
		'$PROGRAMS/hostile' flood 4 &
		sleep 0.3
		'$PROGRAMS/hostile' not 3
		wait" >out 2>record.log
	cat record.log
	# All of them, but on a busy machine, where their common user's share is used up as well.
	samples=$("$GCPROF" dump | grep -c '"record":"alloc".*"type":77,')
	echo "$samples samples"
	[ "$samples" -gt 2000 ] && [ "$samples" -le 3000 ]
	told 'allocation events were lost: their process or user had filled more than its share of the ring'
}

@test "long: more files with probes than there are places: those that no process has mapped any more make room" {
	need_root
	local i
	for i in {1..280}; do cp "$PROGRAMS/hostile" "copy$i"; done
	"$GCPROF" record -v --max-overhead off -- sh -c '
		for i in $(seq 280); do ./copy$i briefly & [ $((i % 70)) != 0 ] || wait; done
		./copy1 briefly' >out 2>record.log
	cat record.log
	grep -q 'probes of [0-9]* files\? that no process has mapped any more are detached' record.log
	absent 'there is no room' record.log
	# There are 256 places.
	ask '[.threads[] | select(.alloc_samples > 0)] | length'
	holds '[.threads[] | select(.alloc_samples > 0)] | length > 264'
}

@test "begins or ends of collections never come, or come from other threads: all of what is in a collection counts as such, nothing else does" {
	record_lie endless
	same status $code 0
	holds '.syscalls[] | select(.name == "clock_nanosleep") | .count == 1500 and .in_gc_ns < .total_ns / 100'
	holds '.syscalls[] | select(.name == "poll") | .count == 180 and .in_gc_ns > .total_ns * 0.98'
}

@test "concurrent cycles without end, in any number of heaps, with names without end and unknown numbers: refused or lost, each counted" {
	liar=endless record_lie
	same status $code 0
	told 'cycles of concurrent collectors were lost'
	told 'probe firings were refused'
	holds '.gc.cycles.rows | length < 30 and all(.name == null or (.name | length) < 600)'
	same 'names, each for one number at a time' "$("$GCPROF" dump | jq -s '[.[] | select(.record == "gc_name").number] | unique | length < 256')" true
	stays_below 64
}

@test "long: both stacks are as deep as can be, walked or copied: each record fits, none is lost" {
	need_root
	for way in fp rows copy; do
		"$GCPROF" record --stack $way --stack-bytes 32K -- "$PROGRAMS/hostile" deep >out 2>record.log
		cat record.log
		same 'records, stacks by '$way "$(ask .streams.alloc.events)" 100
		holds '.streams.alloc.lost == 0'
	done
}

@test "program unmaps itself: recorded to its end" {
	record_lie mappings
	same status $code 0
	holds '.alloc.samples > 100'
	stays_below 64
}

# Overwrites bytes of a copy of the program at an offset.
damage() { # OFFSET BYTES
	local i
	cp "$PROGRAMS/hostile" damaged
	for ((i = 0; i < $2; i++)); do
		# shellcheck disable=SC2059 # the format is the byte
		printf "\\x$(printf %02x $((RANDOM % 256)))"
	done | dd of=damaged bs=1 seek="$1" conv=notrunc status=none
}

@test "long: ELF file has broken notes or overlapping sections: what makes no sense is refused, the program runs as it would" {
	need_root
	local offset size table
	read -r offset size < <(readelf -SW "$PROGRAMS/hostile" | sed -nE 's/^ *\[ *[0-9]+\] \.note\.stapsdt +NOTE +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+).*/\1 \2/p')
	table=$(readelf -hW "$PROGRAMS/hostile" | awk '/Start of section headers/ {print $5}')
	[ -n "$offset" ] && [ -n "$table" ]
	RANDOM=${HOSTILE_SEED:-1}
	for i in $(seq 6); do
		case $((i % 3)) in
		0) damage $((16#$offset + RANDOM % 16#$size)) 24 ;;
		# Any header of a section: its offset and size then lie anywhere, over others too.
		1) damage $((table + 64 * (1 + RANDOM % 30) + 24)) 16 ;;
		2) damage $((16#$offset)) 12 ;;
		esac
		code=0
		./damaged pointers || code=$?
		status=0
		timeout 60 "$GCPROF" record -o broken.data -- ./damaged pointers >out 2>record.log || status=$?
		cat record.log
		same "status, $i" $status $code
		"$GCPROF" report broken.data >text
	done
}
