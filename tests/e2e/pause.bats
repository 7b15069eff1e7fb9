#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# pause.bats: pause, resume and --start-paused: what is recorded is what happened outside of the pauses.
# Parallel: the recorders are addressed by their numbers.

load common

setup_file() {
	gcc -O1 -I"$ROOT/gc" "$BATS_TEST_DIRNAME/programs/paced.c" "$BUILD/libgcprof-gc.a" \
		"$BUILD/libgcprof-provider.a" -lm -lpthread -o "$BATS_FILE_TMPDIR/paced"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	ln -s "$BATS_FILE_TMPDIR/paced" paced
}

# Starts a recorder: $recorder. Its messages go to record.log, the program's output to out.
begin() { # OPTION... -- COMMAND...
	need_root
	local default=(--max-overhead 100)
	[[ " $* " != *' --max-overhead '* ]] || default=()
	"$GCPROF" record "${default[@]}" "$@" >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
}

# Asks for a pause or resume, and waits until the recorder says for the nth time that it did.
ask_for() { # pause|resume NTH
	"$GCPROF" "$1" "$recorder"
	wait_until has_said "^gcprof: $1d" "$2"
}

has_said() { # PATTERN COUNT
	[ "$(grep -c "$1" record.log)" -ge "$2" ]
}

is_recording() { # PARENT [NAME]
	pgrep -P "$1" -x "${2:-paced}" >/dev/null
}

# What a column of the program's own lines grew by outside of the pauses: they are in "from to" lines. Those of bytes
# last until there are samples again, for which a program has to be asked.
outside() { # COLUMN [bytes]
	"$GCPROF" info --json gcprof.data | jq -r '.paused[] | "\(.start_ns) \(.start_ns + .duration_ns)"' >spans
	: >samples
	[ -z "${2:-}" ] || records alloc | jq .time | sort -n >samples
	awk 'FILENAME == "samples" {times[++n] = $1; next}
		{
			for (i = 1; i <= n && times[i] < $2; i++);
			end = !n ? $2 : i <= n ? times[i] : 9e18
			print ($1 < last ? last : $1), end
			last = end
		}' OFMT=%.0f CONVFMT=%.0f samples spans >pauses
	awk -v column="$1" 'function at(time,   i) {
			for (i = 1; i < n && times[i + 1] <= time; i++);
			if (i == n || time <= times[1]) return values[i]
			return values[i] + (values[i + 1] - values[i]) * (time - times[i]) / (times[i + 1] - times[i])
		}
		NR == FNR {times[++n] = $1; values[n] = $column; next}
		{sum -= at($2) - at($1)}
		END {printf "%.0f\n", sum + values[n] - values[1]}' out pauses
}

# Fails if two numbers differ by more than so many per cent, or the first is more by another number.
close_to() { # WHAT VALUE TRUTH PERCENT [MORE]
	echo "$1: $2, truth $3"
	jq -ne "($3 * $4 / 100) as \$off | $2 - $3 | . >= -\$off and . <= \$off + ${5:-0}" >/dev/null
}

# What the program takes until its first line, and to end, is in none of its lines: where memory comes
# slowly, that may be more than a few per cent of all.
agrees_on_cpu() {
	close_to CPU "$(ask '[.threads[] | select(.name == "paced").cpu_ns] | add')" "$(outside 4)" 8 \
		"$(awk 'NR == 1 {print $4 + 100000000}' out)"
}

agrees() { # PERCENT_OF_CALLS
	close_to calls "$(ask '.syscalls[] | select(.name == "getppid").count')" "$(outside 2)" "$1"
	# Of the fewer samples the longer others have the CPU: 4.7 standard deviations of them.
	close_to bytes "$(ask .alloc.bytes.estimate)" "$(outside 3 bytes)" \
		"$(ask '.alloc.bytes | 3 + 120 * (.high - .low) / .estimate')"
	agrees_on_cpu
}

# Ends the program when it has gone on for a while, however late that is, and waits for the recorder.
end_program() { # [PARENT]
	sleep 1
	pkill -TERM -P "${1:-$recorder}" -x paced
	wait "$recorder"
}

