#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# keep.bats: --rotate, --keep and --when: each file is a profile, and together they have everything once.
# Parallel: other recorders do not interfere.

load common
load cputime

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	gcc -O1 -D_GNU_SOURCE "$BATS_TEST_DIRNAME/programs/clocked.c" -o "$PROGRAMS/clocked" -lpthread
}

# The sum of a jq expression over the reports of files.
total() { # EXPRESSION FILE...
	local file
	for file in "${@:2}"; do
		ask "$1 // 0" "$file" || return 1
	done | jq -s add
}

# Every file is complete, and all readers accept it.
are_profiles() { # FILE...
	local file
	for file in "$@"; do
		same "state of $file" "$("$GCPROF" info "$file" | sed -n 's/^state *//p')" complete
		"$GCPROF" report "$file" >/dev/null
		"$GCPROF" export -f firefox -o out.json "$file"
		"$GCPROF" export -f pprof -o out.pb.gz "$file"
		"$GCPROF" query 'SELECT count(*) FROM syscalls' "$file" >/dev/null
	done
}

# A value from the line that a workload prints at its end.
said() { # KEY
	sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" out | tail -n 1
}

# The count of a stream in the summary.
counted() { # STREAM
	grep -oE "[0-9]+ $1" record.log | tail -n 1 | cut -d' ' -f1
}

are_all() { # FILE...
	same samples "$(total .alloc.samples "$@")" "$(counted alloc)"
}

@test "long: --rotate: the sums of all files agree with a busy program's own counts" {
	need_root
	record --rotate 500ms -- "$WORKLOADS/churn" --threads 2 --seconds 3
	cat record.log
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 2 ]
	are_profiles "${files[@]}"
	same minor "$(total .gc.minor.count "${files[@]}")" "$(said minor)"
	same promoted "$(total .gc.promoted_bytes "${files[@]}")" "$(said promoted)"
	are_all "${files[@]}"
	same ticks "$(total .streams.cpu.events "${files[@]}")" "$(counted cpu)"
	bytes=$(total .alloc.bytes.estimate "${files[@]}")
	echo "allocated: $bytes, the program says $(said bytes)"
	jq -ne "($bytes - $(said bytes) | fabs) < $(said bytes) / 10" >/dev/null
	# Each file has the names of threads, functions and types; the first may be complete before these are read.
	for file in "${files[@]:0:${#files[@]}-1}"; do
		holds '[.threads[] | select(.samples > 0) | .name] | unique == ["churn"]' "$file"
		holds '[.functions[].name] | index("descend")' "$file"
		[ "$file" = "${files[0]}" ] || holds '[.alloc.types[].name] | length > 1 and all(test("^object"))' "$file"
		holds '.end_reason == "goes on" and .gc.unpaired <= 2' "$file"
	done
	holds '.end_reason == "program ended" and .exit_status == 0' "${files[-1]}"
}

@test "--rotate: the files together have the exact CPU time" {
	need_root
	record --rotate 300ms -- bash -c "$CHILD" "$PROGRAMS/clocked" steps 2
	cat out
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 2 ]
	truth=$(said cpu_ns)
	sum=$(total "$CLOCKED" "${files[@]}")
	echo "CPU time: $sum, by the kernel's clocks $truth"
	jq -ne "($sum - $truth | fabs) < $truth / 100 + 3000000 + $(beside)" >/dev/null
}

@test "long: --rotate: the files together have each call and each wait of an idle program" {
	need_root
	record --rotate 500ms --off-cpu --faults -- "$WORKLOADS/waits" sleep 300
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 3 ]
	are_profiles "${files[@]}"
	nap='[.syscalls[] | select(.name == "clock_nanosleep")][0]'
	same sleeps "$(total "$nap.count" "${files[@]}")" 300
	# Totals and waits of threads agree in each file, and in all together.
	for file in "${files[@]}"; do
		holds ".threads[0] | .off_cpu_ns == ([.off_cpu[].ns] | add)" "$file"
		holds "([.waits[], .syscalls[] | select(.name == \"clock_nanosleep\")] |
			.[0].count == .[1].off_cpu_count and .[0].total_ns == .[1].off_cpu_ns)" "$file"
		holds "$nap | .max_ns >= 4000000" "$file"
		holds '.functions[] | select(.name == "do_sleep") | .off_cpu_ns > 0' "$file"
	done
	record --off-cpu --faults -o whole.data -- "$WORKLOADS/waits" sleep 300
	same calls "$(total '[.syscalls[].count] | add' "${files[@]}")" \
		"$(total '[.syscalls[].count] | add' whole.data)"
}

