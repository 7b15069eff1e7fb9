#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# invoker.bats: what users may try against root's gcprof, or by way of it. Names as in faults.bats: "attack: what happens".
# Parallel: no other recorder matters.

load common

USER_ID=12345
SECRET='the secret of root'

# A directory of root's with a file in it, one of the user's, and files that the verbs read.
setup() {
	need_root
	[ -x "$GCPROF" ] || return 1
	cd "$BATS_TEST_TMPDIR" || return 1
	started=()
	mkdir roots mine
	chown $USER_ID:$USER_ID mine
	chmod 755 . roots
	(umask 077 && echo "$SECRET" >roots/secret)
	cp "$BATS_TEST_DIRNAME/../golden/profile.gcprof" profile
	# The least that VMProf writes: header, interval, version 1, no name, end.
	{
		printf '\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\350\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
		printf '\5\0\1\0\3'
	} >vmprof
	chmod 644 profile vmprof
}

teardown() {
	rm -f "/tmp/gcprof-$USER_ID.lock"
	end_started
	[ -z "${RUNNING:-}" ] || kill -KILL "$RUNNING" 2>/dev/null || true
	[ -z "${java:-}" ] || kill -KILL "$java" 2>/dev/null || true
	[ -z "${classes:-}" ] || rm -r "$classes"
}

# As `sudo gcprof`, called by the user.
sudo_gcprof() {
	SUDO_UID=$USER_ID SUDO_GID=$USER_ID timeout 60 "$GCPROF" "$@"
}

# Fails unless a command fails with a sentence that has these words.
refused() { # WORDS COMMAND...
	local words=$1
	shift
	run "$@"
	echo "$* says: $output"
	same status "$status" 1
	grep -qF -- "$words" <<<"$output"
}

unharmed() {
	same 'secret' "$(cat roots/secret)" "$SECRET"
	same 'what root has' "$(ls -A roots)" secret
	[ ! -e mine/ran ]
}

# What there is of root in a process: nothing, or the lines that say so.
roots_rights() { # PID
	local id=$USER_ID none=0000000000000000
	grep -E '^(Uid|Gid|Groups|Cap(Inh|Prm|Eff|Amb)):' "/proc/$1/status" |
		tr -s ' \t' ' ' | sed 's/ $//' |
		grep -vxE "[UG]id: $id $id $id $id|Groups: $id|Cap...: $none" || true
}

becomes_the_user() { # PID
	[ -z "$(roots_rights "$1")" ]
}

@test "-o under sudo into a directory that only root may write: refused with a sentence, the program does not run" {
	refused 'you may not write there' sudo_gcprof record -o roots/ld.so.preload -- /bin/touch mine/ran
	refused 'belongs to another user' sudo_gcprof record -o roots/secret -- /bin/touch mine/ran
	unharmed
	# Where the user may write, the file is the user's.
	sudo_gcprof record -o mine/data -- /bin/true
	same owner "$(stat -c %u:%g:%a mine/data)" $USER_ID:$USER_ID:600
}

@test "-o under sudo through a symbolic link to a directory of root's: refused" {
	ln -s ../roots mine/way
	refused 'you may not write there' sudo_gcprof record -o mine/way/ld.so.preload -- /bin/touch mine/ran
	refused 'belongs to another user' sudo_gcprof record -o mine/way/secret -- /bin/touch mine/ran
	unharmed
}

@test "export and import under sudo over a file of root's, or beside it: refused, the file is unchanged" {
	refused 'belongs to another user' sudo_gcprof export -f folded -o roots/secret profile
	refused 'belongs to another user' sudo_gcprof import -o roots/secret vmprof vmprof
	refused 'you may not write there' sudo_gcprof export -f folded -o roots/crontab profile
	refused 'you may not write there' sudo_gcprof import -o roots/crontab vmprof vmprof
	unharmed
	sudo_gcprof import -o mine/data vmprof vmprof
	same owner "$(stat -c %u mine/data)" $USER_ID
}

