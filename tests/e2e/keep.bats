#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# keep.bats: recordings in several files: each is a profile, and together they have everything once.
# Parallel: no other recorder matters.

load common

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	gcc -O1 -D_GNU_SOURCE "$BATS_TEST_DIRNAME/programs/clocked.c" -o "$PROGRAMS/clocked" -lpthread
}

# The sum of a jq expression over the reports of files.
total() { # EXPRESSION FILE...
	local file
	for file in "${@:2}"; do
		"$GCPROF" report --json "$file" | jq "$1 // 0" || return 1
	done | jq -s add
}

# Every file is complete, and readers of all kinds take it.
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

# A value of the line that a workload prints at its end.
said() { # KEY
	sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" out | tail -n 1
}

# What the summary says of a stream.
counted() { # STREAM
	grep -oE "[0-9]+ $1" record.log | tail -n 1 | cut -d' ' -f1
}

# Samples and what became of them; the period in force stands in each file.
are_all() { # FILE...
	same 'alloc events' "$(total .streams.alloc.events "$@")" $(($(counted alloc) + $# - 1))
}

@test "--rotate: files have together what a busy program counts itself" {
	need_root
	record --rotate 500ms -- "$WORKLOADS/churn" --threads 2 --bytes 6G
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
	# Threads, functions and types have their names in each of them.
	for file in "${files[@]:0:${#files[@]}-1}"; do
		holds '[.threads[] | select(.samples > 0) | .name] | unique == ["churn"]' "$file"
		holds '[.functions[].name] | index("descend")' "$file"
		holds '[.alloc.types[].name] | length > 1 and all(test("^object"))' "$file"
		holds '.end_reason == "goes on" and .gc.unpaired <= 2' "$file"
	done
	holds '.end_reason == "program ended" and .exit_status == 0' "${files[-1]}"
}

@test "--rotate: files have together the exact CPU time" {
	need_root
	record --rotate 300ms -- "$PROGRAMS/clocked" steps 2
	cat out
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 2 ]
	truth=$(said cpu_ns)
	sum=$(total .cpu.on_cpu_ns "${files[@]}")
	echo "CPU time: $sum, by the kernel's clocks $truth"
	jq -ne "($sum - $truth | fabs) < $truth / 100 + 3000000" >/dev/null
}

@test "--rotate: files have together each call and each wait of an idle program" {
	need_root
	record --rotate 500ms --off-cpu --faults -- "$WORKLOADS/waits" sleep 300
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 3 ]
	are_profiles "${files[@]}"
	nap='[.syscalls[] | select(.name == "clock_nanosleep")][0]'
	same sleeps "$(total "$nap.count" "${files[@]}")" 300
	# Totals and the waits of threads agree in each, and so do those of all.
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

@test "--rotate: files have together each program of many short ones, by its name" {
	need_root
	record --rotate 200ms -- /bin/sh -c \
		'i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done'
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 2 ]
	same exits "$(total '[.syscalls[] | select(.name == "exit_group")][0].count' "${files[@]}")" 301
	forks=0
	for file in "${files[@]}"; do
		holds '[.programs[].name] - ["sh", "true"] == []' "$file"
		forks=$((forks + $("$GCPROF" dump "$file" | grep -c '"record":"fork"')))
	done
	same forks $forks 300
}

@test "--rotate SIZE: another file begins when one has this size" {
	need_root
	record --rotate 40K -R 16K -- "$WORKLOADS/churn" --bytes 3G
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 2 ]
	for file in "${files[@]:0:${#files[@]}-1}"; do
		[ "$(stat -c %s "$file")" -ge 40960 ]
	done
	are_all "${files[@]}"
}

@test "--rotate, and SIGKILL: all files but the last are complete, that one is readable" {
	need_root
	"$GCPROF" record --rotate 500ms -- "$WORKLOADS/churn" --seconds 60 >out 2>record.log 3>&- &
	started+=($!)
	wait_until grep -q 'gcprof-0002.data is complete' record.log
	wait_until has_stored cpu 10 gcprof-0003.data
	churn=$(pgrep -P "${started[0]}" -x churn)
	started+=("$churn")
	kill -KILL "${started[0]}"
	wait "${started[0]}" || true
	are_profiles gcprof-0001.data gcprof-0002.data
	"$GCPROF" report gcprof-0003.data 2>&1 | grep -qi 'end is missing\|next file'
}

@test "--rotate, and the disk is full: a message, status 1, files before are complete" {
	need_root
	mkdir small
	mount -t tmpfs -o size=192k none small || skip 'cannot mount a tmpfs'
	code=0
	"$GCPROF" record --rotate 40K -o small/x.data -- "$WORKLOADS/churn" --seconds 8 \
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
	# The program went on to its end.
	[ -n "$(said bytes)" ]
}

@test "--rotate under sudo: all files are the user's" {
	need_root
	mkdir mine
	chown 12345:12345 mine
	chmod 755 . mine
	SUDO_UID=12345 SUDO_GID=12345 record --rotate 300ms -o mine/x.data -- sleep 1
	files=(mine/x-0*.data)
	[ "${#files[@]}" -ge 2 ]
	same owners "$(stat -c %u "${files[@]}" | sort -u)" 12345
}

@test "--rotate: what makes no sense is refused before anything runs" {
	for wrong in 0 10x M -1; do
		run "$GCPROF" record --rotate="$wrong" -- touch ran
		same status "$status" 2
		grep -q -- '--rotate' <<<"$output"
	done
	run "$GCPROF" record --rotate 1s -o - -- touch ran
	same status "$status" 2
	[ ! -e ran ]
}