@test "long: --rotate: the files together have each of many short programs, by name" {
	need_root
	record --rotate 200ms --max-overhead off -- /bin/sh -c \
		'i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); [ $((i % 50)) != 0 ] || sleep 0.5; done'
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 2 ]
	same exits "$(total '[.syscalls[] | select(.name == "exit_group")][0].count' "${files[@]}")" 307
	forks=0
	for file in "${files[@]}"; do
		holds '[.programs[].name] - ["sh", "true", "sleep"] == []' "$file"
		forks=$((forks + $(records fork "$file" | wc -l)))
	done
	same forks $forks 306
}

@test "--rotate SIZE: a new file begins when one has this size" {
	need_root
	record --rotate 40K -R 64K -- "$WORKLOADS/churn" --seconds 3
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 2 ]
	for file in "${files[@]:0:${#files[@]}-1}"; do
		[ "$(stat -c %s "$file")" -ge 40960 ]
	done
	are_all "${files[@]}"
}

@test "--rotate-limit SIZE: the oldest files are removed, and no file between the others is missing" {
	need_root
	record -v --rotate 300ms --rotate-limit 100K -- "$WORKLOADS/churn" --seconds 4
	grep -q 'removed gcprof-0001.data' record.log
	files=(gcprof-0*.data)
	sum=0 # on a busy machine one file may be left, which is larger
	for file in "${files[@]:0:${#files[@]}-1}"; do
		sum=$((sum + $(stat -c %s "$file")))
	done
	[ "$sum" -le 102400 ]
	are_profiles "${files[@]}"
	"$GCPROF" merge -o left.data "${files[@]}"
	same wall "$("$GCPROF" info --json left.data | jq .duration_ns)" \
		"$(for file in "${files[@]}"; do "$GCPROF" info --json "$file" | jq .duration_ns; done | jq -s add)"
	run "$GCPROF" record --rotate-limit 1M -- touch ran
	same status "$status" 2
	[ ! -e ran ]
}

@test "--rotate, and SIGKILL: all files but the last are complete, the last is readable" {
	need_root
	"$GCPROF" record --rotate 3s -- "$WORKLOADS/churn" --seconds 60 >out 2>record.log 3>&- &
	started+=($!)
	wait_until grep -q 'gcprof-0001.data is complete' record.log
	wait_until has_stored cpu 10 gcprof-0002.data
	churn=$(pgrep -P "${started[0]}" -x churn)
	started+=("$churn")
	kill -KILL "${started[0]}"
	wait "${started[0]}" || true
	are_profiles gcprof-0001.data
	"$GCPROF" report gcprof-0002.data 2>&1 | grep -qi 'end is missing\|next file'
}

@test "long: --rotate, and the disk is full: a message, status 1, earlier files are complete" {
	need_root
	mkdir small
	mount -t tmpfs -o size=128k none small || skip 'cannot mount a tmpfs'
	code=0
	"$GCPROF" record --rotate 30K -o small/x.data -- "$WORKLOADS/churn" --seconds 12 \
		>out 2>record.log || code=$?
	cp small/x* .
	umount small
	cat record.log
	same status $code 1
	grep -qi 'no space left' record.log
	grep -q 'x-0001.data is complete' record.log
	for file in $(sed -nE 's/^gcprof: small\/(.*) is complete.*/\1/p' record.log); do
		same "state of $file" "$("$GCPROF" info "$file" | sed -n 's/^state *//p')" complete
	done
	# The program ran to its end.
	[ -n "$(said bytes)" ]
}

@test "--rotate under sudo: all files are the user's" {
	need_root
	mkdir mine
	chown 12345:12345 mine
	chmod 755 . mine
	SUDO_UID=12345 SUDO_GID=12345 record --rotate 300ms -o mine/x.data -- sleep 4
	files=(mine/x-0*.data)
	[ "${#files[@]}" -ge 2 ]
	same owners "$(stat -c %u "${files[@]}" | sort -u)" 12345
}