@test "a profile that only root may read, read under sudo: permission denied, by every verb that needs no root" {
	local verb
	chmod 600 profile vmprof
	for verb in report info dump view query diff export; do
		set -- "$verb" profile
		[ $verb != query ] || set -- query 'SELECT 1 FROM samples' profile
		[ $verb != diff ] || set -- diff profile profile
		refused 'profile: permission denied' sudo_gcprof "$@"
	done
	refused 'ermission denied' sudo_gcprof import -o mine/data vmprof vmprof
	unharmed
}

@test "view and export under sudo, watched in /proc while they run: user, groups and capabilities are the user's" {
	SUDO_UID=$USER_ID SUDO_GID=$USER_ID "$GCPROF" view profile >address 2>log 3>&- &
	RUNNING=$!
	wait_until test -s address
	roots_rights $RUNNING
	becomes_the_user $RUNNING
	kill $RUNNING
	wait $RUNNING
	# One that waits for a reader of its pipe.
	mkfifo -m 600 mine/pipe
	chown $USER_ID mine/pipe
	SUDO_UID=$USER_ID SUDO_GID=$USER_ID "$GCPROF" export -f folded -o mine/pipe profile 2>log 3>&- &
	RUNNING=$!
	wait_until becomes_the_user $RUNNING
	cat mine/pipe >out
	wait $RUNNING
}

@test "called by pkexec or doas: the same as by sudo" {
	local id
	id=$(id -u nobody)
	refused 'you may not write there' env PKEXEC_UID="$id" "$GCPROF" record -o roots/data -- /bin/touch mine/ran
	refused 'you may not write there' env DOAS_USER=nobody "$GCPROF" export -o roots/data profile
	same 'runs as' "$(DOAS_USER=nobody "$GCPROF" record -o - -- /usr/bin/id -u 2>&1 >/dev/null | grep -x '[0-9]*')" "$id"
	unharmed
}

@test "SUDO_UID names no user: refused before anything is opened" {
	local wrong
	for wrong in 54321x -1 '' 4294967295; do
		refused 'there is no such user' env SUDO_UID="$wrong" SUDO_GID=1 "$GCPROF" record -o roots/data -- /bin/touch mine/ran
		refused 'there is no such user' env SUDO_UID="$wrong" SUDO_GID=1 "$GCPROF" export -o roots/data profile
	done
	unharmed
}

@test "SUDO_UID, PKEXEC_UID and DOAS_USER name different users: refused before anything is opened" {
	local who
	for who in 'SUDO_UID=0 DOAS_USER=nobody' 'SUDO_UID=0 PKEXEC_UID=65534' 'SUDO_UID=65534 SUDO_GID=0 DOAS_USER=root' \
		'SUDO_UID=12345 SUDO_GID=12345 PKEXEC_UID=65534'; do
		refused 'name different users' env $who "$GCPROF" record -o roots/data -- /bin/touch mine/ran
		refused 'name different users' env $who "$GCPROF" export -o roots/data profile
		refused 'name different users' env $who "$GCPROF" pause
	done
	unharmed
}

