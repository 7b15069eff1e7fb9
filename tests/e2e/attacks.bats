#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# attacks.bats: files and programs made to hang or fill the recorder. Names as in faults.bats: "attack: what happens".
# Long: two minutes.

load common
load attacks

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	build_attacks "$PROGRAMS"
	chmod -R a+rX "$BATS_RUN_TMPDIR"
}

# A folder of the attacker's own.
setup_folder() {
	need_root
	mkdir folder
	chown "$ATTACKER" folder
	chmod a+rx "$BATS_TEST_TMPDIR"
	cd folder || return 1
}

bomb() { # MODE FILE [NUMBER [BASE]]
	"${AS_ATTACKER[@]}" "$PROGRAMS/elfbomb" "$@"
}

# Waits until a recorder ends; its memory meanwhile is in $peak and $reader_peak (KiB). One that
# takes longer is killed.
wait_recorder() { # SECONDS
	local since limit
	since=$(clock)
	limit=$(patience "$1")
	while is_running "$recorder"; do
		see_memory "$recorder"
		if is_past "$since" "$limit"; then
			kill -KILL "$recorder"
			echo "the recorder still ran after $limit s; it had $peak KiB"
			tail -n 5 record.log
			return 1
		fi
		sleep 0.05
	done
}

# Records what a script starts until it is interrupted, after these seconds and after the program that means no
# harm, if the script has one: a busy machine may begin it late. The script's processes go on.
attack() { # SECONDS SCRIPT [OPTION...]
	local seconds=$1 script=$2 since
	shift 2
	rm -f churned
	[[ $script = *churn* ]] || : >churned
	peak=0 reader_peak=0 early=0 code=0
	printf 'echo $$ >driver\ncd "%s"\nPATH=%s:$PATH\nchurn() { command churn "$1" $(($2 * SLOWER)); : >churned; }\n%s\nwait\n' \
		"$PWD" "$PROGRAMS" "$script" >script
	"$GCPROF" record -v -F 999 --max-overhead 100 "$@" -- setsid --wait bash script >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until test -s driver
	started+=("-$(cat driver)")
	since=$(clock)
	while is_running "$recorder" && { [ ! -e churned ] || ! is_past "$since" "$seconds"; }; do
		see_memory "$recorder"
		[ "$early" != 0 ] || ! is_past "$since" 3 || early=$peak
		sleep 0.05
	done
	kill -INT "$recorder" 2>/dev/null || true
	wait_recorder "$END_S"
	wait "$recorder" || code=$?
	cat record.log
	echo "status $code, peak $peak KiB, $early KiB of that in three seconds, reader's peak $reader_peak KiB"
	same status "$code" 0
}

# The recorder and its helpers stayed small, and its main loop was never kept long.
bounded() {
	local turn
	[ "$peak" -gt 0 ]
	if [ "$peak" -gt $((GCPROF_MIB * 1024)) ]; then
		echo "the recorder had $peak KiB"
		return 1
	fi
	if [ "$reader_peak" -gt $((READER_MIB * 1024)) ]; then
		echo "the reader had $reader_peak KiB"
		return 1
	fi
	turn=$(sed -nE 's/.*main loop: longest turn ([0-9]+)([.][0-9]+)? ms.*/\1/p' record.log)
	if [ "${turn:-0}" -ge "$TURN_MS" ]; then
		echo "the main loop took $turn ms for a turn"
		return 1
	fi
}

# Memory did not grow much after the first three seconds.
flat() { # MIB
	[ $((peak - early)) -lt $(($1 * GCPROF_MIB * 8)) ] || {
		echo "the recorder grew by $((peak - early)) KiB"
		return 1
	}
}

# A message says which file was at fault.
blamed() { # FILE
	grep -F -- "$1" record.log | grep -qE "$BLAME"
}

# The profile has what `churn` did.
honest() {
	"$GCPROF" info >info
	absent 'end is missing' info
	holds '[.programs[] | select(.name == "churn" and .alloc_samples > 100 and .cpu_samples > 20)] | length == 1'
	holds '.gc.minor.count > 20'
	holds '[.functions[] | select(.name == "churn_round" and .file != null and .cpu_samples > 4)] | length == 1'
	holds '[.functions[] | select(.name == "descend" and .runtime == "managed")] | length > 0'
}

