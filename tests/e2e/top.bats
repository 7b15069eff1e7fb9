#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# top.bats: gcprof top, as a script and on a terminal (tmux).
# Parallel: no other recorder matters.

load common

bats_require_minimum_version 1.5.0

SOCKET=gcprof-test-$$

teardown() {
	tmux -L $SOCKET kill-server 2>/dev/null || true
	[ -z "${churn:-}" ] || kill "$churn" 2>/dev/null || true
}

# A program to watch, in $churn.
start_churn() {
	"$WORKLOADS/churn" --seconds 300 >/dev/null 3>&- &
	churn=$!
}

# Runs top on a terminal of 120 (or $columns) x 30.
on_terminal() { # WORDS...
	command -v tmux >/dev/null || skip 'no tmux (make setup-runtimes)'
	# A server that was told to end may still take the connection.
	wait_until tmux -L $SOCKET new-session -d -x ${columns:-120} -y 30 "cd '$PWD' && '$GCPROF' top -d 0.3s $* 2>top.log; echo status \$? >ended"
}

screen() { tmux -L $SOCKET capture-pane -p; }
shows() { screen | grep -qE -- "$1"; } # PATTERN
hides() { ! shows "$1"; } # a screen may be read when half of it is drawn
# The only line in reverse video but the last.
selection() { tmux -L $SOCKET capture-pane -pe | sed '$d' | grep -E "$(printf '\033')\[(0;)?7m" | sed 's/\x1b[^m]*m//g'; }
selected() { selection | grep -qE -- "$1"; } # PATTERN
later() { ! screen | head -n 1 | cmp -s - "$1"; } # PAGE: its clock has moved
fills() { screen | sed 's/\xe2\x80\xa6/~/g' | awk -v columns="$1" '/~/ && length == columns {full = 1} END {exit !full}'; } # COLUMNS
key() { tmux -L $SOCKET send-keys "$1"; }

# Whether the screen, which may be half drawn, does not change for a moment.
is_still() {
	screen >first
	sleep 0.2
	screen | cmp -s - first
}

# Nothing of it is left: folders, recorders.
all_gone() {
	[ -z "$(find /tmp -maxdepth 1 -name 'gcprof-top-*' -newer "$BATS_TEST_TMPDIR/began")" ] &&
		[ -z "$(pgrep -f "record -o /tmp/gcprof-top-.* -p $churn" || true)" ]
}

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return 1
	touch -d '2 seconds ago' began
}

@test "once: a page of text, or the report's JSON, of about the time asked for" {
	start_churn
	"$GCPROF" top --once -p "$churn" >page
	cat page
	grep -qE '^[0-9:]{8} .*churn.* functions of ' page
	grep -qE '^CPU [0-9.]+, collector .* allocated .*/s' page
	grep -qE '(^|  )pauses [0-9,]+, .*, longest [0-9.]+ [mu]?s$' page
	grep -q 'churn_round$\|churn_round ' page
	"$GCPROF" top --once --view sites -p "$churn" | grep -q 'churn_round < churn_loop'
	"$GCPROF" top -n 3 -d 0.5s --json -p "$churn" >pages.json
	same pages "$(jq -s length pages.json)" 3
	# Each has its own second: pages are not sums. A busy machine makes them longer, and may keep a program waiting for
	# one of them.
	jq -es 'all(.duration_ns >= 450000000 and .cpu.on_cpu_ns <= 1.1 * .duration_ns) and
		([.[] | select(.cpu.on_cpu_ns > 0 and .gc.minor.count > 0)] | length >= 2) and
		(.[0].start_ns < .[1].start_ns)' pages.json
	wait_until all_gone
}

@test "what cannot be watched: a sentence, and its status" {
	run "$GCPROF" top
	same status "$status" 2
	grep -q 'nothing to watch' <<<"$output"
	run "$GCPROF" top --view nothing -p 1
	same status "$status" 2
	grep -q 'the tables are functions' <<<"$output"
	run "$GCPROF" top --sort nothing -p 1
	same status "$status" 2
	run "$GCPROF" top --once -p 999999999
	[ "$status" != 0 ]
	echo "$output"
	grep -q 999999999 <<<"$output"
	run -127 "$GCPROF" top --once -- ./nowhere
	grep -q nowhere <<<"$output"
}