# Stops the first process of the user that a recorder has started.
stop_helper() { # RECORDER
	local child
	for child in $(cat "/proc/$1/task"/*/children 2>/dev/null); do
		[[ "$(awk '/^Uid/ {print $3}' "/proc/$child/status" 2>/dev/null)" = "$USER_ID" ]] || continue
		[ "$(cat "/proc/$child/comm")" != java ] || continue
		setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups kill -STOP "$child" || continue
		helper=$child
		return 0
	done
	return 1
}

is_gone() { # PID
	! grep -qE '^State:[[:space:]]+[^Z[:space:]]' "/proc/$1/status" 2>/dev/null
}

@test "long: the user stops the process that opens the profile: a message within seconds, the program does not run" {
	mkfifo mine/pipe # opening it waits for a reader
	chown $USER_ID mine/pipe
	SUDO_UID=$USER_ID SUDO_GID=$USER_ID "$GCPROF" record -o mine/pipe -- /bin/touch mine/ran 2>log 3>&- &
	RUNNING=$!
	wait_until stop_helper $RUNNING
	wait_until is_gone $RUNNING
	run wait $RUNNING
	same status "$status" 1
	cat log
	grep -q 'mine/pipe: could not be opened within 10 s' log
	unharmed
}

@test "recorder gets SIGKILL while the user has stopped the process that acts for the user: that ends, and had nothing of the recorder" {
	local fd target
	mkfifo mine/pipe
	chown $USER_ID mine/pipe
	SECRET=$SECRET SUDO_UID=$USER_ID SUDO_GID=$USER_ID "$GCPROF" record -o mine/pipe -- /bin/touch mine/ran 7<roots/secret 2>log 3>&- &
	RUNNING=$!
	wait_until stop_helper $RUNNING
	for fd in "/proc/$helper/fd"/*; do
		target=$(readlink "$fd")
		echo "$fd $target"
		[[ $target = socket:* || $target = */mine/pipe ]]
	done
	absent SECRET <(tr '\0' '\n' <"/proc/$helper/environ")
	kill -KILL $RUNNING
	wait_until is_gone "$helper"
	unharmed
}

@test "long: the user stops a Java virtual machine and the process that loads the agent into it: recorded without the agent" {
	command -v javac >/dev/null || skip 'no javac: default-jdk-headless'
	classes=$(mktemp -d /tmp/gcprof-invoker-XXXXXX) # that the user may search, with all folders above
	javac -d "$classes" "$BATS_TEST_DIRNAME/programs/Lives.java"
	chmod 755 "$classes"
	local as=(setpriv --reuid="$USER_ID" --regid="$USER_ID" --clear-groups)
	"${as[@]}" java -Xmx256m -cp "$classes" Lives 100000000 &>mine/said 3>&- &
	java=$!
	wait_busy $java
	"${as[@]}" kill -STOP $java
	"$GCPROF" record -F 0 --agent java -p $java --duration 1 -o roots/java.data 2>log 3>&- &
	RUNNING=$!
	wait_until stop_helper $RUNNING
	"${as[@]}" kill -CONT $java
	wait_until is_gone $RUNNING
	wait $RUNNING
	kill -KILL $java
	cat log
	grep -q 'the agent cannot be loaded: the process that asks it does not answer' log
	is_gone "$helper"
	rm -f roots/java.data /tmp/.attach_pid$java
	unharmed
}

@test "a word among the arguments is a program of another user in PATH: the dynamic linker that it names is not executed" {
	printf '#!/bin/sh\ntouch "%s/linked"\n' "$PWD" >mine/linker
	echo 'int main(void) { return 0; }' | gcc -x c -o mine/word -Wl,--dynamic-linker="$PWD/mine/linker" -
	chmod 755 mine/linker
	chown $USER_ID mine/word mine/linker
	PATH=$PWD/mine:$PATH "$GCPROF" record -o roots/data -- /bin/echo word
	PATH=$PWD/mine:$PATH "$GCPROF" doctor word || true
	[ ! -e linked ]
	# That of a program of root's own is: its libraries are known before it runs.
	chown 0 mine/word
	PATH=$PWD/mine:$PATH "$GCPROF" record -o roots/data -- /bin/echo word
	[ -e linked ]
	rm roots/data roots/data.old
	unharmed
}

BY_SUDO=(env "SUDO_UID=$USER_ID" "SUDO_GID=$USER_ID" "$GCPROF")

is_recording() { # RECORDER NAME
	pgrep -P "$1" -x "$2" >/dev/null
}

has_said() { # PATTERN COUNT
	[ "$(grep -c "$1" record.log)" -ge "$2" ]
}