@test "--rotate and --keep: invalid options are refused before anything runs" {
	for wrong in 0 10x M -1; do
		run "$GCPROF" record --rotate="$wrong" -- touch ran
		same status "$status" 2
		grep -q -- '--rotate' <<<"$output"
	done
	run "$GCPROF" record --rotate 1s -o - -- touch ran
	same status "$status" 2
	for wrong in '--keep x' '--keep 0' '--keep 1s --rotate 1s' '--keep 1s -o -' '--after 1s' \
		'--keep-limit 1M' '--keep 1M --keep-limit 1M'; do
		# shellcheck disable=SC2086 # several words
		run "$GCPROF" record $wrong -- touch ran
		same "status of $wrong" "$status" 2
	done
	[ ! -e ran ]
}

# Starts a recorder of $program that keeps the last two seconds, and one that records everything.
keep_beside() { # PROGRAM...
	need_root
	"$@" >program.out 2>&1 3>&- &
	program=$!
	started+=("$program")
	wait_until test -d "/proc/$program"
	"$GCPROF" record -F 999 --max-overhead 100 --syscall-rate 1000000 --off-cpu -o whole.data \
		-p "$program" 2>whole.log 3>&- &
	whole=$!
	started+=("$whole")
	"$GCPROF" record -v -F 999 --max-overhead 100 --syscall-rate 1000000 --off-cpu --keep 2s \
		-o kept.data -p "$program" 2>record.log 3>&- &
	keeper=$!
	started+=("$keeper")
	wait_until grep -q 'probes attached' record.log
}

# Requests a snapshot and waits until it is written.
snapshot() { # NUMBER
	kill -USR2 "$keeper"
	wait_until grep -q "kept-000$1.data has the last" record.log
}

end_both() {
	kill -INT "$keeper" "$whole"
	wait "$keeper" "$whole"
	kill -KILL "$program"
}

# Number of records of a kind that match a jq condition, in the other recording, within the span of a profile.
others() { # KIND CONDITION FILE
	local span
	span=$(records 'recording|end' "$3" | jq -s 'map(.start // .time)')
	records "$1" whole.data | jq -n --argjson span "$span" \
		"[inputs | select($2) | select(.time > \$span[0] and .time <= \$span[1])] | length"
}

# Equal within BY: both recorders see the same events, a moment apart.
near() { # WHAT A B BY
	echo "$1: $2 and $3"
	[ $(($2 - $3)) -le "$4" ] && [ $(($3 - $2)) -le "$4" ]
}

@test "long: --keep: two snapshots agree with another recorder on their spans" {
	keep_beside "$WORKLOADS/waits" sleep 100000
	for i in 1 2; do
		# Longer than the kept span.
		sleep 4
		snapshot $i
	done
	end_both
	cat record.log
	nap=$(records syscall whole.data | jq -s 'map(.number) | group_by(.) | max_by(length)[0]')
	for i in 1 2; do
		are_profiles kept-000$i.data
		holds '.end_reason == "snapshot" and .duration_ns >= 2000000000' kept-000$i.data
		naps=$(ask '.syscalls[] | select(.name == "clock_nanosleep").count' kept-000$i.data)
		[ "$naps" -ge 50 ]
		near naps "$naps" "$(others syscall ".number == $nap" kept-000$i.data)" 2
		holds '([.waits[], .syscalls[] | select(.name == "clock_nanosleep")] |
			.[0].count == .[1].off_cpu_count and .[0].total_ns == .[1].off_cpu_ns)' kept-000$i.data
		holds '.threads[0] | .name == "waits" and .off_cpu_ns == ([.off_cpu[].ns] | add)' \
			kept-000$i.data
		holds '.functions[] | select(.name == "do_sleep") | .off_cpu_ns > 0' kept-000$i.data
	done
	# The second one starts later.
	[ "$(records recording kept-0002.data | jq .start)" -gt "$(records recording kept-0001.data | jq .start)" ]
	holds '.end_reason == "interrupted"' kept-0003.data
}

@test "long: --keep: collections and samples of a busy program, in any span" {
	keep_beside "$WORKLOADS/churn" --seconds 120
	sleep 4
	snapshot 1
	end_both
	cat record.log
	are_profiles kept-0001.data
	pauses=$(ask '.gc.minor.count' kept-0001.data)
	[ "$pauses" -ge 5 ]
	samples=$(ask '.alloc.samples' kept-0001.data)
	near samples "$samples" "$(others alloc true kept-0001.data)" $((samples / 20 + 20))
	holds '[.threads[] | select(.samples > 0) | .name] == ["churn"]' kept-0001.data
	holds '[.functions[].name] | index("descend")' kept-0001.data
	holds '[.alloc.types[].name] | length > 1 and all(test("^object"))' kept-0001.data
	holds '.cpu.on_cpu_ns <= .duration_ns * 1.05' kept-0001.data
}

