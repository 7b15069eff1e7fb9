#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# text.bats: breakpoints are in recorded processes only, and programs that copy their code live.
# Parallel: programs are copies, into whose code no recorder of another test puts breakpoints.

# shellcheck disable=SC2030,SC2031,SC2154
load common

COLLECTS='import gc
while True: gc.collect()'

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	export PYTHON=$PROGRAMS/python3 NODE=$PROGRAMS/node
	cp /usr/bin/python3.11 "$PYTHON" || true
	cp "$(command -v node)" "$NODE" || true
	gcc -O1 -D_GNU_SOURCE -shared -fPIC "$ROOT/tests/e2e/programs/copies.c" -o "$PROGRAMS/copies.so"
	cat >"$PROGRAMS/objects.js" <<-'JS'
		function make() { const all = []; for (let i = 0; i < 1e5; i++) all.push({ i }); return all; }
		const end = Date.now() + (+process.argv[2] || 500); let n = 0;
		while (Date.now() < end) n += make().length;
		console.log("alive", n > 0);
	JS
}

need_python() {
	need_root
	[ -x "$PYTHON" ] || skip 'there is no Python 3.11'
}

# KiB of a process's code of a file that it shares with no file any more: with breakpoints in it.
changed() { # PID FILE
	awk -v file="$2" '/^[0-9a-f]+-[0-9a-f]+ / { code = $2 ~ /x/ && index($0, file) }
		code && /^Anonymous:/ { sum += $2 } END { print sum + 0 }' "/proc/$1/smaps"
}

is_changed() { # PID FILE
	[ "$(changed "$1" "$2")" -gt 0 ]
}

is_unchanged() { # PID FILE
	[ "$(changed "$1" "$2")" = 0 ]
}

starts_python() { # ...
	start "$PYTHON" -S -c "$COLLECTS"
	wait_busy "$pid"
}

only_one_is_changed() { # PID OTHER OPTION...
	begin_recording "${@:3}" -p "$1"
	wait_until is_changed "$1" /python3
	is_unchanged "$2" /python3
	wait_on "$1" 10
	end_recording
	is_unchanged "$1" /python3
	kill -0 "$1"
	kill -0 "$2"
}

@test "breakpoints are in the process that is recorded, in no other of its runtime, and in none afterwards" {
	local other
	need_python
	starts_python
	other=$pid
	starts_python
	only_one_is_changed "$pid" "$other"
	holds '.gc.minor.count + .gc.major.count > 0'
	export GCPROF_TEST_PROBES_ONE_BY_ONE=1
	only_one_is_changed "$pid" "$other"
	holds '.gc.minor.count + .gc.major.count > 0'
}

@test "a node that copies its code lives beside one that is recorded" {
	need_root
	[ -x "$NODE" ] || skip 'there is no Node.js'
	start "$NODE" "$PROGRAMS/objects.js" 1000000
	wait_busy "$pid"
	begin_recording -p "$pid"
	wait_until is_changed "$pid" /node
	for option in on silent; do
		same node "$("$NODE" --use-largepages=$option "$PROGRAMS/objects.js" 2>/dev/null)" 'alive true'
		same node "$(NODE_OPTIONS=--use-largepages=$option "$NODE" "$PROGRAMS/objects.js" 2>/dev/null)" 'alive true'
	done
	end_recording
	holds '.gc.minor.count > 0'
}

# A message says why there are no collections.
lives_without_probes() { # COMMAND...
	record -- "$@"
	cat record.log
	grep -q '^alive' out
	grep -q 'is recorded without probes' record.log
	holds '.exit_status == 0 and .streams.gc.attached == false and (.streams.gc.why_not | test("without probes|have gcprof|no runtime"))'
	holds '.cpu.samples > 0'
	holds '[.losses[] | select(.name == "NO_PROBES" or .name == "PROBE_ATTACH") | [.name, .severity, .unit, .count]] == [["NO_PROBES", "gap", "programs", 1]]'
}

@test "a node that copies its code is recorded without probes, and a message says so" {
	need_root
	[ -x "$NODE" ] || skip 'there is no Node.js'
	lives_without_probes "$NODE" --use-largepages=on "$PROGRAMS/objects.js"
	lives_without_probes "$NODE" --use_largepages=silent "$PROGRAMS/objects.js"
	lives_without_probes sh -c "$NODE --use-largepages=on $PROGRAMS/objects.js; exit 0"
	lives_without_probes env NODE_OPTIONS=--use-largepages=on "$NODE" "$PROGRAMS/objects.js"
	export NODE_OPTIONS=--use-largepages=on
	lives_without_probes "$NODE" "$PROGRAMS/objects.js"
	# This one does not copy it.
	export NODE_OPTIONS=--use-largepages=off
	record -- "$NODE" "$PROGRAMS/objects.js"
	holds '.streams.gc.attached and .gc.minor.count > 0'
}