# Maps a file as code, and calls it; two seconds later a program begins that means no harm.
mapped() { # FILE
	attack 4 "${AS_ATTACKER[*]} mapper -c '$1' & sleep 1; churn --seconds 2 &"
}

@test "file of 16 KB with millions of section headers: the reader refuses it and names it, others are recorded whole" {
	setup_folder
	bomb sections sections.so
	mapped sections.so
	bounded
	blamed sections.so
	honest
}

@test "file of 16 KB whose names of sections take a GiB: the reader refuses it and names it, others are recorded whole" {
	setup_folder
	bomb strings strings.so
	mapped strings.so
	bounded
	blamed strings.so
	honest
}

@test "frame information that expands to a GiB: the reader refuses it and names it, others are recorded whole" {
	setup_folder
	bomb inflate inflate.so
	mapped inflate.so
	bounded
	blamed inflate.so
	honest
}

@test "200000 notes and a million program headers: the reader refuses it and names it, others are recorded whole" {
	setup_folder
	bomb notes notes.so
	mapped notes.so
	bounded
	blamed notes.so
	honest
}

@test "43000 functions that share a frame program of a MiB: the reader refuses it and names it, others are recorded whole" {
	setup_folder
	bomb cfa cfa.so
	mapped cfa.so
	bounded
	blamed cfa.so
	honest
}

@test "a GiB of symbols: the reader refuses it and names it, others are recorded whole" {
	setup_folder
	bomb symbols symbols.so
	mapped symbols.so
	bounded
	blamed symbols.so
	honest
}

@test "DWARF that expands to a GiB: the reader refuses it and names it, others are recorded whole" {
	setup_folder
	bomb dwarf dwarf.so
	mapped dwarf.so
	bounded
	blamed dwarf.so
	honest
}

@test "program and its library are such files themselves: they run as they would, --duration ends the recording" {
	setup_folder
	local since
	bomb sections program 4000000 /bin/sleep
	bomb cfa library.so 43000 "$(ldconfig -p | sed -nE 's/.*libz.so.1 .*=> //p' | head -n 1)"
	peak=0 reader_peak=0
	"$GCPROF" record -v --duration 1 -- env LD_PRELOAD="$PWD/library.so" ./program 30 >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_recorder $((4 + END_S))
	wait "$recorder"
	cat record.log
	bounded
	blamed program
	blamed library.so
}

@test "write leases that are not given up: the files are left out, the main loop goes on" {
	setup_folder
	for i in 1 2 3; do
		bomb plain leased-$i.so "$i"
	done
	attack 5 "${AS_ATTACKER[*]} mapper -l leased-*.so & sleep 1.5; churn --seconds 2 &"
	bounded
	blamed leased-1.so
	honest
}

# What only root may open, and takes notice of it. Who opens it is written to `opened`.
setup_lures() {
	setup_folder
	mkfifo -m 600 fifo
	mknod -m 600 terminal c 5 2
	"$PROGRAMS/opens" "$PWD/fifo" "$PWD/terminal" >opened 3>&- &
	started+=("$!")
	wait_until grep -q ready opened
}

never_opened() {
	sleep 0.2
	absent fifo opened
	absent terminal opened
}

@test "mapped file becomes a link to a FIFO or a terminal: neither is opened" {
	setup_lures
	bomb plain plain.so
	attack 2 "${AS_ATTACKER[*]} mapper -n . -k 200 -r fifo plain.so & ${AS_ATTACKER[*]} mapper -n . -k 200 -r terminal plain.so &"
	bounded
	never_opened
}

@test "script names a FIFO as its interpreter: it is not opened" {
	setup_lures
	printf '#!%s\n' "$PWD/fifo" >script
	printf '#!%s\n' "$PWD/terminal" >other
	chmod +x script other
	timeout -s KILL 10 "$GCPROF" record -- ./script 2>record.log || true
	timeout -s KILL 10 "$GCPROF" record -- ./other 2>record.log || true
	never_opened
}