@test "on a terminal: keys choose the table and the order, pause, write a profile, and end it" {
	start_churn
	on_terminal -p "$churn"
	wait_until shows 'functions of '
	wait_until shows '^q quit .* space pause'
	key s
	wait_until shows 'sites of '
	wait_until shows '^Allocation sites'
	key y
	wait_until shows 'types of '
	key c
	wait_until shows 'calls of '
	key h
	wait_until shows 'threads of '
	key o
	wait_until shows 'by cpu'
	key Space
	wait_until shows 'space RESUME'
	wait_until is_still
	sleep 1
	screen >second
	cmp first second
	key W
	wait_until shows 'wrote gcprof-top-1.data'
	key q
	wait_until test -s ended
	same 'how it ended' "$(cat ended)" 'status 0'
	wait_until all_gone
	"$GCPROF" report gcprof-top-1.data | grep -q churn_round
}

@test "a narrow terminal: nothing is cut off, at the end of no line" {
	start_churn
	columns=78 on_terminal -p "$churn"
	wait_until shows 'longest [0-9.]+ [mu]?s'
	wait_until shows '^q quit  .*  W write  Tab pages  / filter'
	screen | grep -q '^CPU .*collector'
	wait_until shows '^pauses|^calls|^allocated'
	# The keys do not all fit into fewer columns.
	tmux -L $SOCKET resize-window -x 40 -y 30
	wait_until shows '^q quit  [?] keys  .*space pause$'
	# Shortened names end in the last column.
	wait_until fills 40
}

@test "a filter: for names in the table, or as in reports" {
	"$GCPROF" top --once --filter no_such_function -- "$WORKLOADS/churn" --seconds 2 >page
	grep -Eq '(^|  )only function=\*no_such_function\*$' page
	absent churn_round page
	run "$GCPROF" top --filter colour=red -p 1
	same status "$status" 2
	grep -q 'colour=red: .*keys are function' <<<"$output"
	start_churn
	on_terminal -p "$churn"
	wait_until shows 'functions of '
	key Space
	wait_until shows 'RESUME'
	wait_until shows 'churn_round'
	key /
	wait_until shows '^filter: _'
	tmux -L $SOCKET send-keys -l xqz
	wait_until shows '^filter: xqz_'
	key BSpace
	wait_until shows '^filter: xq_'
	key Enter
	wait_until shows 'only rows with "xq"$'
	wait_until hides 'churn_round'
	key /
	tmux -L $SOCKET send-keys -l 'function=*xq*'
	key Enter
	wait_until shows 'only function=\*xq\*$'
	wait_until hides 'churn_round'
	key /
	tmux -L $SOCKET send-keys -l phase=what
	key Enter
	wait_until shows 'phase=what: '
	key /
	key Enter
	wait_until shows 'churn_round'
	key q
	wait_until test -s ended
}

@test "arrows select a row, whose function opens and stays in sight while pages come" {
	start_churn
	on_terminal -p "$churn" -F 999
	wait_until shows 'functions of '
	wait_until shows 'churn_round'
	key /
	tmux -L $SOCKET send-keys -l churn_round
	key Enter
	wait_until shows 'rows with "churn_round"'
	key Enter
	wait_until shows '^Callers of churn_round'
	key Down
	wait_until selected 'churn_loop'
	sleep 1
	screen | head -n 1 >first
	wait_until later first
	wait_until selected 'churn_loop'
	key Escape
	wait_until shows '^Functions'
	key q
	wait_until test -s ended
	same 'how it ended' "$(cat ended)" 'status 0'
	wait_until all_gone
}

@test "the last page of a program that has ended stays until a key is pressed" {
	churn=
	on_terminal -- "$WORKLOADS/churn" --seconds 1
	wait_until shows 'the recording has ended'
	wait_until shows 'churn'
	key f
	wait_until shows 'functions of '
	key q
	wait_until test -s ended
	same 'how it ended' "$(cat ended)" 'status 0'
}

@test "a terminal that goes away ends it, and what it started" {
	start_churn
	on_terminal -p "$churn"
	wait_until shows 'functions of '
	tmux -L $SOCKET kill-server
	wait_until all_gone
}

@test "called by sudo it reads profiles with the rights of the user" {
	local user=12345 pid
	start_churn
	mkdir mine
	chown $user:$user mine
	chmod 755 .
	(cd mine && SUDO_UID=$user SUDO_GID=$user exec "$GCPROF" top --json -d 0.3s -p "$churn" >../pages 2>../log 3>&-) &
	pid=$!
	wait_until test -s pages
	grep -E '^(Uid|CapEff):' /proc/$pid/status
	same user "$(awk '/^Uid/ {print $2, $3, $4, $5}' /proc/$pid/status)" "$user $user $user $user"
	same capabilities "$(awk '/^CapEff/ {print $2}' /proc/$pid/status)" 0000000000000000
	find /tmp/gcprof-top-* -user $user -name 'part-*' | grep -q .
	kill -TERM $pid
	wait $pid
	wait_until all_gone
}