@test "long: a Python that an emulator executes is recorded without probes, and a message says so" {
	need_python
	command -v valgrind >/dev/null || skip 'there is no valgrind'
	lives_without_probes valgrind -q "$PYTHON" -I -S -c 'import gc; gc.collect(); print("alive")'
	lives_without_probes sh -c "valgrind -q $PYTHON -I -S -c 'import gc; gc.collect(); print(\"alive\")'; exit 0"
}

@test "long: a Python whose code was copied at its start lives beside one that is recorded" {
	need_python
	starts_python
	begin_recording -p "$pid"
	wait_until is_changed "$pid" /python3
	for how in move back; do
		same "$how" "$(LD_PRELOAD=$PROGRAMS/copies.so COPY=/python3 HOW=$how "$PYTHON" -c \
			'import gc; [gc.collect() for _ in range(50)]; print("alive")')" alive
	done
	end_recording
}

# What a program says that collects, copies its code and collects again.
copies_later() { # HOW OPTION...
	record "${@:2}" -- "$PYTHON" -I -S later.py "$PROGRAMS/copies.so" "$1"
	cat record.log
	same output "$(cat out)" alive
	grep -q 'has replaced its code by a copy' record.log
	# Those before.
	holds '.exit_status == 0 and .gc.minor.count + .gc.major.count > 50'
}

@test "a program that copies its code while it is recorded lives on, and a message says so" {
	need_python
	printf '%s\n' 'import ctypes, gc, sys' 'for _ in range(100): gc.collect()' \
		'ctypes.CDLL(sys.argv[1]).copy(b"/python3", sys.argv[2].encode())' \
		'for _ in range(100): gc.collect()' 'print("alive")' >later.py
	for how in move back; do
		copies_later "$how"
		GCPROF_TEST_PROBES_ONE_BY_ONE=1 copies_later "$how"
		# With system calls traced or not, and in a child of the program.
		copies_later "$how" --syscalls off
		export LD_PRELOAD=$PROGRAMS/copies.so COPY=/python3 HOW=$how
		record -- "$PYTHON" -I -S -c 'import gc; [gc.collect() for _ in range(100)]; print("alive")'
		unset LD_PRELOAD COPY HOW
		same output "$(cat out)" alive
		grep -q 'has replaced its code by a copy' record.log
	done
}

@test "a program of the caller, who may not signal others, lives on when it copies its code" {
	need_python
	command -v setcap >/dev/null || skip 'there is no setcap (libcap2-bin)'
	cp "$GCPROF" "$PYTHON" "$PROGRAMS/copies.so" .
	setcap cap_bpf,cap_perfmon,cap_syslog+ep gcprof
	printf '%s\n' 'import ctypes, gc, sys' 'for _ in range(100): gc.collect()' \
		'ctypes.CDLL(sys.argv[1]).copy(b"/python3", b"move")' 'print("alive")' >later.py
	chmod -R a+rX .
	setpriv --reuid=65534 --regid=65534 --clear-groups ./gcprof record -o /dev/null -- \
		./python3 -I -S -c "$(cat later.py)" ./copies.so >out 2>record.log || { cat record.log; return 1; }
	same output "$(cat out)" alive
	grep -q 'has replaced its code by a copy' record.log
}

@test "a program that the recorder may not signal has no breakpoints, and one message says so" {
	need_python
	start setpriv --reuid=65534 --regid=65534 --clear-groups "$PYTHON" -S -c "$COLLECTS"
	wait_busy "$pid"
	setpriv --bounding-set -kill "$GCPROF" record -p "$pid" 2>record.log &
	recorder=$!
	wait_until grep -q 'of another user is recorded without probes: without CAP_KILL' record.log
	is_unchanged "$pid" /python3
	end_recording
	cat record.log
	[ "$(grep -c 'without CAP_KILL' record.log)" = 1 ]
	setpriv --bounding-set -kill "$GCPROF" doctor -v | grep -q 'missing *CAP_KILL'
}

# A program that collects, copies its code when it is told, and collects again; its recorder does nothing meanwhile.
copies_unattended() { # HOW SIGNAL
	rm -f go alive
	start "$PYTHON" -I -S told.py "$PROGRAMS/copies.so" "$1"
	wait_busy "$pid"
	begin_recording -p "$pid"
	wait_until is_changed "$pid" /python3
	[ "$2" = INT ] || kill -STOP "$recorder"
	touch go
	[ "$2" = INT ] || sleep 0.1
	kill -"$2" "$recorder" 2>/dev/null || true # which may have ended with the program
	wait_until test -s alive
	kill -KILL "$recorder" 2>/dev/null || true
	wait "$pid"
}

@test "long: a program that copies its code lives on though its recorder is stopped, is killed or ends then" {
	need_python
	printf '%s\n' 'import ctypes, gc, os, sys' 'while not os.path.exists("go"): gc.collect()' \
		'ctypes.CDLL(sys.argv[1]).copy(b"/python3", sys.argv[2].encode())' \
		'for _ in range(100): gc.collect()' 'print("alive", file=open("alive", "w"))' >told.py
	for how in move back; do
		for signal in STOP KILL INT; do
			copies_unattended "$how" $signal
		done
	done
}