@test "dynamic linker of the program's own lists a FIFO and a terminal as libraries: neither is opened" {
	setup_lures
	echo 'int main(void) { return 0; }' >program.c
	gcc program.c -o program -Wl,--dynamic-linker="$PROGRAMS/linker"
	printf '%s\n' "$PWD/fifo" "$PWD/terminal" >program.list
	timeout -s KILL 10 "$GCPROF" record -v -- ./program >out 2>record.log || true
	cat record.log
	never_opened
}

# Begins a program that leads into a file whose server never answers, and one that means no harm.
begin_stuck() { # PROGRAM ARGUMENT...
	setup_folder
	mkdir mount
	bomb control control.so 0x2000
	"$PROGRAMS/stuck" mount "$@" >ready 3>&- &
	stuck=$!
	started+=("$stuck")
	wait_until grep -q ready ready
	"$PROGRAMS/churn" --seconds 30 >churn.out 3>&- &
	churn=$!
	started+=("$churn")
	wait_busy $churn
}

record_stuck() { # OPTION...
	peak=0 reader_peak=0
	"$GCPROF" record -v -F 999 -R 256K --max-overhead 100 --duration 2 "$@" >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_recorder $((4 + END_S))
	wait "$recorder"
	cat record.log
	bounded
}

@test "control block in a file whose server never answers: that program takes no samples, the others are recorded" {
	begin_stuck "$PROGRAMS/points" control mount/file control.so 0x10000000
	record_stuck -p $stuck,$churn
	honest
	grep -q "process $stuck does not know that it is recorded, and takes no allocation samples: something else is mapped where its control block should be" record.log
}

@test "names of a program in a file whose server never answers: a message names it, the others are recorded" {
	begin_stuck "$PROGRAMS/points" names mount/file control.so 0x2000
	record_stuck -p $stuck,$churn
	honest
	grep -q "process $stuck: its names of types and functions were not all read: its memory does not answer" record.log
}

@test "heap profile of a Go program in a file whose server never answers: a message names it, the others are recorded" {
	command -v go >/dev/null || skip 'there is no Go compiler'
	GO111MODULE=off GOFLAGS='' go build -o "$PROGRAMS/gopoints" "$ROOT/tests/e2e/programs/points.go"
	begin_stuck "$PROGRAMS/gopoints" mount/file
	record_stuck -p $stuck,$churn
	honest
	grep -q "process $stuck: its own heap profile could not be read: its memory does not answer" record.log
}

@test "command line of a program in a file whose server never answers: a message names it, the profile is complete" {
	begin_stuck "$PROGRAMS/points" title mount/file control.so 0x2000
	record_stuck -p $stuck
	grep -q "process $stuck: its command line is not in the profile: its memory does not answer" record.log
	"$GCPROF" info >info
	absent 'end is missing' info
	grep -q "process $stuck" info
}

lock_map() {
	kill -USR1 $stuck
	wait_until grep -qE 'folio_wait|request_wait_answer' "/proc/$stuck/wchan"
}

# Its server ends, so the program does.
unlock_map() {
	local server
	server=$(cat "/proc/$stuck/task/$stuck/children" 2>/dev/null || true)
	# shellcheck disable=SC2086 # there may be none
	kill -KILL $server $stuck 2>/dev/null || true
	wait_until eval "! is_running $stuck"
}

# Where the kernel waited for the program no process of the machine could fork.
@test "program keeps its own memory map locked before probes are attached: its file is left out, others are recorded, all can fork" {
	begin_stuck "$PROGRAMS/points" nothing mount/file control.so 0x2000
	lock_map
	record_stuck -p $stuck,$churn
	honest
	grep -q "memory map kept locked by process $stuck (points)" record.log
	grep -q 'until then probes are not attached to .*/control.so' record.log
	unlock_map
}