@test "calls, allocation and CPU time are those outside of the pauses" {
	for options in '--max-overhead off' '--max-overhead 100'; do
		begin $options -R 4K -- ./paced 200
		wait_until is_recording "$recorder"
		sleep 1
		ask_for pause 1
		sleep 1
		ask_for resume 1
		sleep 1
		ask_for pause 2
		sleep 0.5
		ask_for resume 2
		end_program
		cat record.log
		read_report gcprof.data
		agrees 3
		holds '(.paused | length) == 2 and .paused_ns > 1400000000 and
			.selected_ns == .duration_ns - .paused_ns and .syscall_untraced_ns == 0'
		# No sample and no collection is within a pause.
		"$GCPROF" dump gcprof.data | jq -s --argjson paused "$(ask '.paused | tojson')" '[.[] |
			select(.record == ("cpu", "alloc", "syscall", "gc_begin", "period")) | .time] as $times |
			[$paused[] | . as $pause | $times[] | select(. > $pause.start_ns and
				. < $pause.start_ns + $pause.duration_ns)] | length' >within
		same 'events in pauses' "$(cat within)" 0
	done
	"$GCPROF" report gcprof.data >text
	grep -q '^ *paused for .* of it: all figures are of the other' text
	"$GCPROF" info gcprof.data | grep -q '^paused  *[0-9.]* s from [0-9.]* s on'
	"$GCPROF" export -f firefox -o out.json gcprof.data
	same markers "$(jq '[.. | objects | select(.type? == "GcprofPaused")] | length' <(zcat out.json))" 2
	"$GCPROF" query -f json 'SELECT start AS start_ns, duration_ns FROM recording_pauses
		WHERE recording IS NULL AND finish = start + duration_ns' gcprof.data >rows
	same rows "$(jq -c . rows)" "$(ask '[.paused[] | {start_ns, duration_ns}] | tojson')"
	"$GCPROF" info --json gcprof.data >info
	same info "$(jq -c .paused info)" "$(ask '[.paused[] | {start_ns, duration_ns}] | tojson')"
}

@test "--off-cpu and --keep: a thread's time is that outside of the pause, in snapshots as well" {
	begin --off-cpu --keep 1m -- ./paced 200
	wait_until is_recording "$recorder"
	sleep 0.7
	ask_for pause 1
	sleep 0.7
	"$GCPROF" snapshot "$recorder"
	ask_for resume 1
	end_program
	for file in gcprof-0001.data gcprof-0002.data; do
		holds '(.paused | length) == 1 and .paused_ns > 600000000 and .selected_ns == .duration_ns - .paused_ns' \
			"$file"
	done
	# The pause took longer.
	holds '.threads[] | select(.name == "paced") | .on_cpu_ns - .cpu_ns < 300000000' "$file"
	"$GCPROF" query -f json "SELECT (SELECT wall_ns FROM threads WHERE name = 'paced') AS wall,
		(SELECT count(*) FROM waits) AS waits,
		(SELECT count(*) FROM waits JOIN recording_pauses AS p ON waits.start > p.start AND
			waits.start < p.finish) AS within" "$file" >rows
	same 'wall, in SQL' "$(jq '.[0].wall' rows)" "$(ask '.threads[] | select(.name == "paced").wall_ns' "$file")"
	jq -e '.[0] | .waits > 100 and .within == 0' rows || {
		cat rows
		false
	}
}

@test "--start-paused: nothing is recorded before the resume, all names are there after it" {
	begin --start-paused -R 4K -- ./paced 200
	wait_until is_recording "$recorder"
	sleep 1
	ask_for resume 1
	end_program
	agrees 3
	holds '(.paused | length) == 1'
	same 'events before the resume' "$("$GCPROF" dump | jq -s --argjson resumed "$(ask '.paused[0] | .start_ns + .duration_ns')" '
		[.[] | select(.record == ("cpu", "alloc", "syscall", "gc_begin")) | select(.time < $resumed)] | length')" 0
	holds '[.alloc.types[].name] == ["object"] and .threads[0].name == "paced"'
	holds '[.functions[].name] | index("step")'
}