@test "a process of another user that pretends to be a recorder: not shown, and the true one is found" {
	local escape
	escape=$(printf 'x\e]0;painted\a.data')
	gcc -x c -o gcprof - <<-END
		#include <signal.h>
		#include <unistd.h>
		int main(void)
		{
			sigset_t set;
			sigemptyset(&set);
			sigaddset(&set, SIGRTMIN);
			sigaddset(&set, SIGRTMIN + 1);
			sigaddset(&set, SIGUSR2);
			sigprocmask(SIG_BLOCK, &set, 0);
			for (;;) pause();
		}
	END
	chmod -R a+rX .
	for user in 65534 $USER_ID; do
		setpriv --reuid=$user --regid=$user --clear-groups ./gcprof "$escape" record 3>&- &
		started+=($!)
	done
	impostor=$!
	wait_until grep -q '^gcprof$' "/proc/$impostor/comm"
	run sudo_gcprof pause
	same status "$status" 1
	same message "$output" 'gcprof: error: no gcprof record is running'
	run "$GCPROF" pause "$impostor"
	same message "$output" "gcprof: error: process $impostor: not a gcprof record"
	"${BY_SUDO[@]}" record --keep 10s -o mine/a.data -- /bin/sleep 60 >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until is_recording "$recorder" sleep
	sudo_gcprof pause
	wait_until has_said '^gcprof: paused' 1
	sudo_gcprof resume
	wait_until has_said '^gcprof: resumed' 1
	sudo_gcprof snapshot
	wait_until has_said 'a-0001.data has the last' 1
	# With another one a message lists both, escaped.
	"${BY_SUDO[@]}" record -o "mine/$escape" -- /bin/sleep 60 >out 2>second.log 3>&- &
	second=$!
	started+=("$second")
	wait_until is_recording "$second" sleep
	run sudo_gcprof resume
	same status "$status" 1
	cat -v <<<"$output"
	same lines "$(grep -c "^gcprof: \($recorder\|$second\): .*gcprof record " <<<"$output")" 2
	same 'lines in total' "$(wc -l <<<"$output")" 3
	same 'control characters' "$(tr -d '\n' <<<"$output" | tr -dc '[:cntrl:]')" ''
	# The other does not take a signal that would end it.
	run sudo_gcprof snapshot "$second"
	same message "$output" "gcprof: error: process $second: not a gcprof record --keep"
	kill -0 "$second"
}

@test "pause, resume and snapshot of a recorder of root's own by a sudo user: refused, root may use those of a sudo user" {
	"$GCPROF" record --keep 10s -o a.data -- /bin/sleep 600 >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until is_recording "$recorder" sleep
	program=$(pgrep -P "$recorder" -x sleep)
	for verb in pause resume snapshot; do
		run sudo_gcprof $verb "$recorder"
		same status "$status" 1
		grep -q 'another user had it started, and only root may use it' <<<"$output"
		run sudo_gcprof $verb "$program"
		same status "$status" 1
		run sudo_gcprof $verb
		same status "$status" 1
	done
	kill "$program"
	wait "$recorder" || same 'the status of the program' $? 143
	absent paused record.log
	absent a-0002.data record.log
	"${BY_SUDO[@]}" record -o mine/b.data -- /bin/sleep 60 >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until is_recording "$recorder" sleep
	"$GCPROF" pause "$recorder"
	wait_until has_said '^gcprof: paused' 1
}

@test "--cgroup and a command below a directory that the user may not search: as if they were not there" {
	local mount command code
	chmod 700 roots
	printf '#!/bin/sh\ntouch mine/ran\n' >roots/command
	chmod 755 roots/command
	for command in missing command; do
		code=0
		sudo_gcprof record -o mine/data -- roots/$command 2>log || code=$?
		cat log
		same status $code 126
		grep -q "roots/$command: not executable" log
	done
	[ ! -e mine/data ]
	mount=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)
	[ -n "$mount" ] || skip 'no cgroup hierarchy of version 2 is mounted'
	ln -s "$mount" roots/group
	refused 'there is no such cgroup' sudo_gcprof record --duration 10ms -o mine/data --cgroup roots/group
}

