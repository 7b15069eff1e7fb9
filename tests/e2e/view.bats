#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# view.bats: gcprof view serves a profile on the loopback address, and to nobody else.
# Parallel: no other recorder matters.

load common

PROFILE=$BATS_TEST_DIRNAME/../golden/profile.gcprof

teardown() {
	local viewer
	for viewer in ${VIEWER:-} ${FIRST:-}; do
		kill "$viewer" 2>/dev/null || true
	done
}

# Starts it, in an environment with WITH, and sets VIEWER, HOST_PORT and FILE_PATH from the address that it prints.
view() {
	env "${WITH[@]}" "$GCPROF" view "$@" >address 2>view.log 3>&- &
	VIEWER=$!
	wait_until test -s address
	local url
	url=$(sed -nE 's|^https://profiler.firefox.com/from-url/http%3A%2F%2F||p' address)
	url=${url//%3A/:}
	url=${url//%2F//}
	HOST_PORT=${url%%/*}
	FILE_PATH=/${url#*/}
	[ -n "$HOST_PORT" ]
}

# Sends a request and stores the answer, head and body apart.
request() { # METHOD PATH HOST
	exec 9<>"/dev/tcp/127.0.0.1/${HOST_PORT#*:}"
	printf '%s %s HTTP/1.1\r\nHost: %s\r\nOrigin: https://profiler.firefox.com\r\n\r\n' "$1" "$2" "$3" >&9
	cat <&9 >answer
	exec 9>&-
	sed '/^\r$/q' answer >top
	tail -c "+$(($(wc -c <top) + 1))" answer >body
}

@test "the address leads to the export, and a signal ends it" {
	view "$PROFILE"
	request GET "$FILE_PATH" "$HOST_PORT"
	grep -q '^HTTP/1.1 200 OK' top
	grep -q '^Access-Control-Allow-Origin: https://profiler.firefox.com' top
	"$GCPROF" export -o wanted.json.gz "$PROFILE"
	cmp body wanted.json.gz
	zcat body | jq -r -f "$ROOT/tests/e2e/firefox.jq" >faults
	same faults "$(cat faults)" ""
	kill -INT "$VIEWER"
	wait "$VIEWER"
	VIEWER=
}

@test "--html serves the page that the export writes, to itself only" {
	"$GCPROF" view --html "$PROFILE" >address 2>view.log 3>&- &
	VIEWER=$!
	wait_until test -s address
	grep -qE '^http://127[.]0[.]0[.]1:[0-9]+/[0-9a-f]{32}/gcprof[.]html$' address
	HOST_PORT=$(cut -d / -f 3 address) FILE_PATH=/$(cut -d / -f 4- address)
	request GET "$FILE_PATH" "$HOST_PORT"
	grep -q '^HTTP/1.1 200 OK' top
	grep -q '^Content-Type: text/html; charset=utf-8' top
	absent Access-Control-Allow top
	"$GCPROF" export -f html -o wanted.html "$PROFILE"
	cmp body wanted.html
	request GET "${FILE_PATH%/*}/" "$HOST_PORT"
	grep -q '^HTTP/1.1 404' top
	request GET "$FILE_PATH" "evil.example:${HOST_PORT#*:}"
	grep -q '^HTTP/1.1 404' top
}

@test "it shows the frames that are wanted" {
	need_root
	record -R 64K -- "$WORKLOADS/lisp" "$ROOT/tests/workloads/lisp/tree.lisp" depth=8
	"$GCPROF" export -o all.json.gz
	for frames in native managed; do
		view --frames "$frames" gcprof.data
		request GET "$FILE_PATH" "$HOST_PORT"
		"$GCPROF" export --frames "$frames" -o wanted.json.gz
		cmp body wanted.json.gz
		run cmp -s wanted.json.gz all.json.gz
		same "all is the same as $frames" "$status" 1
		kill -INT "$VIEWER"
		wait "$VIEWER"
		VIEWER=
		rm address
	done
	run "$GCPROF" view --frames both "$PROFILE"
	same status "$status" 2
	[[ $output == *"the kinds are all, managed and native"* ]]
}

@test "other paths and other hosts get nothing" {
	view "$PROFILE"
	request GET / "$HOST_PORT"
	grep -q '^HTTP/1.1 404' top
	[ ! -s body ]
	request GET "$FILE_PATH" "evil.example:${HOST_PORT#*:}"
	grep -q '^HTTP/1.1 404' top
	request OPTIONS "$FILE_PATH" "$HOST_PORT"
	grep -q '^HTTP/1.1 204' top
	grep -q '^Access-Control-Allow-Private-Network: true' top
}

# Opens connections that say nothing, or begin to, and keeps them.
connect_idle() { # COUNT
	local fd i
	for ((i = 0; i < $1; i++)); do
		exec {fd}<>"/dev/tcp/127.0.0.1/${HOST_PORT#*:}"
		((i % 2)) || printf 'GET /' >&$fd
	done
}

@test "connections that say nothing: the profile comes all the same, beside one or a hundred" {
	view "$PROFILE"
	"$GCPROF" export -o wanted.json.gz "$PROFILE"
	local more start took
	# They are patient for ten seconds with each.
	for more in 1 19 80; do
		connect_idle $more
		start=${EPOCHREALTIME/./}
		request GET "$FILE_PATH" "$HOST_PORT"
		took=$((${EPOCHREALTIME/./} - start))
		cmp body wanted.json.gz
		echo "beside $more more: $took us"
		[ $took -lt 8000000 ]
	done
}

@test "two viewers keep to themselves" {
	view "$PROFILE"
	FIRST=$VIEWER
	first_path=$FILE_PATH
	first_host=$HOST_PORT
	rm address
	view "$PROFILE"
	[ "$first_path" != "$FILE_PATH" ]
	request GET "$first_path" "$HOST_PORT"
	grep -q '^HTTP/1.1 404' top
	kill -TERM "$VIEWER"
	wait "$VIEWER"
	VIEWER=
	FILE_PATH=$first_path HOST_PORT=$first_host
	request GET "$FILE_PATH" "$HOST_PORT"
	grep -q '^HTTP/1.1 200' top
}

@test "a port that is taken is told" {
	view "$PROFILE"
	run "$GCPROF" view --port "${HOST_PORT#*:}" "$PROFILE"
	same status "$status" 1
	[[ $output == *"${HOST_PORT#*:}: Address already in use"* ]]
}

@test "mistakes are told" {
	run "$GCPROF" view missing.data
	same status "$status" 1
	[[ $output == *'no such file'* ]]
	run "$GCPROF" view one two
	same status "$status" 2
	run "$GCPROF" view --frames some "$PROFILE"
	same status "$status" 2
	[[ $output == *'all, managed and native'* ]]
}

# A browser that notes its arguments, its user, its terminal and its home.
make_browser() { # NAME
	cat >"$1" <<-EOT
		#!/bin/sh
		echo "\$# \$1" >opened.new
		echo "\$(id -u) \$(tty) \$HOME" >>opened.new
		mv opened.new opened
	EOT
	chmod 755 "$1"
}

@test "--open starts the browser with the address, and says what to do if there is none" {
	make_browser browser
	WITH=("BROWSER=missing:./browser")
	view --open "$PROFILE"
	wait_until test -s opened
	same arguments "$(head -n 1 opened)" "1 $(cat address)"
	grep -q 'opening this address in the browser' view.log
	grep -q 'may ask whether https://profiler.firefox.com may connect to this machine' view.log
	kill "$VIEWER"
	wait "$VIEWER"
	rm address opened
	# xdg-open comes last.
	mkdir bin
	make_browser bin/xdg-open
	WITH=("PATH=$PWD/bin:$PATH" BROWSER=)
	view --open "$PROFILE"
	wait_until test -s opened
	kill "$VIEWER"
	wait "$VIEWER"
	rm address
	# Neither a shell nor a program of several words: this is a name.
	WITH=(PATH=/nowhere "BROWSER=touch by-shell")
	view --open "$PROFILE"
	wait_until grep -q 'open this address' view.log
	grep -q 'there is no xdg-open; set BROWSER' view.log
	[ ! -e by-shell ]
	kill "$VIEWER"
	wait "$VIEWER"
	rm address
	WITH=(BROWSER=false)
	view --open "$PROFILE"
	wait_until grep -q 'false has failed; open the address yourself' view.log
}

@test "--open under sudo: the browser runs as the user, in the user's home" {
	need_root
	chmod 711 . && cp "$PROFILE" profile && chmod 644 profile
	mkdir users && chown 65534 users
	cd users
	make_browser browser
	WITH=(SUDO_UID=65534 SUDO_GID=65534 HOME=/root BROWSER=./browser)
	view --open ../profile
	wait_until test -s opened
	same "user and home" "$(sed -n '2s/ not a tty / /p' opened)" "65534 $(getent passwd 65534 | cut -d : -f 6)"
	# It has gone when the viewer has: its port is free again.
	kill "$VIEWER"
	wait "$VIEWER"
	run request GET "$FILE_PATH" "$HOST_PORT"
	[ "$status" != 0 ]
}

@test "programs of other users get nothing, even if they know the path" {
	need_root
	view "$PROFILE"
	local ask='exec 9<>"/dev/tcp/127.0.0.1/$1"; printf "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n" "$2" "$1" >&9; cat <&9'
	bash -c "$ask" x "${HOST_PORT#*:}" "$FILE_PATH" >mine
	[ -s mine ]
	setpriv --reuid 65534 --regid 65534 --clear-groups bash -c "$ask" x "${HOST_PORT#*:}" "$FILE_PATH" >others || true
	same others "$(wc -c <others)" 0
}

@test "--profiler: another copy of the profiler may read it, and no other page" {
	"$GCPROF" view --profiler http://LocalHost:4242/copy/ "$PROFILE" >address 2>view.log 3>&- &
	VIEWER=$!
	wait_until test -s address
	grep -qE '^http://LocalHost:4242/copy/from-url/http%3A%2F%2F127' address
	local url
	url=$(sed 's|.*from-url/http%3A%2F%2F||; s|%3A|:|g; s|%2F|/|g' address)
	HOST_PORT=${url%%/*} FILE_PATH=/${url#*/}
	request GET "$FILE_PATH" "$HOST_PORT"
	grep -q '^Access-Control-Allow-Origin: http://localhost:4242.$' top
	for url in ftp://host https://user@host 'https://host/?q' host; do
		run "$GCPROF" view --profiler "$url" "$PROFILE"
		same "$url" "$status" 2
		[[ $output == *'not an address such as'* ]]
	done
	run "$GCPROF" view --html --profiler http://localhost "$PROFILE"
	same "with --html" "$status" 2
}