@test "--start-paused without a resume: a valid profile that says so" {
	begin --start-paused -- ./paced 1
	wait "$recorder"
	grep -q 'recorded 0\.[0-9]* s (and paused for' record.log
	holds '.state == "complete" and .paused_ns > 900000000 and .alloc.samples == 0 and .cpu.samples == 0 and
		.cpu.on_cpu_ns < 20000000 and .gc.minor.count == 0'
	holds '[.syscalls[] | select(.name == "getppid")] == []'
	"$GCPROF" report gcprof.data | grep -q 'paused for'
}

@test "what begins during a pause is recorded after it: processes, programs, libraries" {
	cat >run <<-END
		#!/bin/sh
		sleep 2
		./paced 200
	END
	chmod +x run
	begin -R 4K -- ./run
	wait_until is_recording "$recorder" run
	ask_for pause 1
	wait_until is_recording "$(pgrep -P "$recorder" -x run)" paced
	sleep 1
	ask_for resume 1
	end_program "$(pgrep -P "$recorder" -x run)"
	agrees 3
	holds '[.alloc.types[].name] == ["object"] and ([.threads[] | select(.name == "paced")] | length) == 1'
	holds '[.functions[].name] | index("step")'
}

@test "a pause or resume that changes nothing, and requests by the program's number" {
	begin -- ./paced 200
	wait_until is_recording "$recorder"
	program=$(pgrep -P "$recorder" -x paced)
	"$GCPROF" resume "$recorder"
	"$GCPROF" pause "$program"
	wait_until has_said 'paused; to resume' 1
	"$GCPROF" pause "$program"
	"$GCPROF" pause "$recorder"
	sleep 0.3
	"$GCPROF" resume "$program"
	wait_until has_said 'resumed after' 1
	"$GCPROF" resume "$program"
	end_program
	holds '(.paused | length) == 1'
	same pauses "$(grep -c 'paused; to resume' record.log)" 1
}

@test "another user can pause no recorder, and nobody another process" {
	begin -- ./paced 200
	wait_until is_recording "$recorder"
	cp "$GCPROF" gcprof
	chmod -R a+rX . "$BATS_TEST_TMPDIR"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$GCPROF" pause "$recorder"
	same status "$status" 1
	grep -q 'it belongs to another user: use sudo' <<<"$output"
	run "$GCPROF" pause $$
	same status "$status" 1
	grep -q 'not a gcprof record' <<<"$output"
	run "$GCPROF" pause x
	same status "$status" 2
	end_program
	holds '.paused == []'
}

@test "a recorder that is killed while it is paused leaves a readable profile" {
	begin -- ./paced 30
	wait_until is_recording "$recorder"
	program=$(pgrep -P "$recorder" -x paced)
	started+=("$program")
	wait_until has_stored cpu 60
	ask_for pause 1
	sleep 1.5
	kill -KILL "$recorder"
	wait "$recorder" || true
	kill -KILL "$program"
	"$GCPROF" report gcprof.data >text || true
	grep -q 'paused for' text
	holds '(.paused | length) == 1 and .cpu.samples > 50'
}

@test "--rotate: a pause that goes on in the next file is in both" {
	local file whole=
	begin --rotate 1s -- ./paced 200
	wait_until is_recording "$recorder"
	sleep 0.5
	ask_for pause 1
	# The file in which it begins, and one that has nothing else.
	wait_until has_said 'is complete' $(($(grep -c 'is complete' record.log) + 2))
	ask_for resume 1
	end_program
	files=(gcprof-0*.data)
	[ "${#files[@]}" -ge 3 ]
	# One of them is in it as a whole.
	for file in "${files[@]}"; do
		"$GCPROF" report --json "$file" >report
		jq -c '{file, paused_ns, duration_ns, samples: .cpu.samples}' report
		if jq -e '(.paused | length == 1) and .paused_ns == .duration_ns and .cpu.samples == 0' report; then
			whole=$file
		fi
	done
	[ -n "$whole" ]
	"$GCPROF" merge -o gcprof.data "${files[@]}"
	holds '(.paused | length) == 1 and .paused_ns > 1000000000'
	close_to calls "$(ask '.syscalls[] | select(.name == "getppid").count')" "$(outside 2)" 3
	agrees_on_cpu
}