@test "long: --keep: a request while a snapshot is being written gets another one; one more at the end" {
	need_root
	"$GCPROF" record -v --keep 1M --off-cpu -- "$WORKLOADS/churn" --seconds 8 >out 2>record.log 3>&- &
	keeper=$!
	started+=("$keeper")
	wait_until takes_usr2 "$keeper"
	sleep 2
	for _ in 1 2 3 4 5 6 7 8; do
		kill -USR2 "$keeper"
		sleep 0.2
	done
	wait "$keeper"
	cat record.log
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 3 ]
	are_profiles "${files[@]}"
	holds '.end_reason == "program ended" and .exit_status == 0' "${files[-1]}"
	for file in "${files[@]}"; do
		[ "$(stat -c %s "$file")" -le 1048576 ]
	done
}

@test "--keep: a snapshot that cannot be written is reported, the recording continues" {
	need_root
	mkdir small
	mount -t tmpfs -o size=16k none small || skip 'cannot mount a tmpfs'
	"$GCPROF" record -v --keep 10s -R 1M -o small/x.data -- "$WORKLOADS/churn" --seconds 7 \
		>out 2>record.log 3>&- &
	keeper=$!
	started+=("$keeper")
	wait_until takes_usr2 "$keeper"
	sleep 2
	# What is asked for shortly before the end is in the last file.
	kill -USR2 "$keeper"
	wait "$keeper" || code=$?
	umount small
	cat record.log
	same status "$code" 1
	grep -q "error: small/x-0002.data: No space" record.log
	[ -n "$(said bytes)" ]
	grep -q 'recording continues' record.log
}

# Whether the recorder has started. Before, it blocks all signals for moments while it starts processes.
takes_usr2() { # PID
	grep -q 'the program runs\|probes attached' record.log &&
		[ $((0x$(sed -n 's/^SigBlk:[[:space:]]*//p' "/proc/$1/status") >> 11 & 1)) = 1 ]
}

@test "snapshot signals a recorder with --keep, and no other process" {
	need_root
	run "$GCPROF" snapshot $$
	same status "$status" 1
	grep -q 'not a gcprof record --keep' <<<"$output"
	"$GCPROF" record -v --keep 10s -o x.data -- sleep 60 2>record.log 3>&- &
	keeper=$!
	started+=("$keeper")
	wait_until takes_usr2 "$keeper"
	"$GCPROF" snapshot "$keeper"
	wait_until grep -q 'x-0001.data has the last' record.log
	kill -INT "$keeper"
	wait "$keeper"
	are_profiles x-0001.data x-0002.data
}

# Records a command with conditions; $files are the profiles with this reason.
when() { # REASON OPTIONS... -- COMMAND...
	local reason=$1
	shift
	rm -f kept-*.data
	code=0
	"$GCPROF" record --keep 5s --max-overhead 100 -o kept.data "$@" >out 2>record.log 3>&- || code=$?
	cat record.log
	files=()
	for file in kept-0*.data; do
		! "$GCPROF" info "$file" | grep -q "^snapshot *$reason" || files+=("$file")
	done
}

@test "--when syscall:NAME>TIME: a snapshot with what came before and after the call" {
	when 'syscall:clock_nanosleep>700ms' --when 'syscall:clock_nanosleep>700ms' --after 500ms -- \
		/bin/sh -c 'sleep 0.4; sleep 0.9; sleep 0.3; sleep 0.35; sleep 0.8'
	# The second long call comes too soon after the first.
	same snapshots "${#files[@]}" 1
	# 0.9 s, and how late it was woken.
	grep -Eq 'syscall:clock_nanosleep>700ms: [0-9.]+ m?s, sleep \([0-9]+\): taking a snapshot' record.log
	nap='[.syscalls[] | select(.name == "clock_nanosleep")][0]'
	holds "$nap | .count >= 3 and .count <= 4 and .max_ns >= 900000000" "${files[0]}"
	holds '[.programs[].name] | index("sleep")' "${files[0]}"
	[ ! -e kept-0003.data ]
}

@test "--when pause>TIME: a snapshot with that pause" {
	when 'pause>1us' --when 'pause>1h' --when 'pause>1us' -- "$WORKLOADS/churn" --seconds 3
	same snapshots "${#files[@]}" 1
	holds '.gc.minor.count > 0 and .gc.minor.max_ns > 1000' "${files[0]}"
}