@test "process that attaches probes does not go on: a message says so, the recording goes on, they are attached when it does" {
	setup_folder
	peak=0 reader_peak=0
	"$GCPROF" record -v -F 999 -R 256K --max-overhead 100 -- bash -c '
		until [ -e first ]; do sleep 0.05; done; "$PROGRAMS/churn" --seconds 3; >over
		until [ -e second ]; do sleep 0.05; done; "$PROGRAMS/churn" --seconds 2' >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until grep -q 'not needed any more are dropped' record.log
	attacher=$(started_by $recorder gcprof-attacher)
	kill -STOP "$attacher"
	: >first
	wait_until test -e over
	cat record.log
	grep -q 'not attached to .*/churn within 2 s' record.log
	kill -CONT "$attacher"
	: >second
	wait_recorder 30
	wait $recorder
	cat record.log
	bounded
	honest
	holds '[.programs[] | select(.name == "churn" and .processes == 2 and .cpu_samples > 40)] | length == 1'
}

@test "program keeps its own memory map locked while probes are removed: a message says so, the recorder ends with a complete profile" {
	begin_stuck "$PROGRAMS/points" nothing mount/file control.so 0x2000
	"$GCPROF" record -v -F 999 -R 256K -p $stuck,$churn >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until grep -q 'not needed any more are dropped' record.log
	wait_until has_stored cpu 100
	attacher=$(started_by $recorder gcprof-attacher)
	lock_map
	since=${EPOCHREALTIME/./}
	kill -INT $recorder
	wait $recorder
	(exit 0)
	took=$((${EPOCHREALTIME/./} - since))
	is_running "$attacher"
	unlock_map
	cat record.log
	echo "took $took us"
	[ $took -lt $(($(patience $((END_S / 3))) * 1000000)) ]
	grep -q "memory map kept locked by .*process $stuck (points)" record.log
	grep -q 'until then probes are not removed' record.log
	honest
	wait_until eval "! is_running $attacher"
}

@test "program executes a setuid program while its control block is searched: nothing is written into that" {
	setup_folder
	bomb slow slow.so 0x10000000
	cp "$PROGRAMS/becomes" setuid
	chmod 4755 setuid
	"${AS_ATTACKER[@]}" "$PROGRAMS/becomes" slow.so ./setuid >block 2>ready 3>&- &
	target=$!
	started+=("$target")
	wait_until grep -q ready ready
	timeout -s KILL 20 "$GCPROF" record -v -R 1M --duration 1 -p $target 2>record.log || true
	cat record.log
	wait_until test -s block
	same block "$(cat block)" 'generation 4096 recorded 0'
}

@test "new files are mapped without end: memory stays bounded" {
	setup_folder
	bomb plain plain.so
	attack 7 "for i in 1 2; do ${AS_ATTACKER[*]} mapper -n . -d 2 plain.so & done; sleep 1.5; churn --seconds 4 &"
	bounded
	flat 32
	honest
}

@test "files with very long paths are mapped while unwind rows are made: memory stays bounded" {
	setup_folder
	bomb cfa cfa.so
	bomb plain plain.so
	attack 7 "${AS_ATTACKER[*]} mapper cfa.so & for i in 1 2; do ${AS_ATTACKER[*]} mapper -n . -d 18 plain.so & done; sleep 1.5; churn --seconds 4 &"
	bounded
	honest
}

@test "file has 1024 probes: they take no place from others" {
	setup_folder
	bomb sites sites.so
	mapped sites.so
	bounded
	honest
}

@test "more files stay mapped than the recorder may keep open: later ones are recorded whole" {
	setup_folder
	bomb plain plain.so
	mkdir later
	attack 6 "${AS_ATTACKER[*]} mapper -n . -k 1200 plain.so & sleep 2
		cp '$PROGRAMS/churn' later; later/churn --seconds 2 &
		until grep -q churn /proc/\$!/comm; do :; done; rm later/churn; wait \$!; : >churned"
	bounded
	honest
}

