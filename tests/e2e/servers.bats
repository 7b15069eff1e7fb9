#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# servers.bats: servers that are silent, slow, endless or huge: an error within a minute, in limited memory.
# Parallel: no other recorder matters.

load common

setup() {
	[ -x "$GCPROF" ] || return 1
	cd "$BATS_TEST_TMPDIR" || return 1
	unset http_proxy https_proxy all_proxy
	cp "$ROOT"/tests/golden/profile.gcprof profile
	version=$(awk '/define FLEET_VERSION/ {print $3}' "$ROOT/userspace/fleet/tables.h")
}

# Starts a server; sets url and adds it to `started`.
serve() { # MODE
	rm -f port
	python3 "$ROOT/tests/e2e/programs/server.py" "$1" "$version" >port 2>/dev/null 3>&- &
	started+=($!)
	wait_until test -s port
	url=http://127.0.0.1:$(cat port)
}

# Runs gcprof; writes its status, its largest memory in MiB, and its seconds to FILE, and what it says to FILE.said.
measure() { # FILE ARGUMENTS...
	python3 - "$@" >"$1" <<-'EOT'
		import resource, subprocess, sys, time
		began = time.monotonic()
		with open(sys.argv[1] + '.said', 'w') as said:
		    status = subprocess.run(sys.argv[2:], stdout=said, stderr=said, timeout=500).returncode
		print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10, round(time.monotonic() - began))
	EOT
}

reading() { # what each command that reads does, with the server's URL
	echo "report --from $url"
	echo "report --from $url --tree"
	echo "report --from $url --timeline"
	echo "diff --from $url service=a service=b"
	echo "export -f folded --from $url -o stacks"
	echo "query --from $url SELECT"
}

# Fails unless a measured command failed within these seconds, in this memory, with these words.
failed() { # FILE SECONDS WORDS
	local status memory seconds
	read -r status memory seconds <"$1"
	[ "$status" = 1 ] && [ "$memory" -le 256 ] && [ "$seconds" -le "$2" ] && grep -qE -- "$3" "$1.said" && return 0
	echo "$1: status $status, $memory MiB, $seconds s: $(head -c 500 "$1.said")"
	return 1
}

@test "long: a server that is silent or slow: an error after half a minute, by every command" {
	local mode line n=0 pids=()
	for mode in silent slow 'at once silent'; do
		serve "$mode"
		# Two pushes of one file are refused.
		cp profile "profile${url##*:}"
		while read -r line; do
			n=$((n + 1))
			# shellcheck disable=SC2086 # words
			measure waiting$n "$GCPROF" $line &
			pids+=($!)
		done < <(reading && echo "push --to $url profile${url##*:}")
	done
	measure waiting22 "$GCPROF" push --to "pyroscope+$url" profile
	wait "${pids[@]}"
	same commands $n 21
	for i in {1..22}; do
		failed waiting$i 120 'silent for 30 s'
	done
	[ ! -e stacks ]
}

@test "long: an answer without end, or a larger one than is taken: an error, in limited memory" {
	local mode line n=0
	for mode in endless headers 'arrays 250' 'at once endless'; do
		serve "$mode"
		while read -r line; do
			n=$((n + 1))
			# shellcheck disable=SC2086 # words
			measure large$n "$GCPROF" $line
			failed large$n 120 'answer is larger than|esponse headers|headers'
		done < <(reading)
	done
	[ ! -e stacks ]
}

@test "an answer of 32 MiB: at most 256 MiB, and the rows if they are right" {
	local line n=0
	serve 'arrays 32'
	while read -r line; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # words
		measure arrays$n "$GCPROF" $line
		failed arrays$n 120 'answer is invalid'
	done < <(reading)
	[ ! -e stacks ]
	serve 'objects 32'
	measure objects "$GCPROF" report --from "$url"
	failed objects 300 'not enough memory|answer is invalid'
	serve 'rows 32'
	measure rows "$GCPROF" export -f folded --from "$url" -o stacks
	cat rows rows.said
	read -r status memory _ <rows
	[ "$status" = 0 ] && [ "$memory" -le 256 ]
	same 'lines' "$(sort -u stacks)" "main;$(printf 'f%.0s' {1..60}) 12"
	[ "$(wc -l <stacks)" -gt 100000 ]
}