@test "long: --when rss>SIZE and exit!=STATUS" {
	when 'rss>40M' --when 'rss>40M' -- python3 -c 'x = bytearray(100 << 20); import time; time.sleep(4)'
	same snapshots "${#files[@]}" 1
	grep -q 'MiB, python3 (' record.log
	when 'exit!=0' --when 'exit!=0' -- /bin/sh -c 'sleep 0.2; sh -c "exit 7"; sleep 2; exit 0'
	same status $code 0
	same snapshots "${#files[@]}" 1
	grep -q 'exit!=0: 7, sh (' record.log
	when 'exit!=0' --when 'exit!=0' -- /bin/sh -c 'sh -c "exit 0"; sleep 1.5'
	same snapshots "${#files[@]}" 0
	when 'exit!=0' --when 'exit!=0' -- /bin/sh -c 'sleep 0.2; exit 3'
	same status $code 3
	same snapshots "${#files[@]}" 1
	holds '.exit_status == 3' "${files[0]}"
	"$GCPROF" info "${files[0]}" | grep -q 'exit!=0: 3, sh ([0-9]*)$'
	when 'exit!=0' --when 'exit!=0' -- true
	# No condition came true; the kept part is still written at the end.
	[ -e kept-0001.data ]
}

@test "long: --when alloc>SIZE/s: allocation of a process per second" {
	when 'alloc>100M/s' --when 'alloc>100M/s' --when 'alloc>1T/s' -- "$WORKLOADS/churn" --seconds 2
	same snapshots "${#files[@]}" 1
	holds '.alloc.bytes.high > 104857600' "${files[0]}"
	when 'alloc>' --when 'alloc>1T/s' -- "$WORKLOADS/churn" --seconds 1
	same snapshots "${#files[@]}" 0
}

# Makes a cgroup limited to 32 MiB without swap; $small is its folder.
make_small_cgroup() {
	small=$(awk '$3 == "cgroup" && $4 ~ /memory/ {print $2; exit}' /proc/mounts)
	if [ -n "$small" ]; then
		mkdir "$small/gcprof-test-$$" || return 1
		small=$small/gcprof-test-$$
		echo 32M >"$small/memory.limit_in_bytes"
	else
		small=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)/gcprof-test-$$
		mkdir "$small" 2>/dev/null && [ -e "$small/memory.max" ] && echo 32M >"$small/memory.max"
	fi
}

@test "long: --when oom: a snapshot with the process that the kernel kills, and its end" {
	need_root
	make_small_cgroup || skip 'there is no cgroup with a limit of memory'
	# Only the victim is in the cgroup.
	victim="echo \$\$ >$small/cgroup.procs; exec python3 -c 'x = bytearray(100 << 20)'"
	when oom --when oom --after 200ms -- /bin/sh -c 'sleep 0.5; sh -c "$0"; sleep 1.5' "$victim"
	same snapshots "${#files[@]}" 1
	end=$("$GCPROF" dump "${files[0]}" | jq -s '(.[] | select(.record == "oom")) as $oom |
		.[] | select(.record == "exit" and .thread == $oom.thread) |
		{status, after: (.time > $oom.time)}' | jq -c .)
	same end "$end" '{"status":9,"after":true}'
	grep -q 'oom: python3 ([0-9]*): taking a snapshot' record.log
	holds '([.programs[].name] | index("python3")) and (.snapshot | startswith("oom: python3 ("))' "${files[0]}"
	"$GCPROF" report "${files[0]}" | grep -q '^  snapshot: oom: python3 ([0-9]*)$'
	# Processes that are not recorded do not count.
	(sleep 1; sh -c "$victim" || true) &
	when oom --when oom -- sleep 3
	wait
	rmdir "$small"
	same snapshots "${#files[@]}" 0
}

@test "--when: invalid conditions are refused" {
	for wrong in pause 'pause>' 'pause>x' 'pause<1s' 'syscall:nosuch>1s' 'syscall>1s' 'syscall:read>1us' \
		'exit>1' 'oomx' 'oom>1' 'pausex>1s' 'rss>x' 'alloc>1G' 'alloc>x/s' 'alloc>/s'; do
		run "$GCPROF" record --keep 1s --when "$wrong" -- touch ran
		same "status of $wrong" "$status" 2
		grep -q -- '--when' <<<"$output"
	done
	run "$GCPROF" record --when 'pause>1s' -- touch ran
	same status "$status" 2
	[ ! -e ran ]
}
