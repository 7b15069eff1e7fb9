# SPDX-License-Identifier: BSD-2-Clause
# cputime.bash: what tests of CPU time share: programs/clocked.c and what it says of itself.

# What the program says of itself: cpu_ns, one_ns or two_ns.
truth() { # KEY
	sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" out | tail -n 1
}

# What is recorded begins with the program, its own clock with the process, which the recorder's child
# keeps for some milliseconds. So the program runs as a child of a shell, bash, which says what it took in all.
CHILD='"$0" "$@"; status=$?; times; exit $status'
CLOCKED='[.programs[] | select(.name == "clocked").cpu_ns] | add'

# What the child of the shell took before it was the program, and behind its last line: some milliseconds, and more
# where memory comes slowly. 0 if the program was no child of a shell.
beside() { # [OUTPUT]
	awk '/^[0-9]+m[0-9.]+s [0-9]+m/ {split($0, t, /[ms ]+/); all = (t[1] * 60 + t[2] + t[3] * 60 + t[4]) * 1e9}
		match($0, /cpu_ns=[0-9]+/) {own = substr($0, RSTART + 7, RLENGTH - 7)}
		END {printf "%.0f", (all > own) ? all - own : 0}' "${1:-out}"
}

# Fails unless a jq expression on the report is within 1 % of the truth.
exact() { # EXPRESSION [TRUTH]
	local truth=${2:-$(truth cpu_ns)} off=3000000
	[ $# = 2 ] || off=$((off + $(beside)))
	echo "$1: $(ask "$1"), by the kernel's clocks $truth, give or take $off"
	holds "($1) as \$ns | (\$ns - $truth | fabs) < $truth / 100 + $off"
}

# Starts a program that waits for its turn, as $program; what it had used until then is none of ours.
start_waiting() { # SECONDS
	need_root
	"$PROGRAMS/clocked" wait "$1" >out 3>&- &
	program=$!
	started+=("$program")
	wait_until grep -q ready out
}

# Lets it work while $recorder records, and ends both.
let_work() {
	kill -USR1 "$program"
	wait_until grep -q worked out
	end_recording
	cat record.log
}
