# SPDX-License-Identifier: BSD-2-Clause
# cputime.bash: what tests of CPU time share: programs/clocked.c and what it says of itself.

# What the program says of itself: cpu_ns, one_ns or two_ns.
truth() { # KEY
	sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" out | tail -n 1
}

# What is recorded begins with the program, its own clock with the process, which the recorder's child
# keeps for some milliseconds. So the program runs as a child of a shell, and this is its CPU time.
CHILD='"$0" "$@"; exit $?'
CLOCKED='[.programs[] | select(.name == "clocked").cpu_ns] | add'

# Fails unless a jq expression on the report is within 1 % of the truth.
exact() { # EXPRESSION [TRUTH]
	local truth=${2:-$(truth cpu_ns)}
	echo "$1: $(ask "$1"), by the kernel's clocks $truth"
	holds "($1) as \$ns | (\$ns - $truth | fabs) < $truth / 100 + 3000000"
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
