#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# privacy.bats: what reaches a terminal, what a sudo user sees, what a forged profile costs.
# Parallel: no other recorder matters.
# Names as in faults.bats: "attack: what happens".

load common

# C0 controls, DEL, C1 controls, line separators and marks of direction; bytes that are no UTF-8.
hostile=$'a\033[2Jb\u009b31mc\u0085d\u2028e\u202ef\u2066g\u200eh\u061ci\177j\xffk'

# Fails if the file has anything that a terminal obeys or that misleads the eye.
harmless() { # FILE
	python3 - "$1" <<-'END'
		import sys, unicodedata
		data = open(sys.argv[1], 'rb').read().decode('utf-8')
		bad = {c for c in data if c != '\n' and unicodedata.category(c) in ('Cc', 'Cf', 'Zl', 'Zp')}
		print(sys.argv[1], 'has', sorted(map(ascii, bad))) if bad else None
		sys.exit(bool(bad))
	END
}

@test "command line that would paint on a terminal or turn text around: info, report, dump, query and diff show it escaped" {
	need_root
	record -- /bin/true "$hostile" $'two\nlines'
	"$GCPROF" info >info
	"$GCPROF" info --json >info.json
	"$GCPROF" report >report
	"$GCPROF" report --json >report.json
	"$GCPROF" dump >dump
	"$GCPROF" query 'SELECT command FROM recording' >query
	"$GCPROF" query -f csv 'SELECT command FROM recording' >query.csv
	"$GCPROF" diff gcprof.data gcprof.data >compared
	"$GCPROF" export -f folded -o folded
	for file in record.log info info.json report report.json dump query query.csv compared folded; do
		harmless $file
	done
	grep -F 'a\x1b[2Jb\x9b31mc\x85d\u{2028}e\u{202e}f\u{2066}g\u{200e}h\u{061c}i\x7fj\xffk' info report
	# JSON still says what there was.
	same 'words of the command' "$(jq -r 'select(.record == "argument").text' dump)" \
		"/bin/true"$'\n'"${hostile/$'\xff'/$'\ufffd'}"$'\n'$'two\nlines'
}

@test "file name that would paint or forge a line of its own in messages: shown escaped, on one line" {
	local code verb name=$'x\ngcprof: error: forged'$hostile
	for verb in info report dump; do
		code=0
		"$GCPROF" $verb "$name" >out 2>log || code=$?
		same "status of $verb" $code 1
		harmless log
		same 'lines of the message' "$(wc -l <log)" 1
	done
	code=0
	"$GCPROF" record -o out.data -- "./$name" >out 2>log || code=$?
	same 'status of record' $code 127
	harmless log
	same 'lines of the message' "$(wc -l <log)" 1
}

# Prints what is an address of the kernel in a dump, as a number or in a text, in any base.
kernel_addresses() { # FILE
	python3 - "$1" <<-'END'
		import re, sys
		text = open(sys.argv[1]).read()
		numbers = [int(n) for n in re.findall(r'\d{15,}', text)]
		numbers += [int(n, 16) for n in re.findall(r'(?i)[0-9a-f]{12,}', text)]
		numbers += [int(n, 8) for n in re.findall(r'[0-7]{20,}', text)]
		# The last pages are small negative numbers, and a page of calls at the same place everywhere.
		numbers = [n for n in numbers if n < 1 << 64]
		print(*(hex(n) for n in numbers if 0xffff800000000000 <= n < 0xffffffffff600000))
		functions = {int(line.split()[0], 16) for line in open('/proc/kallsyms')} - {0}
		print(*(hex(n) for n in numbers if n in functions))
		frames = re.findall(r'"kernel_frame"[^}]*', text)
		print(*(frame for frame in frames if any(map(int, re.findall(r':(\d+)', frame)[1:]))))
	END
}

@test "profile is searched for addresses of the kernel: there are names and no addresses" {
	need_root
	record --kernel-stacks --off-cpu --off-cpu-min 0 --faults -- sh -c 'dd if=/dev/zero of=/dev/null bs=1M count=5000; sleep 0.1'
	"$GCPROF" dump >dump
	[ "$(grep -c '^{"record":"kernel_frame"' dump)" -gt 20 ]
	same addresses "$(kernel_addresses dump | xargs | head -c 200)" ''
	holds '[.functions[] | select(.runtime == "kernel" and .cpu_self_ns > 0).name] | length > 0'
	same 'addresses in the database' \
		"$("$GCPROF" query -f csv "SELECT count(*) FROM frames WHERE runtime = 'kernel' AND address != 0" | tail -n 1)" 0
}

