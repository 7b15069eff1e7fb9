#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# browse.bats: gcprof report on a terminal (tmux).
# Parallel: no other recorder matters.

load common

SOCKET=gcprof-browse-$$

setup_file() {
	[ "$(id -u)" = 0 ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	local build hostile
	build=$(cd "$BATS_TEST_DIRNAME/../.." && realpath "${BUILD_DIR:-build}")
	GCPROF_SEED=1 "$build/gcprof" record -R 64K -o churn.data -- "$build/workloads/churn" --bytes 16G >/dev/null 2>log
	# A program whose name would turn the title, and what follows, into something else.
	hostile=$(printf 'evil\033]0;pwned\007\033[31m')
	cat >spin.c <<-'END'
		static volatile unsigned long sum;
		static __attribute__((noinline)) void spin(void)
		{
			for (long i = 0; i < 300000000; i++)
				sum += i;	/* [31m */
		}
		int main(void)
		{
			spin();
		}
	END
	sed -i "s/x1b/$(printf '\033')/" spin.c
	"${CC:-gcc}" -g -O1 -o "./$hostile" "$PWD/spin.c"
	"$build/gcprof" record -o hostile.data -- "./$hostile" >/dev/null 2>log
}

setup() {
	need_root
	cd "$BATS_FILE_TMPDIR" || return 1
	rm -f ended before after
}

teardown() {
	tmux -L $SOCKET kill-server 2>/dev/null || true
}

# Browses on a terminal of $columns (100) x $rows (30) with $variables.
browse() { # WORDS...
	command -v tmux >/dev/null || skip 'no tmux (make setup)'
	# A server that was told to end may still take the connection.
	wait_until tmux -L $SOCKET -f /dev/null new-session -d -x ${columns:-100} -y ${rows:-30} \
		"cd '$PWD'; stty -a >before; env ${variables:-} '$GCPROF' report $* 2>errors; echo \$? >ended; stty -a >after; exec cat"
}

screen() { tmux -L $SOCKET capture-pane -p; }
shows() { screen | grep -qE -- "$1"; } # PATTERN
hides() { ! shows "$1"; } # a screen may be read when half of it is drawn
key() { tmux -L $SOCKET send-keys "$@"; }
types() { tmux -L $SOCKET send-keys -l -- "$1"; }
# The line in reverse video, but for the last.
selection() { tmux -L $SOCKET capture-pane -pe | sed '$d' | grep -E "$(printf '\033')\[(0;)?7m" | sed 's/\x1b[^m]*m//g'; }
selected() { selection | grep -qE -- "$1"; } # PATTERN
# Presses Down until the selected row has this.
go_to() { # PATTERN
	for _ in {1..200}; do
		! selected "$1" || return 0
		key Down
		sleep 0.05
	done
	false
}
# It has ended so, and the terminal is as it was.
restored() { # STATUS
	wait_until test -s after
	same status "$(cat ended)" "$1"
	cmp before after
	[ "$(tmux -L $SOCKET display-message -p '#{alternate_on} #{cursor_flag}')" = '0 1' ]
}

@test "the answer comes first, keys lead to tables, and it stays on the terminal when q leaves" {
	rows=24 columns=80 browse churn.data
	wait_until shows '^\[answer\] .* functions'
	wait_until shows '^program, on the CPU|^  program, on the CPU'
	wait_until shows '^q quit  [?] keys'
	key Tab
	wait_until shows '^Functions'
	key s
	wait_until shows '^Allocation sites'
	key Left Left
	wait_until shows '^\[answer\]'
	key 2
	wait_until shows '\[functions\]'
	key '?'
	wait_until shows '^Enter: opens the row'
	key '?'
	wait_until shows '^Functions'
	key q
	restored 0
	wait_until shows '^  program, on the CPU'
	wait_until shows 'gcprof report --all'
}

@test "a row is selected; enter opens its callers and callees, escape goes back to it" {
	browse churn.data
	wait_until shows '\[answer\]'
	key f
	wait_until selected 'churn'
	key /
	types churn_loop
	wait_until shows 'rows with "churn_loop"'
	key Enter
	wait_until selected 'churn_loop'
	key Enter
	wait_until shows '^Callers of churn_loop'
	"$GCPROF" report --callers churn_loop churn.data | sed -n 's/^ *\([0-9.]*%\) .* churn_loop$/\1/p' >whole
	selected "^ *$(cat whole) .*churn_loop"
	key Right
	wait_until shows '^Callees of churn_loop'
	wait_until shows 'churn_round'
	key Down
	key Enter
	wait_until shows '^Callees of '
	key Escape
	wait_until shows '^Callees of churn_loop'
	key Left
	wait_until shows '^Callers of churn_loop'
	key Left
	wait_until selected 'churn_loop'
	key C-d
	restored 0
}

@test "enter on a finding opens its function" {
	browse churn.data
	wait_until shows '\[answer\]'
	"$GCPROF" report --json churn.data | jq -r 'first(.findings[] | select(.function)) | .function, .text' >finding
	go_to "$(sed -n '2s/ .*//p' finding)"
	key Enter
	wait_until shows "^Callers of $(sed -n 1p finding)"
	key Escape
	wait_until shows '\[answer\]'
	key q
	restored 0
}

@test "every table's rows are the report's own" {
	columns=120 rows=120 browse churn.data
	wait_until shows '\[answer\]'
	for table in functions:f threads:h types:y sites:s syscalls:c; do
		key "${table#*:}"
		"$GCPROF" report --width 120 --top 1000000 "--${table%:*}" churn.data >whole
		# The last heading of the last table begins what must be on the screen, too.
		sed -n '/^[A-Z][a-z ]*/,$p' whole | grep -A 5 -E '^(Functions|Threads|Types|Allocation sites|System calls)' >part
		last=$(tail -n 1 part)
		same_lines() { screen | grep -qxF -- "$last"; }
		wait_until same_lines
		screen >shown
		[ -z "$(grep -vxFf shown part)" ]
	done
	key q
	restored 0
}

@test "/ shows rows with a text, whatever of it is cut off, and KEY=VALUE selects events" {
	columns=40 browse churn.data
	wait_until shows '\[answer\]'
	key f
	wait_until selected .
	key /
	types 'CHURN_'
	wait_until shows '^only rows with "CHURN_"'
	wait_until shows 'churn_round'
	wait_until hides 'main$'
	types zzz
	wait_until shows 'filter: CHURN_zzz_'
	wait_until hides 'churn_round'
	key Escape
	wait_until shows 'descend'
	wait_until hides '^only'
	key /
	types function=churn_round
	key Enter
	wait_until shows '^only function=churn_round'
	key /
	types phase=what
	key Enter
	wait_until shows '^phase=what: a phase is'
	key /
	key Enter
	wait_until shows '^Functions'
	wait_until hides '^only'
	key q
	restored 0
}

@test "t restricts everything to a span of time" {
	browse churn.data
	wait_until shows '\[answer\]'
	key h
	wait_until shows '^Threads'
	key t
	wait_until shows '^span, such as'
	types 5..1
	key Enter
	wait_until shows 'a time is a range'
	key t
	types ..300ms
	key Enter
	wait_until shows '^only time=[.][.]300ms'
	"$GCPROF" report --threads --width 100 --filter time=..300ms churn.data | grep ' churn$' | head -n 1 >part
	wait_until shows "$(sed 's/^ *//' part)"
	key Enter
	wait_until shows '^only time=[.][.]300ms, thread=[0-9]+'
	wait_until shows '\[functions\]'
	key q
	restored 0
}

@test "a new size: columns come and go, the selected row stays" {
	browse churn.data
	wait_until shows '\[answer\]'
	key f
	key /
	types churn_
	key Enter
	wait_until shows '^only rows'
	go_to ' churn_loop'
	wait_until shows ' total '
	tmux -L $SOCKET resize-window -x 40 -y 8
	wait_until shows '^q quit  [?] keys  Enter open *$|^q quit  [?] keys  Enter open  Tab pages$'
	wait_until selected ' churn_loop'
	wait_until hides ' total '
	wait_until shows '^ +self  function'
	tmux -L $SOCKET resize-window -x 120 -y 40
	wait_until shows 'o order'
	wait_until selected ' churn_loop'
	key q
	wait_until test -s ended
	same status "$(cat ended)" 0
}

@test "the names of others have no power over the terminal" {
	browse hostile.data
	wait_until shows '\[answer\]'
	wait_until shows 'evil\\x1b'
	key h
	wait_until shows '^Threads'
	key Enter
	wait_until shows '^only thread='
	key Escape
	key p
	wait_until shows 'evil'
	! tmux -L $SOCKET display-message -p '#{pane_title}' | grep -q pwned || return 1
	! tmux -L $SOCKET capture-pane -pe | grep -qF "$(printf '\033[31m')" || return 1
	key q
	restored 0
}

@test "the source of a function, with the time of each line" {
	browse hostile.data
	wait_until shows '\[answer\]'
	key f
	key /
	types spin
	key Enter
	wait_until selected ' spin '
	key Enter
	wait_until shows '^Callers of spin'
	key n
	wait_until shows "^spin: $PWD/spin.c"
	# All of its time is in the loop.
	"$GCPROF" report --json --functions hostile.data | jq -r '.functions[] | select(.name == "spin") | .cpu_self_ns / 1e6' >whole
	screen | awk -v whole="$(cat whole)" '/ 4 +for/ || / 5 +sum/ {
		sum += $1 * ($2 == "s" ? 1000 : $2 == "us" ? 0.001 : 1)
	} END { print sum, whole; exit !(whole > 10 && sum > 0.98 * whole && sum < 1.01 * whole) }'
	# What follows is shown, too, and nothing in it reaches the terminal.
	wait_until shows ' 6 +}$'
	wait_until shows 'x1b\[31m'
	! tmux -L $SOCKET capture-pane -pe | grep -qF "$(printf '\033[31m')" || return 1
	key q
	restored 0
}