# A place as /tmp, with what another user has prepared under the usual name of a profile.
prepare() { # KIND
	rm -rf common
	mkdir -m 1777 common
	echo kept >other
	case $1 in
	file) echo kept >common/gcprof.data ;;
	pipe) mkfifo common/gcprof.data ;;
	esac
	[ "$1" = link ] || chown $USER_ID common/gcprof.data
	[ "$1" != link ] || ln other common/gcprof.data
	[ "$1" = pipe ] || chmod 666 common/gcprof.data
}

@test "root itself, where another user has prepared gcprof.data in a sticky directory: refused, nothing is written" {
	prepare file
	cd common
	refused 'belongs to another user; remove it' "$GCPROF" record -- /bin/touch ../mine/ran
	refused 'belongs to another user; remove it' "$GCPROF" import vmprof ../vmprof
	refused 'belongs to another user; remove it' "$GCPROF" export -f folded -o gcprof.data ../profile
	same 'the file' "$(cat gcprof.data)" kept
	rm gcprof.data
	# Its own it makes, and overwrites.
	"$GCPROF" record -- /bin/true
	"$GCPROF" record -- /bin/true
	same owner "$(stat -c %u:%a gcprof.data)" 0:600
	[ ! -e ../mine/ran ]
}

@test "root itself, where another user has put a FIFO: refused at once as it would have no reader" {
	prepare pipe
	cd common
	refused 'belongs to another user; remove it' timeout 60 "$GCPROF" record -- /bin/touch ../mine/ran
	refused 'belongs to another user; remove it' timeout 60 "$GCPROF" import vmprof ../vmprof
	[ ! -e ../mine/ran ]
}

@test "root itself, where another user has linked a file of root's: refused, the file is unchanged" {
	prepare link
	cd common
	refused 'hard link' "$GCPROF" record -- /bin/touch ../mine/ran
	refused 'hard link' "$GCPROF" import vmprof ../vmprof
	same 'the file' "$(cat ../other)" kept
	[ ! -e ../mine/ran ]
}

# As the user, with capabilities that a file or an ambient set gives.
with() { # CAPABILITIES COMMAND...
	local capabilities=$1
	shift
	setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups --inh-caps "-all,$capabilities" \
		--ambient-caps "-all,$capabilities" --bounding-set "-all,$capabilities" "$@"
}

@test "a user with capabilities of gcprof's file writes where root may: refused" {
	cp "$GCPROF" gcprof
	chmod 755 gcprof
	refused 'you may not write there' with +dac_override,+dac_read_search ./gcprof export -o roots/data profile
	chmod 600 profile
	refused 'ermission denied' with +dac_override,+dac_read_search ./gcprof report profile
	refused 'you may not write there' with +bpf,+perfmon,+sys_admin,+dac_override ./gcprof record -o roots/data -- /bin/touch mine/ran
	with +bpf,+perfmon,+sys_admin,+dac_override ./gcprof record -o mine/data -- /bin/true
	unharmed
}

@test "a user with capabilities of gcprof's file, for whom another user has made the file of recorders: a warning says that gcprof pause will not work" {
	[ ! -e /run/user/$USER_ID ] || skip "the user's recorders are known in /run"
	touch "/tmp/gcprof-$USER_ID.lock"
	chown 65534 "/tmp/gcprof-$USER_ID.lock"
	cp "$GCPROF" gcprof
	chmod 755 gcprof
	with +bpf,+perfmon,+sys_admin ./gcprof record -o mine/data -- /bin/true 2>record.log
	rm "/tmp/gcprof-$USER_ID.lock"
	cat record.log
	grep 'warning: gcprof pause, resume and snapshot will not find this recorder: ' record.log
	with +bpf,+perfmon,+sys_admin ./gcprof record -o mine/data -- /bin/true 2>record.log
	absent 'will not find this recorder' record.log
}