# A process of another user that asks for a path of its own all the time; its number is in $asker.
start_asker() { # UID
	setpriv --reuid "$1" --regid "$1" --clear-groups /usr/bin/python3 -c '
import os, mmap, time
while True:
	try: os.stat("/secret/of/%d" % os.getuid())
	except OSError: pass
	with mmap.mmap(-1, 8192) as memory: memory[0] = 1
	os.getcwd()
	time.sleep(0.002)' "words of $1" &
	asker=$!
	started+=("$asker")
}

# How many numbers other than 0 a process's calls had as arguments or returned, or it touched.
handed_over() { # PID
	jq -s --argjson pid "$1" '([.[] | select(.record == "process" and .pid == $pid).id][0]) as $process |
		[.[] | select(.record == "thread" and .process == $process).id] as $threads |
		[.[] | select((.record == "syscall" or .record == "fault") and (.thread | IN($threads[]))) |
			(.arg0, .arg1, .arg2, .result, .path, .address) // 0 | select(. > 0)] | length' dump
}

@test "sudo user records another user's process: no path, argument, result or address of it is in the profile, counts and times are; root gets all" {
	need_root
	local mine other
	start_asker 1001
	mine=$asker
	start_asker 1002
	other=$asker
	wait_busy "$mine"
	wait_busy "$other"
	chmod 777 .
	SUDO_UID=1001 SUDO_GID=1001 begin_recording --faults --fault-rate 1000 -p "$mine,$other"
	wait_until has_stored fault 400
	end_recording
	"$GCPROF" dump >dump
	grep -F /secret/of/1001 dump >found
	absent /secret/of/1002 dump
	[ "$(handed_over "$mine")" -gt 100 ]
	same 'numbers of the other user' "$(handed_over "$other")" 0
	same 'addresses of mappings' "$(jq -s '[.[] | select(.record == "mmap").address] | unique == [0]' dump)" true
	[ "$(grep -c '"record":"fault"' dump)" -gt 100 ]
	"$GCPROF" report --json --filter "process=$other" | jq -e \
		'[.syscalls[] | select(.name == "stat" or .name == "newfstatat")][0] | .count > 50 and .errors == .count and .total_ns > 0'
	"$GCPROF" info | grep '^withheld .*other users'
	rm gcprof.data
	begin_recording --faults --fault-rate 1000 -p "$mine,$other"
	wait_until has_stored fault 400
	end_recording
	"$GCPROF" dump >dump
	grep -F /secret/of/1002 dump >found
	[ "$(handed_over "$other")" -gt 100 ]
	[ "$(jq -s '[.[] | select(.record == "mmap" and .address > 0)] | length' dump)" -gt 0 ]
}

@test "sudo user records another user's process where /proc is mounted with hidepid: its command line is not in the profile, without hidepid it is" {
	need_root
	start_asker 1002
	wait_busy "$asker"
	chmod 777 .
	for options in hidepid=0 hidepid=2; do
		unshare -m bash -c 'mount -t proc -o "$1" proc /proc && shift && exec "$@"' bash $options \
			env SUDO_UID=1001 SUDO_GID=1001 "$GCPROF" record -o $options -p "$asker" --duration 0.3 2>record.log
	done
	"$GCPROF" info hidepid=0 | grep '^command .*words of 1002'
	"$GCPROF" dump hidepid=2 >dump
	absent 'words of 1002' dump
	unshare -m bash -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' bash \
		"$GCPROF" record -o root -p "$asker" --duration 0.3 2>record.log
	"$GCPROF" info root | grep '^command .*words of 1002'
}

make_bombs() {
	gcc -std=gnu11 -O1 -I"$ROOT/userspace" "$ROOT/tests/e2e/programs/bombs.c" \
		"$BUILD/libgcprof-user.a" -lzstd -lbpf -lm -o "$BATS_FILE_TMPDIR/bombs"
}

@test "small profile unfolds to gigabytes and its reader allows them (GCPROF_MEMORY): it is read whole" {
	make_bombs
	"$BATS_FILE_TMPDIR/bombs" totals 300000 >totals.data
	GCPROF_MEMORY=6G "$GCPROF" report totals.data >out
	absent 'Only the beginning' out
	code=0
	GCPROF_MEMORY=100M "$GCPROF" report totals.data >out 2>log || code=$?
	same status $code 1
	grep -F 'Only the beginning of this profile was read' out
}
