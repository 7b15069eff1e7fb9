#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# users.bats: what an ordinary user does beside root's programs costs these nothing: their names stay theirs, and what the recorder keeps of them stays complete.

load common
load attacks

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	build_attacks "$PROGRAMS"
	cp "$ROOT/tests/e2e/programs/honest.py" "$PROGRAMS"
	cp "$WORKLOADS/churn" "$PROGRAMS/tidy"
	for name in hostile fills; do
		gcc -std=gnu11 -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/$name.c" -o "$PROGRAMS/$name"
	done
	chmod -R a+rX "$BATS_RUN_TMPDIR"
}

# Two programs that claim to be the same: path, size of the path's file, build-id. One is root's.
setup_claims() {
	need_root
	unshare -m true 2>/dev/null || skip 'there are no mount namespaces'
	mkdir at mine theirs
	for name in mine theirs; do
		gcc -O1 -g "-Dwork=${name}_work" -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 \
			"$ROOT/tests/e2e/programs/claims.c" -o "$name/app"
	done
	chown -R "$ATTACKER" theirs
	chmod a+rx .
	cat >run <<-END
		mine() {
			unshare -m sh -c "mount --bind '$PWD/mine' '$PWD/at' && exec '$PWD/at/app' \$1"
		}
		theirs() {
			${AS_ATTACKER[*]} unshare -Urm sh -c "mount --bind '$PWD/theirs' '$PWD/at' && exec '$PWD/at/app' \$1"
		}
	END
	"${AS_ATTACKER[@]}" unshare -Urm true 2>/dev/null || skip 'users have no mount namespaces'
}

# Each has its own name, and what it computed.
own_names() { # PROFILE
	"$GCPROF" report --json "$1" >report.json
	for name in mine theirs; do
		jq -e "[.functions[] | select(.name == \"${name}_work\" and .cpu_samples > 50)] | length == 1" report.json
	done
}

@test "two programs of one path and build-id, another user's first: each has its own names" {
	setup_claims
	"$GCPROF" record --max-overhead off -o a.data -- bash -c '. ./run; theirs 3 & sleep 0.5; mine 3; wait'
	own_names a.data
}

@test "two programs of one path and build-id, root's first: each has its own names" {
	setup_claims
	"$GCPROF" record --max-overhead off -o a.data -- bash -c '. ./run; mine 3 & sleep 0.5; theirs 3; wait'
	own_names a.data
}

@test "profiles of two programs of one path and build-id are merged: each has its own names" {
	setup_claims
	"$GCPROF" record --max-overhead off -o a.data -- bash -c '. ./run; theirs 2'
	"$GCPROF" record --max-overhead off -o b.data -- bash -c '. ./run; mine 2'
	"$GCPROF" merge -o both.data a.data b.data
	own_names both.data
}

@test "an image in ten overlay mounts is one file" {
	need_root
	mkdir lower
	gcc -O1 -g "$ROOT/tests/e2e/programs/claims.c" -o lower/app
	for i in 0 1 2 3 4 5 6 7 8 9; do
		mkdir -p $i/at $i/upper $i/work
	done
	unshare -m mount -t overlay overlay -o lowerdir=lower,upperdir=0/upper,workdir=0/work 0/at || skip 'there is no overlay here'
	"$GCPROF" record --max-overhead off -- unshare -m bash -c '
		for i in 0 1 2 3 4 5 6 7 8 9; do
			mount -t overlay overlay -o "lowerdir=lower,upperdir=$i/upper,workdir=$i/work" $i/at
			$i/at/app 1 &
			sleep 0.1
		done
		wait'
	"$GCPROF" dump >dump
	# On a busy machine a mapping may be stored before its file was read: that has no build-id.
	same modules "$(grep '"record":"module"' dump | grep "\"path\":$(path_id /app)," | grep -vc '"build_id":""')" 1
	holds '[.functions[] | select(.name == "work" and .cpu_samples > 100)] | length == 1'
}

# The id of the only text that ends so.
path_id() { # END
	jq -r "select(.record == \"string\" and (.text | test(\"^/[^ ]*$1\$\"))) | .id" dump
}

# A recording of the whole machine, while another user runs a command without end and two programs beside it mean no harm.
# A file that is read for the first time costs a moment, so theirs are known before.
record_beside() { # COMMAND
	need_root
	mkdir folder
	chown "$ATTACKER" folder
	chmod a+rx .
	cd folder || return 1
	"${AS_ATTACKER[@]}" "$PROGRAMS/elfbomb" plain plain.so
	"$GCPROF" record -v --system -R 256K --max-overhead off >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until grep -q 'dropped' record.log
	"$PROGRAMS/tidy" --bytes 64M >first.out
	/usr/bin/python3 "$PROGRAMS/honest.py" 1
	setsid "${AS_ATTACKER[@]}" bash -c "PATH=\$PROGRAMS:\$PATH; $1 wait" >hog.out 2>&1 3>&- &
	hog=$!
	started+=("-$hog")
	sleep 1
	"$PROGRAMS/tidy" --seconds 4 >tidy.out &
	tidy=$!
	/usr/bin/python3 "$PROGRAMS/honest.py" 3 &
	honest=$!
	dd if=/dev/zero of=/dev/null bs=1 count=100000
	wait "$tidy" "$honest"
	kill -KILL "-$hog"
	sleep 2 # names are read while it records: at the end there is little time for them
	kill -INT "$recorder"
	wait "$recorder"
	grep -v copy- record.log
	"$GCPROF" report --json >report.json
	"$GCPROF" dump >dump
}