@test "long: a program that copies its code lives on beside one whose file has the same inode number on another file system" {
	need_python
	mkdir one two
	mount -t tmpfs none one && mount -t tmpfs none two || skip 'cannot mount a tmpfs'
	cp "$WORKLOADS/churn" one/churn
	cp "$PYTHON" two/python3
	if [ "$(stat -c %i one/churn)" != "$(stat -c %i two/python3)" ]; then
		umount one two
		skip 'this kernel numbers the files of all tmpfs together'
	fi
	start one/churn --seconds 60
	churn=$pid
	printf '%s\n' 'import ctypes, gc, os, sys' 'while not os.path.exists("go"): gc.collect()' \
		'ctypes.CDLL(sys.argv[1]).copy(b"/python3", b"move")' \
		'for _ in range(100): gc.collect()' 'print("alive", file=open("alive", "w"))' >told.py
	PYTHONHOME=/usr start two/python3 -I -S told.py "$PROGRAMS/copies.so"
	wait_busy "$pid"
	begin_recording -p "$churn"
	wait_until is_changed "$churn" /churn
	begin_recording -p "$churn" -p "$pid"
	wait_until is_changed "$pid" /python3
	touch go
	wait_until test -s alive
	wait "$pid"
	end_recording
	end_started
	umount -l one two
}

@test "long: a node that gets its option from a file copies its code and lives on" {
	need_root
	"$NODE" --env-file=/dev/null -e 0 || skip 'there is no Node.js that reads options from a file'
	echo 'NODE_OPTIONS="--use-largepages=on"' >options
	record -- "$NODE" --env-file=options "$PROGRAMS/objects.js"
	cat record.log
	same output "$(cat out)" 'alive true'
	grep -q 'has replaced its code by a copy' record.log
}

@test "a program that executes a copy of its code already is recorded, and a message says that it is one" {
	need_python
	export LD_PRELOAD=$PROGRAMS/copies.so COPY=/python3
	for HOW in move back; do
		export HOW
		starts_python
		(
			unset LD_PRELOAD
			record --duration 0.5 -p "$pid"
		)
		cat record.log
		grep -q "process $pid (python3) executes a copy of the code of $PYTHON, in memory of no file" record.log
		env -u LD_PRELOAD "$GCPROF" report >report
		grep -q 'is recorded without probes: its code is a copy' report
		kill "$pid"
	done
}

# A child of a child collects for a second after both parents have ended.
forks_and_ends() {
	cat >forks.py <<-'PY'
		import gc, os, sys, time
		gc.disable()
		def collect():
		    until = time.time() + 1
		    n = 0
		    while time.time() < until: n += gc.collect() >= 0; time.sleep(0.01)
		    print(n, flush=True)
		    os._exit(0)
		if os.fork() == 0:
		    if os.fork() == 0: collect()
		    os._exit(0)
		os.wait()
		os._exit(0)
	PY
}

# What it did in its first milliseconds is not recorded: on a busy machine more, of its second.
collected() {
	local missed
	cat record.log
	"$GCPROF" query --format csv 'SELECT count(*) FROM collections' 2>/dev/null | tail -n 1 >counted
	missed=$(ask '[.losses[] | select(.name == "UNPROBED") | .count] | add // 0')
	echo "$(cat counted) of $(cat out) collections, $missed ms missed"
	[ "$missed" -gt 0 ]
	awk -v missed="$missed" '{
		getline counted <"counted"
		exit !((counted > $1 / 2 || missed > 300) && counted <= $1 + 10) }' out
}

@test "children of a fork are recorded, also when their parent has ended" {
	need_python
	forks_and_ends
	record -F 0 -- sh -c "$PYTHON -I -S forks.py; sleep 2"
	collected
}

@test "long: they are, however long the recorder is kept waiting at any moment" {
	need_python
	local seed
	forks_and_ends
	for seed in {1..25}; do
		python3 "$BATS_TEST_DIRNAME/programs/hold.py" "$seed" 0.4 "$GCPROF" record -v -F 0 --max-overhead 100 -- \
			sh -c "$PYTHON -I -S forks.py; sleep 1.2" >out
		echo "seed $seed"
		collected
	done
}

@test "a program that a thread executes is recorded from its start on" {
	need_python
	cat >thread.c <<-C
		#include <pthread.h>
		#include <unistd.h>
		static void *run(void *unused)
		{
			execl("$PYTHON", "python", "-I", "-S", "-c", "import gc, os\nwhile not os.access('over', 0): gc.collect()", (char *)0);
			return unused;
		}
		int main(void)
		{
			pthread_t thread;
			pthread_create(&thread, 0, run, 0);
			pthread_join(thread, 0);
			return 1;
		}
	C
	gcc -O1 thread.c -o thread -lpthread
	record_told over gc_begin 20 -F 0 -- ./thread
	holds '.exit_status == 0 and .gc.major.count + .gc.minor.count > 10'
	export GCPROF_TEST_PROBES_ONE_BY_ONE=1
	record_told over gc_begin 20 -F 0 -- ./thread
	holds '.exit_status == 0 and .gc.major.count + .gc.minor.count > 10'
}
