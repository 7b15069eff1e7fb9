#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# outputs.bats: commands that write a file: it appears, or replaces an earlier one, only when they succeed.
# Parallel: no other recorder matters.

load common

USER_ID=12345
FORMATS='firefox html pprof folded perfetto sqlite'

setup_file() {
	[ "$(id -u)" != 0 ] ||
		"$GCPROF" record -R 64K -o "$BATS_FILE_TMPDIR/profile" -- "$WORKLOADS/churn" --bytes 32M >/dev/null 2>&1
}

setup() {
	need_root
	[ -x "$GCPROF" ] || return 1
	cd "$BATS_TEST_TMPDIR" || return 1
	chmod 755 .
	cp "$BATS_FILE_TMPDIR/profile" profile
	chmod 644 profile
	# The least that VMProf writes, and that with its middle cut out.
	{
		printf '\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\350\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
		printf '\5\0\1\0\3'
	} >vmprof
	head -c 20 vmprof >cut.vmprof
	cp profile secret
	chmod 600 secret
	: >empty
	echo 'no profile' >junk
	printf '#!/no/such/interpreter\n' >script
	echo 'no program' >binary
	chmod 755 script binary
	mkdir folder
}

# As a user who calls sudo.
as_user() {
	SUDO_UID=$USER_ID SUDO_GID=$USER_ID "$@"
}

# An output that an earlier command wrote.
earlier() { # FORMAT FILE
	case $1 in
	profile) cp profile "$2" ;;
	*) "$GCPROF" export -f "$1" -o "$2" profile 2>/dev/null ;;
	esac
}

# The commands that fail, each with the format that it would have written to $out.
failing() {
	local format input
	for format in $FORMATS; do
		for input in missing empty junk folder; do
			echo "$format|$GCPROF export -f $format -o \$out $input"
		done
		echo "$format|as_user $GCPROF export -f $format -o \$out secret"
		echo "$format|$GCPROF export -f $format --what -o \$out profile"
		echo "$format|$GCPROF export -f $format --filter color=red -o \$out profile"
		echo "$format|$GCPROF export -f $format --filter time=1s..x -o \$out profile"
		echo "$format|$GCPROF export -f $format --frames some -o \$out profile"
		echo "$format|$GCPROF export -f $format --by nothing -o \$out profile"
		# Not written by an export of this format.
		echo "profile|$GCPROF export -f $format -o \$out profile"
	done
	echo "html|$GCPROF export -f firefox -o \$out profile"
	echo "folded|$GCPROF export -f html -o \$out profile"
	echo "folded|$GCPROF export -f folded -o \$out --from http://127.0.0.1:1"
	echo "folded|$GCPROF export -f folded -o \$out --from http://127.0.0.1:1 --where what=1"
	for input in missing empty junk folder cut.vmprof; do
		echo "profile|$GCPROF import -o \$out vmprof $input"
	done
	echo "profile|as_user $GCPROF import -o \$out vmprof secret"
	echo "profile|$GCPROF import --what -o \$out vmprof vmprof"
	echo "profile|$GCPROF import --pypylog missing -o \$out vmprof vmprof"
	echo "folded|$GCPROF import -o \$out vmprof vmprof"
	for input in missing junk folder 'profile profile' ''; do
		echo "profile|$GCPROF merge -o \$out $input"
	done
	echo "profile|as_user $GCPROF merge -o \$out secret"
	echo "profile|$GCPROF merge --what -o \$out profile"
	echo "profile|$GCPROF merge -o \$out \$out"
	echo "folded|$GCPROF merge -o \$out profile"
	for input in missing ./missing ./junk ./script ./binary ./folder; do
		echo "profile|$GCPROF record -o \$out -- $input"
	done
	echo "profile|$GCPROF record -o \$out"
	echo "profile|$GCPROF record --what -o \$out -- /bin/true"
	echo "profile|$GCPROF record -F 1000000 -o \$out -- /bin/true"
	echo "profile|$GCPROF record -p 4194304 -o \$out"
	echo "profile|$GCPROF record --cgroup /no/such -o \$out"
	echo "profile|$GCPROF record --push ftp://here -o \$out -- /bin/true"
	echo "profile|$GCPROF record --keep 10s --when what -o \$out -- /bin/true"
	echo "profile|unshare -Ur $GCPROF record -o \$out -- /bin/true"
	echo "profile|unshare -Ur $GCPROF record --duration 10ms -p \$\$ -o \$out"
	echo "folded|$GCPROF record -o \$out -- /bin/true"
}

# Runs a command that fails; the test fails unless the earlier output is as it was, and nothing beside it.
try() { # FORMAT COMMAND
	local out=place/out code=0
	rm -rf place
	mkdir place
	earlier "$1" $out
	[[ $2 != as_user* ]] || chown -R $USER_ID place
	cp $out before
	eval "timeout 60 $2" >said 2>&1 </dev/null || code=$?
	[ $code != 0 ] && [ $code != 124 ] && cmp -s before $out && [ "$(ls -A place)" = out ] && [ -s said ] && return 0
	echo "$2: status $code, $(ls -A place), $(cmp before $out), $(cat said)"
	return 1
}