# The numbers of the collections that a thread has records of, one a line.
cycles_of() { # TID
	local thread
	thread=$(grep '"record":"thread"' dump | jq -r "select(.ns_tid == $1) | .id")
	grep "\"record\":\"gc_end\",.*\"thread\":$thread," dump | jq .cycle
}

# Their names, samples, collections and calls, to 2 %. What tidy does before its probes are attached is left out: cycles are numbered.
complete() {
	local cycles bytes recorded first last
	cycles=$(sed -n 's/.*minor=\([0-9]*\).*/\1/p' tidy.out)
	bytes=$(sed -n 's/.* bytes=\([0-9]*\).*/\1/p' tidy.out)
	read -r recorded first last < <(cycles_of "$tidy" | sort -n | awk 'NR == 1 {first = $1} END {print NR, first, $1}')
	echo "$recorded collections recorded, $first to $last, of $cycles"
	[ "${recorded:-0}" -ge $(((last - first + 1) * 98 / 100)) ]
	[ "$last" -ge $((cycles * 98 / 100)) ]
	jq -c '.programs[] | select(.name == "tidy" or .name == "dd" or .name == "python3")' report.json
	jq -c '[.functions[] | select(.name | test("^(add_up|make_lists|churn_round|descend)$")) | [.name, .runtime, .cpu_samples]]' report.json
	jq -e '[.functions[] | select(.name == "add_up" or .name == "make_lists")] | length == 2 and all(.cpu_samples > 4)' report.json
	jq -e '[.functions[] | select(.name == "churn_round" and .file != null and .cpu_samples > 10)] | length > 0' report.json
	jq -e '[.functions[] | select(.name == "descend" and .runtime == "managed")] | length > 0' report.json
	jq -e '.programs[] | select(.name == "dd") | .syscalls > 200000 * 0.98' report.json
	# Majors have numbers, too. Of 20 intervals one does not hold: it may be a bit off.
	[ "$recorded" -le "$cycles" ] || recorded=$cycles
	jq -e ".programs[] | select(.name == \"tidy\").alloc | .high * 1.05 > $bytes / $cycles * $recorded" report.json
}

@test "user who maps files and makes functions without end: honest programs have their names, samples and collections" {
	record_beside 'for i in 1 2; do mapper -n . -d 17 plain.so & mapper -a /usr plain.so & done
		for i in 1 2 3; do /usr/bin/python3 $PROGRAMS/functions.py & done;'
	complete
}

@test "long: user who makes calls of any number: honest programs have their calls in the totals" {
	record_beside 'fills calls &'
	complete
}

@test "long: user whose programs flood the ring of allocation events: honest programs have their samples" {
	record_beside 'for i in 1 2 3 4 5 6 7 8; do hostile flood 100 & done;'
	complete
	absent 'ring was full' record.log
}

@test "long: user who maps a file over and over: honest programs have their names, samples and collections" {
	record_beside 'for i in 1 2 3 4; do fills mappings plain.so & done;'
	complete
	absent 'ring was full' record.log
}

# What root starts when another user has filled the table has an entry: its end is seen as that of its last thread.
others_are_followed() { # COMMAND that starts processes of another user and then prints its number
	need_root
	chmod a+rx .
	cat >run <<-END
		setsid $1 2>hog &
		until [ -s hog ]; do sleep 0.1; done
		for i in {1..20}; do
			sleep 1 &
			echo "\$!" >>pids
		done
		wait \$(cat pids)
		kill -KILL "-\$(cat hog)"
		wait
	END
	GCPROF_TEST_PROCESSES=400 "$GCPROF" record --syscalls off -F 0 -- bash run 2>record.log
	cat record.log
	"$GCPROF" dump >dump
	grep 'than a share of the table of processes' record.log
	jq -s --slurpfile pids pids '
		([.[] | select(.record == "thread" and (.ns_tid | IN($pids[]))) | .id]) as $threads |
		[.[] | select(.record == "exit" and (.thread | IN($threads[]))) | .last]' dump >ends
	jq -c . ends
	jq -e 'length == 20 and all(. == 1)' ends
}

@test "user who fills the table of processes: processes of others are followed from start to end" {
	others_are_followed "${AS_ATTACKER[*]} bash -c 'for i in {1..600}; do sleep 300 & done; echo \$\$ >&2; wait'"
}