@test "reader is killed or stopped again and again: another one takes its place, names are found" {
	setup_folder
	bomb plain plain.so
	local signals=(KILL STOP)
	killed=0 peak=0 reader_peak=0
	"$GCPROF" record -v -F 999 --max-overhead 100 -- bash -c '
		for i in $(seq 60); do "$PROGRAMS/mapper" -n . -k 3 -s 0.05 plain.so; done
		>killed; "$PROGRAMS/churn" --seconds 2' >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	# When the program begins, it is over: this reader lives.
	while [ ! -e killed ] && is_running "$recorder"; do
		see_memory "$recorder"
		for reader in $(started_by "$recorder" gcprof-reader); do
			kill -"${signals[killed % 2]}" "$reader" 2>/dev/null && killed=$((killed + 1))
		done
		sleep 0.02
	done
	wait_recorder $((4 + END_S))
	wait "$recorder"
	cat record.log
	echo "killed $killed readers"
	[ "$killed" -ge 5 ]
	bounded
	honest
}

# The reader of a recorder that has just begun.
find_reader() { # RECORDER
	wait_until eval "[ -n \"\$(started_by $1 gcprof-reader)\" ] || ! is_running $1"
	reader=$(started_by "$1" gcprof-reader | head -n 1)
	[ -n "$reader" ] || echo 'there is no reader'
	[ -n "$reader" ]
}