# Exported functions are not seen by timeout(1).
timeout() {
	local limit=$1
	shift
	[ "$1" != as_user ] || { shift && set -- env SUDO_UID=$USER_ID SUDO_GID=$USER_ID "$@"; }
	command timeout "$limit" "$@"
}

@test "no command that fails changes or removes the file that it should have written" {
	local format command failed=0 count=0
	unshare -Ur true 2>/dev/null || skip 'no user namespaces'
	while IFS='|' read -r format command; do
		try "$format" "$command" || failed=$((failed + 1))
		count=$((count + 1))
	done < <(failing)
	echo "$failed of $count lost what was there"
	[ $failed = 0 ] && [ $count -gt 100 ]
}

@test "a full disk: what was there stays, and nothing else" {
	local format failed=0
	mkdir small
	mount -t tmpfs -o size=512k none small || skip 'cannot mount a tmpfs'
	for format in $FORMATS; do
		earlier "$format" small/out
		cp small/out before
		cat /dev/zero >small/filler 2>/dev/null || true
		! timeout 60 "$GCPROF" export -f "$format" -o small/out profile 2>said && cmp before small/out &&
			grep -q 'No space left' said || { failed=$((failed + 1)) && echo "$format: $(cat said)"; }
		rm -f small/filler
		[ "$(ls -A small)" = out ] || failed=$((failed + 1))
		rm small/out
	done
	cp profile small/out
	cat /dev/zero >small/filler 2>/dev/null || true
	for command in 'record -o small/out -- touch ran' 'merge -o small/out profile' 'import -o small/out vmprof vmprof'; do
		# shellcheck disable=SC2086 # words
		! timeout 60 "$GCPROF" $command 2>said && cmp profile small/out && grep -q 'No space left' said ||
			{ failed=$((failed + 1)) && cat said; }
	done
	umount small
	[ $failed = 0 ] && [ ! -e ran ]
}

@test "an export that is killed while it reads: what was there stays, and nothing else" {
	local format pid
	for format in $FORMATS; do
		mkdir "$format"
		earlier "$format" "$format/out"
		cp "$format/out" before
		mkfifo pipe
		"$GCPROF" export -f "$format" -o "$format/out" - <pipe 2>/dev/null 3>&- &
		pid=$!
		exec 4>pipe
		head -c 300 profile >&4
		wait_until eval "ls -l /proc/$pid/fd | grep -q '/$format/'"
		kill -KILL $pid
		wait $pid || true
		exec 4>&-
		rm pipe
		cmp before "$format/out"
		same 'files' "$(ls -A "$format")" out
	done
}

@test "a recorder that is killed at any time leaves the earlier profile, at the latest as .old" {
	local i
	cp profile out
	for i in 0.02 0.05 0.08 0.1 0.15 0.2 0.3 0.5; do
		timeout -s KILL $i "$GCPROF" record -o out -- /bin/sleep 5 2>/dev/null || true
		cmp -s profile out || {
			cmp profile out.old
			mv out.old out
		}
	done
}

@test "record keeps the profile before as .old, with the mode that it had" {
	"$GCPROF" record -- /bin/true
	[ ! -e gcprof.data.old ]
	cp gcprof.data first
	chmod 640 gcprof.data
	"$GCPROF" record -- /bin/true
	cmp first gcprof.data.old
	same mode "$(stat -c %a gcprof.data)" 640
	"$GCPROF" report gcprof.data >/dev/null
	# With several files, of each.
	"$GCPROF" record --rotate 10m -o part -- /bin/true
	cp part-0001 first
	"$GCPROF" record --rotate 10m -o part -- /bin/true
	cmp first part-0001.old
	# A file of that name that is no profile stays.
	cp gcprof.data first
	cp junk gcprof.data.old
	run "$GCPROF" record -- /bin/touch ran
	echo "$output"
	same status "$status" 1
	cmp junk gcprof.data.old
	cmp first gcprof.data
	[ ! -e ran ]
}

@test "each export replaces what an export in its format wrote, and an empty file" {
	local format
	for format in $FORMATS; do
		: >"out.$format"
		"$GCPROF" export -f "$format" -o "out.$format" profile
		cp "out.$format" first
		"$GCPROF" export -f "$format" -o "out.$format" profile
		cmp first "out.$format"
		same links "$(stat -c %h "out.$format")" 1
	done
	"$GCPROF" merge -o merged profile
	"$GCPROF" merge -o merged profile
	"$GCPROF" import -o imported vmprof vmprof
	"$GCPROF" import -o imported vmprof vmprof
}

@test "a FIFO, /dev/stdout and - get what a file gets" {
	"$GCPROF" export -f folded -o file profile
	mkfifo pipe
	"$GCPROF" export -f folded -o pipe profile 3>&- &
	cmp pipe file
	wait $!
	"$GCPROF" export -f folded -o - profile | cmp - file
	"$GCPROF" export -f folded -o /dev/stdout profile | cmp - file
	"$GCPROF" record -o /dev/stdout -- /bin/echo here 2>said >piped
	"$GCPROF" report piped >/dev/null
	grep -qx here said
	"$GCPROF" record -o pipe -- /bin/true 2>/dev/null 3>&- &
	cat pipe >piped
	wait $!
	"$GCPROF" report piped >/dev/null
}