@test "long: user who fills the table of processes as other users of /etc/subuid: processes of others are followed from start to end" {
	echo "$ATTACKER:700000:100" >subuid
	export GCPROF_TEST_SUBUID=$PWD/subuid
	# shellcheck disable=SC2016
	others_are_followed "bash -c 'for user in {700000..700019}; do
		setpriv --reuid \$user --regid \$user --clear-groups bash -c \"for i in {1..30}; do sleep 300 & done; wait\" & done
		sleep 3; echo \$\$ >&2; wait'"
}

@test "long: daemon that root started and that became another user takes what it can: that user pays for it" {
	need_root
	cat >becomes.c <<-END
		#include <time.h>
		#include <unistd.h>
		__attribute__((constructor)) static void become(void)
		{
			if (setgid($ATTACKER) || setuid($ATTACKER))
				_exit(1);
			while (clock() < CLOCKS_PER_SEC * 3 / 2)
				;
		}
	END
	gcc -shared -fPIC becomes.c -o becomes.so
	"$GCPROF" record -- env LD_PRELOAD="$PWD/becomes.so" "$PROGRAMS/hostile" types 2>record.log
	grep 'more than a fair share' record.log
	grep "more than a fair share of the recorder (user $ATTACKER: [0-9]*)" record.log
}

# Each is stopped until its copy has no breakpoints.
@test "long: user whose programs replace their code without end: a program of another user that does so goes on at once" {
	need_root
	[ -x /usr/bin/python3.11 ] || skip 'there is no Python 3.11'
	gcc -O1 -D_GNU_SOURCE -shared -fPIC "$ROOT/tests/e2e/programs/copies.c" -o copies.so
	cp /usr/bin/python3.11 python3
	chmod -R a+rX .
	cat >hog.py <<-'PY'
		import ctypes, gc, os, time
		for _ in range(9):
		    if os.fork() == 0: break
		gc.collect()
		time.sleep(2)
		ctypes.CDLL("./copies.so").copy_without_end(b"/python3")
	PY
	cat >other.py <<-'PY'
		import ctypes, gc, time
		for _ in range(100): gc.collect()
		time.sleep(5)
		began = time.time()
		ctypes.CDLL("./copies.so").copy(b"/python3", b"move")
		took = time.time() - began
		for _ in range(100): gc.collect()
		print(took)
	PY
	cat >run <<-END
		setsid ${AS_ATTACKER[*]} ./python3 -I -S hog.py &
		./python3 -I -S other.py >took
		kill -KILL "-\$!"
	END
	record -- bash run
	cat record.log took
	holds '[.losses[] | select(.name == "NO_PROBES") | .count] | .[0] >= 2 and .[0] <= 11'
	awk -v most="$(patience 1)" '{exit $1 > most}' took
}

# NAME ENTRIES of each table of a recorder that has room for so many: those by process.
tables_of() { # PID MOST
	local id
	for id in $(sed -n 's/^map_id:[[:space:]]*//p' /proc/"$1"/fdinfo/* 2>/dev/null | sort -un); do
		[ "$(bpftool -j map show id "$id" | jq 'select(.type == "hash") | .max_entries')" = "$2" ] || continue
		echo "$(bpftool -j map show id "$id" | jq -r .name) $(bpftool -j map dump id "$id" | jq length)"
	done
}

# All tables by process follow one rule: entries of processes that have one in the table that is divided.
@test "long: user who fills the tables by process: none is full, and a program of another user has its names" {
	need_root
	command -v bpftool >/dev/null || skip 'there is no bpftool'
	chmod a+rx .
	cat >run <<-END
		setsid ${AS_ATTACKER[*]} bash -c 'for i in {1..60}; do /usr/bin/python3 -c "import time; time.sleep(300)" & done; echo \$\$ >&2; wait' 2>hog &
		until [ -e full ]; do sleep 0.1; done
		/usr/bin/python3 "$PROGRAMS/honest.py" 3
		kill -KILL "-\$(cat hog)"
		wait
	END
	GCPROF_TEST_PROCESSES=41 "$GCPROF" record --max-overhead off -- bash run 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until sleeping_pythons 60
	tables_of "$recorder" 41 | sort >tables
	cat tables
	[ "$(cut -d ' ' -f 1 tables | tr '\n' ' ')" = 'call_cpus fiber_paths interpreters probed_text processes stopped_texts unwind_of ' ]
	awk '$2 >= 41 {exit 1}' tables
	: >full
	wait "$recorder"
	grep 'than a share of the table of processes' record.log
	holds '[.functions[] | select(.name == "add_up" or .name == "make_lists")] | length == 2 and all(.cpu_samples > 4)'
}

sleeping_pythons() { # COUNT
	[ "$(pgrep -c -u "$ATTACKER" -f 'python3 -c import time; time.sleep')" -ge "$1" ]
}