@test "record --push to no server, or a silent one, fails and keeps the file; with a spool it is safe there" {
	need_root
	run "$GCPROF" record --push http://127.0.0.1:1 -- /bin/true
	echo "$output"
	same status "$status" 1
	grep -q 'not every profile was pushed; the files are kept' <<<"$output"
	"$GCPROF" report gcprof.data >/dev/null
	run "$GCPROF" record --push http://127.0.0.1:1 -- /bin/sh -c 'exit 3'
	same 'the status of the program' "$status" 3
	run "$GCPROF" record --push http://127.0.0.1:1 --spool spool -- /bin/true
	same status "$status" 0
	same 'in the spool' "$(find spool -name '*.data' | wc -l)" 1
	run "$GCPROF" push --to http://127.0.0.1:1 --spool spool
	same status "$status" 75
	# Each run kept the one before.
	"$GCPROF" report gcprof.data.old >/dev/null
}

# The processes that push for a recorder.
pushers() { # PID
	pgrep -P "$1" -x gcprof-pusher
}

@test "the process that pushes ends with its recorder" {
	need_root
	local recorder pusher
	serve 'at once silent'
	chmod 777 .
	SUDO_UID=12345 SUDO_GID=12345 "$GCPROF" record --push "$url" -- /bin/true 3>&- 2>said &
	recorder=$!
	started+=("$recorder")
	wait_until grep -q 'see it with' said
	pusher=$(pushers $recorder)
	wait_until pgrep -P "$pusher"
	child=$(pgrep -P "$pusher")
	kill -KILL $recorder
	wait_until eval "! kill -0 $pusher 2>/dev/null && ! kill -0 $child 2>/dev/null"
}

@test "process that pushes is stopped by its user: the recorder waits --push-wait, says so, and keeps the file" {
	need_root
	local recorder pusher
	serve 'at once silent'
	chmod 777 .
	exec 9</etc/hostname
	SUDO_UID=12345 SUDO_GID=12345 "$GCPROF" record --push "$url" --push-wait 2 -- \
		/bin/sh -c 'until [ -e over ]; do sleep 0.1; done' 3>&- 2>said &
	recorder=$!
	exec 9<&-
	started+=("$recorder")
	wait_until pushers $recorder
	pusher=$(pushers $recorder)
	# It has a socket, output and error, and nothing that the recorder or its caller had open.
	same descriptors "$(ls "/proc/$pusher/fd" | tr '\n' ' ')" '0 1 2 '
	same user "$(stat -c %u "/proc/$pusher")" 12345
	kill -STOP "$pusher"
	touch over
	wait "$recorder" && false
	cat said
	grep -q 'the last 1 were not pushed within 2 s each' said
	grep -q 'not every profile was pushed; the files are kept' said
	wait_until eval "! kill -0 $pusher 2>/dev/null"
	"$GCPROF" report gcprof.data >/dev/null
}

@test "a spool that others may write to is refused" {
	need_root
	local folder
	mkdir theirs open
	chown 12345 theirs
	chmod 777 open
	for folder in theirs open; do
		run "$GCPROF" push --to http://127.0.0.1:1 --spool $folder profile
		echo "$output"
		same status "$status" 1
		grep -q "$folder: other users may write there" <<<"$output"
		same 'files' "$(ls -A $folder)" ''
	done
}

@test "--user with a line break: refused, and a password for another machine without https gets a warning" {
	run "$GCPROF" push --to http://127.0.0.1:1 --user "$(printf 'me\r\nX-More: yes')" profile
	same status "$status" 2
	(umask 077 && echo secret >password)
	# This machine, by a name that does not say so.
	run timeout 60 "$GCPROF" push --to http://0.0.0.0:1 --password-file password profile
	grep -q 'the password is sent unencrypted: use https' <<<"$output"
	run "$GCPROF" push --to http://127.0.0.1:1 --password-file password profile
	absent unencrypted <(echo "$output")
	run timeout 60 "$GCPROF" push --to https://0.0.0.0:1 --password-file password profile
	absent unencrypted <(echo "$output")
}
