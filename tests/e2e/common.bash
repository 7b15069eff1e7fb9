# SPDX-License-Identifier: BSD-2-Clause
# common.bash: what the end-to-end tests share: paths, a scratch folder, JSON questions.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=$(cd "$ROOT" && realpath "${BUILD_DIR:-build}")
GCPROF=$BUILD/gcprof
WORKLOADS=$BUILD/workloads
export ROOT BUILD GCPROF WORKLOADS
# Text has characters beyond ASCII, unless a test sets another locale.
export LC_ALL=C.UTF-8
# Root's own tests, also under sudo; those of other users say who calls.
unset SUDO_UID SUDO_GID PKEXEC_UID DOAS_USER
# What is sorted, matched or escaped here is the same on every machine.
export LC_ALL=C.UTF-8

setup() {
	[ -x "$GCPROF" ] || {
		echo "$GCPROF is not built"
		return 1
	}
	cd "$BATS_TEST_TMPDIR" || return 1
}

# Whether a process was started here: what a test started may have ended, and its number be another's by now.
# They come round in minutes where many programs start. (The environment would say so, too, but may be locked.)
is_ours() { # PID
	[[ $(readlink "/proc/$1/cwd") == $(realpath "$BATS_RUN_TMPDIR")/* ]]
}

# Ends what a test has put into `started`, stopped or not: processes, and groups as negative numbers.
end_started() {
	local pid
	for pid in "${started[@]}"; do
		[[ $pid != -* ]] || pid=$(pgrep -g "${pid#-}" || true)
		for pid in $pid; do
			! is_ours "$pid" || kill -KILL "$pid" 2>/dev/null || true
		done
	done
}

# A build with sanitizers: its processes need more address space and memory, and keep standard error for reports.
is_sanitized() {
	grep -qs fsanitize "$BUILD/flags"
}

# Whether no sanitizer has reported anything there. A reader that died of a fault is replaced: nothing else says it.
silent() { # LOG...
	! grep -E 'runtime error: |ERROR: [A-Za-z]+Sanitizer' "$@" 2>/dev/null
}

teardown() {
	end_started
	! is_sanitized || silent ./*.log
}

# What recorders have in the control block of a process: how many they are, and what they ask for.
requests() { # PID
	local control
	control=$(address "$1" gcprof_control)
	echo "$(memory "$1" $((control + 12)) 4) $(memory "$1" $((control + 32)) 384)"
}

# The interpreters of other releases of Python, from 3.MINOR on: pyenv's, and those of make pythons, of which
# the last has no global lock.
other_pythons() { # MINOR
	local python minor
	for python in ~/.pyenv/versions/3.*/bin/python3 "$BUILD"/pythons/usr/bin/python3.1[4-9] \
		"$BUILD"/pythons/free/bin/python3.13t; do
		[ -x "$python" ] || continue
		minor=$("$python" -c 'import sys; print(sys.version_info[1])')
		[ "$minor" -lt "$1" ] || echo "$python"
	done
}

need_root() {
	[ "$(id -u)" = 0 ] || skip 'recording needs root'
}

# Records quietly into gcprof.data; what gcprof says goes to record.log, the program's output to out.
# What a recording may take has tests of its own: with a limit, what takes long, as all does on a busy
# machine, has totals of system calls that are estimates.
record() {
	usual_options "$@"
	"$GCPROF" record "${usual[@]}" "$@" >out 2>record.log
}

# Sets `usual` to the options of tests that are not among the arguments before --.
usual_options() { # ARGUMENTS...
	local given=" ${*} "
	given=${given%% -- *}
	usual=()
	[[ $given =~ \ (-F|--frequency) ]] || usual+=(-F 999)
	[[ $given =~ \ --syscall-rate ]] || usual+=(--syscall-rate 5000)
	[[ $given =~ \ --max-overhead ]] || usual+=(--max-overhead 100)
}

# Fails if the file has the text. (A mere "! grep" would not fail a test.)
absent() { # TEXT FILE
	if grep -iF -- "$1" "$2"; then
		echo "$2 has: $1"
		return 1
	fi
}

# The report of a profile, as .report.json: many questions are asked of one or a few, each of which is
# read once.
read_report() { # FILE
	local of kept=.report.${1//\//+}
	of="$(stat -L -c '%i %s %.Y' "$1") ${GCPROF_MEMORY:-}" || return 1
	[ "$of" = "$(cat "$kept.of" 2>/dev/null)" ] || {
		rm -f "$kept.of"
		"$GCPROF" report --json "$1" >"$kept" || return 1
		echo "$of" >"$kept.of"
	}
	ln -sf "$kept" .report.json
}

# The value of a jq expression on the report of a profile.
ask() { # EXPRESSION [FILE]
	read_report "${2:-gcprof.data}" && jq -r "$1" .report.json
}

# Records of some kinds, a line each: jq takes seconds for all of a busy program's.
records() { # KIND|KIND... [FILE]
	"$GCPROF" dump "${2:-gcprof.data}" >.dump || return 1
	grep -E "^\{\"record\":\"($1)\"" .dump || true
}

# Fails with both sides if they differ.
same() { # WHAT LEFT RIGHT
	[ "$2" = "$3" ] && return 0
	echo "$1: $2, not $3"
	return 1
}

# Fails unless the jq condition holds for the report. If it does not, shows what it looks at: the
# keys of the report that it names; of long lists the rows that it names, or else the first ten.
holds() { # CONDITION [FILE]
	read_report "${2:-gcprof.data}" && cp .report.json report.json || return 1
	jq -e "$1" report.json >/dev/null && return 0
	echo "does not hold: $1"
	jq -c --arg condition "$1" '[$condition | scan("\"([^\"]+)\"")[0]] as $names |
		to_entries[] | select(.key as $key | $condition | test("\\." + $key + "\\b")) |
		{(.key): .value | walk(if type == "array" and length > 10 then
			map(select([.[]?] | any(IN($names[])))) as $named |
			if $named == [] then .[:10] + ["and so on"] else $named end else . end)}' report.json
	return 1
}

# Waits until a command succeeds, for as long as that may take on a busy machine.
wait_until() { # COMMAND...
	local end=$((SECONDS + 120))
	while [ $SECONDS -lt $end ]; do
		! "$@" || return 0
		sleep 0.05
	done
	echo "still not: $*"
	return 1
}

# A recorder is killed with the processes that would restore what it wrote into programs.
kill_with_openers() { # PID
	pkill -KILL -P "$1" -x gcprof-opener || true
	kill -KILL "$1"
	wait "$1" || true
}

# CPU time of a process so far, in hundredths of a second.
ticks() { # PID
	awk '{print $14 + $15}' "/proc/$1/stat"
}

ran() { # PID TICKS
	[ "$(ticks "$1")" -ge "$2" ]
}

# Waits until a process is there and busy, and is no shell any more that will execute it.
wait_busy() { # PID
	wait_until ran "$1" 5
}

# Waits until it has used so much more CPU time.
wait_on() { # PID TICKS
	wait_until ran "$1" $(($(ticks "$1") + $2))
}

# Nearly all stacks are whole, or guessed: that is what they are until their unwind rows are there.
are_whole() { # SAMPLES
	holds ".stacks | .samples > $1 and .complete + (.unfinished.user_guessed // 0) / .samples > 0.98"
}

# Whether so many records of a kind are in a profile, which somebody may still write.
has_stored() { # RECORD COUNT [FILE]
	[ "$("$GCPROF" dump "${3:-gcprof.data}" 2>/dev/null | grep -m "$2" -c "^{\"record\":\"$1\"")" = "$2" ]
}

# Records until so many records of a kind are in gcprof.data, however long that takes.
record_until() { # RECORD COUNT ARGUMENT...
	rm -f gcprof.data
	usual_options "${@:3}"
	"$GCPROF" record "${usual[@]}" "${@:3}" >out 2>record.log &
	local recorder=$! end=$((SECONDS + 120))
	started+=("$recorder")
	while [ $SECONDS -lt $end ]; do
		! has_stored "$1" "$2" || break
		sleep 0.2
	done
	kill -INT "$recorder"
	wait "$recorder"
	unset 'started[-1]'
}

# Records a program that waits for a file, or ends with it, and makes that when so many records of a kind are in
# gcprof.data: however late the recorder attaches. The program's status is that of this.
record_told() { # FILE RECORD COUNT ARGUMENT...
	local recorder code=0
	rm -f gcprof.data "$1"
	usual_options "${@:4}"
	"$GCPROF" record "${usual[@]}" "${@:4}" >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until has_stored "$2" "$3" || code=1
	: >"$1"
	wait "$recorder" || code=$?
	unset 'started[-1]'
	return $code
}

# How many threads or processes a timer has found with a function on their stacks.
found_in() { # thread|process FUNCTION
	"$GCPROF" query --format csv "WITH RECURSIVE walk(id, frame, parent) AS (
			SELECT $1, frame, parent FROM ticks JOIN stacks ON stacks.id = stack
			UNION SELECT walk.id, stacks.frame, stacks.parent FROM walk JOIN stacks ON stacks.id = walk.parent)
		SELECT count(DISTINCT walk.id) FROM walk JOIN frames ON frames.id = frame
		JOIN functions ON functions.id = function WHERE name = '$2'" 2>/dev/null | tail -n 1 | tr -d '\r'
}

# How many BPF programs of the kinds that a recorder has are there that no process has open: others
# may record meanwhile, and services come and go whose programs their cgroup has.
orphans() {
	bpftool -j prog show | jq -r '.[] | select(.type | IN("kprobe", "perf_event", "tracing")).id' | grep -cvxFf <(
		cat /proc/[0-9]*/fdinfo/* 2>/dev/null | sed -n 's/^prog_id:[[:space:]]*//p'
	) || true
}

# A copy of a workload, which no recorder of another test has attached probes to: its semaphores and
# those of the processes that run it are of this test alone.
own_copy() { # WORKLOAD
	cp "$WORKLOADS/$1" "$1"
}

no_more_orphans() { # THAN
	[ "$(orphans)" -le "$1" ]
}

# For what is only true while nobody else records programs that are not his own: skips if somebody
# records the whole machine. (In make test only files do that that run alone.)
needs_nobody_else() { # COMMAND...
	! "$@" || return 0
	! pgrep -f '^[^ ]*gcprof record .*--system' >/dev/null || skip 'somebody else records'
	return 1
}

# Starts a program in the background; its number is in $pid.
start() {
	"$@" >/dev/null 2>&1 3>&- &
	pid=$!
	started+=("$pid")
}

# Waits until a recorder with -v that writes record.log says so.
wait_said() { # TEXT
	wait_until grep -qF -- "$1" record.log
}

# Waits until it has attached everything.
wait_attached() {
	wait_said "ms  probes attached"
}

# Begins to record what runs already, in the background.
begin_recording() { # OPTION...
	rm -f record.log # of an earlier one, which was attached
	"$GCPROF" record -v "$@" 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_attached
}

end_recording() {
	kill -TERM "$recorder"
	wait "$recorder"
}

# Address of a symbol of the program in a process.
address() { # PID SYMBOL
	local program base offset
	program=$(readlink "/proc/$1/exe")
	base=$(awk -v p="$program" '$6 == p {split($1, a, "-"); print a[1]; exit}' "/proc/$1/maps")
	offset=$(nm "$program" | awk -v s="$2" '$3 == s {print $1; exit}')
	echo $((0x$base + 0x$offset))
}

# Bytes of a process's memory in hexadecimal.
memory() { # PID ADDRESS BYTES
	dd if="/proc/$1/mem" bs=1 skip="$2" count="$3" status=none iflag=skip_bytes | od -An -v -tx1 | tr -d ' \n'
}

# Sum of a kind of samples of a profile for pprof that protoc has decoded; 0 if it has none.
pprof_sum() { # FILE KIND
	awk -v kind="\"$2\"" 'FNR == 1 { pass++ }
		pass == 1 && /^sample_type \{/ { getline; types[kinds++] = $2 }
		pass == 1 && /^string_table: / { texts[n++] = $2 }
		pass == 2 && /^sample \{/ { i = 0 }
		pass == 2 && /^  value: / { if (texts[types[i++]] == kind) sum += $2 }
		END { printf "%.0f\n", sum }' "$1" "$1"
}