@test "reader is taken over: it has no rights, no files, no network, and nothing of the recorder" {
	setup_folder
	local fd target name
	"$GCPROF" record --duration 20 -- "$PROGRAMS/churn" --seconds 20 >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	find_reader $recorder
	# It gives everything up within its first moments.
	wait_until grep -qE '^Seccomp:[[:space:]]+2$' "/proc/$reader/status"
	kill -STOP $recorder # it would replace a reader that is stopped
	cat "/proc/$reader/status" "/proc/$reader/limits"
	for set in Inh Prm Eff Bnd Amb; do
		grep -qE "^Cap$set:[[:space:]]+0+\$" "/proc/$reader/status"
	done
	grep -qE '^Seccomp:[[:space:]]+2$' "/proc/$reader/status"
	grep -qE '^NoNewPrivs:[[:space:]]+1$' "/proc/$reader/status"
	# A user of its own, whom no file and no other process belongs to.
	user=$(awk '/^Uid:/ {print $2}' "/proc/$reader/status")
	[ "$user" -ge 1879048192 ] && [ "$user" -le 2147483647 ]
	grep -qE "^Uid:([[:space:]]+$user){4}\$" "/proc/$reader/status"
	grep -qE "^Gid:([[:space:]]+$user){4}\$" "/proc/$reader/status"
	absent "" <(getent passwd "$user")
	"$GCPROF" record --duration 20 -o other.data -- "$PROGRAMS/churn" --seconds 20 >out 2>other.log 3>&- &
	other=$!
	started+=("$other")
	first=$reader
	find_reader $other
	wait_until grep -qE '^Seccomp:[[:space:]]+2$' "/proc/$reader/status"
	[ "$(awk '/^Uid:/ {print $2}' "/proc/$reader/status")" != "$user" ]
	kill -KILL $other
	reader=$first
	grep -qE '^Groups:[[:space:]]*$' "/proc/$reader/status"
	same 'tracer and dumpable' "$(stat -c %u "/proc/$reader/environ")" 0
	is_sanitized || grep -E '^Max address space +[0-9]+ ' "/proc/$reader/limits"
	grep -E '^Max core file size +0 ' "/proc/$reader/limits"
	echo "writable and shared:"
	grep -E "^[^ ]+ .w.s" "/proc/$reader/maps" && false
	for fd in "/proc/$reader/fd"/*; do
		target=$(readlink "$fd")
		echo "$(basename "$fd") $target"
		! is_sanitized || [ "$(basename "$fd")" != 2 ] || continue
		case $target in
		socket:* | /dev/null | /memfd:*) continue ;;
		/*) [ -f "$target" ] ;;
		*) false ;;
		esac
		for name in 0 1 2; do
			[ "$target" != "$(readlink "/proc/$recorder/fd/$name")" ]
		done
	done
	for name in net ipc uts mnt; do
		[ "$(readlink "/proc/$reader/ns/$name")" != "$(readlink "/proc/$recorder/ns/$name")" ]
	done
	same root "$(ls -A "/proc/$reader/root/")" ''
	kill -CONT $recorder
}

# One of a recorder's readers has worked for so long.
has_busy_reader() { # RECORDER TICKS
	local reader
	is_running "$1" || return 0
	for reader in $(started_by "$1" gcprof-reader); do
		! ran "$reader" "$2" 2>/dev/null || return 0
	done
	return 1
}

has_started() { # PID NAME
	[ -n "$(started_by "$1" "$2")" ]
}

@test "recorder gets SIGKILL while a reader is deep in a file: that ends, too" {
	setup_folder
	bomb cfa cfa.so
	"$GCPROF" record -- "$PROGRAMS/mapper" -c cfa.so >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until has_busy_reader $recorder 30
	wait_until has_started $recorder mapper
	readers=$(started_by $recorder gcprof-reader)
	echo "readers: $readers"
	[ -n "$readers" ]
	started+=("$(started_by $recorder mapper)")
	kill -KILL $recorder
	since=$(clock)
	for reader in $readers; do
		started+=("$reader")
		while is_running "$reader"; do
			if is_past "$since" "$(patience 2)"; then
				echo "reader $reader goes on"
				return 1
			fi
			sleep 0.05
		done
	done
}

# The processes of a recorder that keep some of its rights.
has_filtered() { # RECORDER NAME...
	local name pid
	for name in "${@:2}"; do
		pid=$(started_by "$1" "$name" | head -n 1)
		grep -qE '^Seccomp:[[:space:]]+2$' "/proc/${pid:-none}/status" 2>/dev/null || return 1
	done
}

# It ends by itself: a recording that ends lets its program go on.
SPINS='import time
end = time.monotonic() + 10
while time.monotonic() < end: pass'

@test "processes that open files, access memory and attach probes: they can execute nothing and have no network" {
	setup_folder
	"$GCPROF" record --duration 10 -- "$PROGRAMS/churn" --seconds 20 >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until has_filtered $recorder gcprof-opener gcprof-attacher
	"$GCPROF" record -o other.data --duration 2 -- /usr/bin/python3 -c "$SPINS" >out 2>other.log 3>&-
	"$GCPROF" report --json other.data | jq -e '[.functions[] | select(.name == "<module>" and .runtime == "managed")] | length > 0'
	wait $recorder
	holds '.alloc.samples > 100 and .gc.minor.count > 10'
}

# Whether a reader has given up what it could do harm with.
confined() { # PID USER_FROM
	local user rest
	read -r user rest < <(awk '/^(Uid|CapPrm|CapEff|NoNewPrivs|Seccomp):/ {print $2}' "/proc/$1/status" | xargs)
	[ "$user" -ge "$2" ] && [ "$rest" = '0000000000000000 0000000000000000 1 2' ]
}

has_confined_reader() { # PID USER
	local reader
	for reader in $(started_by "$1" gcprof-reader); do
		! confined "$reader" "$2" 2>/dev/null || return 0
	done
	return 1
}

@test "recorder gets SIGKILL, and a program's symbols take minutes to read: reports by root and by a user say so within seconds" {
	setup_folder
	local user as
	bomb names program '' "$PROGRAMS/churn"
	"$GCPROF" record -- ./program --seconds 100 >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until has_stored cpu 100
	for user in $(started_by $recorder program); do
		started+=("$user")
	done
	kill -KILL $recorder
	cp "$GCPROF" gcprof
	chmod 644 gcprof.data
	for user in 1879048192 $ATTACKER; do
		as=()
		[ "$user" != "$ATTACKER" ] || as=("${AS_ATTACKER[@]}")
		peak=0 reader_peak=0
		"${as[@]}" ./gcprof report gcprof.data >text 2>record.log 3>&- &
		recorder=$!
		started+=("$recorder")
		wait_until has_confined_reader $recorder "$user"
		wait_recorder 25
		wait $recorder
		cat record.log
		echo "user $user: peak $peak KiB, reader's peak $reader_peak KiB"
		grep -q "/program: its functions have no names: the reader took too long" record.log
		grep -q 'program+0x' text
		grep -q memset text
		bounded
	done
}