@test "signals that end it, also by a fault, give the terminal back" {
	local signal pid
	for signal in INT TERM HUP SEGV; do
		rm -f ended after
		browse churn.data
		wait_until shows '\[answer\]'
		pid=$(pgrep -n -f "gcprof report churn.data")
		kill -$signal "$pid"
		restored $((128 + $(kill -l $signal)))
		tmux -L $SOCKET kill-server
	done
}

@test "without colours, in ASCII, on a terminal that cannot do it, and where it is not wanted" {
	variables='NO_COLOR=1 LC_ALL=C' browse churn.data
	wait_until shows '\[answer\]'
	! tmux -L $SOCKET capture-pane -pe | grep -qE "$(printf '\033')\[(33|1|2)m" || return 1
	! screen | LC_ALL=C grep -q '[^ -~]' || return 1
	key q
	restored 0
	tmux -L $SOCKET kill-server
	for words in '--no-browse churn.data' '--functions churn.data' '--all churn.data'; do
		rm -f ended after
		browse "$words"
		restored 0
		tmux -L $SOCKET kill-server
	done
	for variables in TERM=dumb TERM=no-such-terminal; do
		rm -f ended after
		browse churn.data
		restored 0
		wait_until shows 'gcprof report --all'
		tmux -L $SOCKET kill-server
	done
	"$GCPROF" report churn.data | grep -q '^Functions'
	# A terminal where nobody types: its input is at its end before the first key.
	TERM=xterm timeout 60 script -qefc "$GCPROF report churn.data" /dev/null </dev/null >text
	grep -q 'gcprof report --all' text
}
