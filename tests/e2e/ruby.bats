#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ruby.bats: functions of unchanged Ruby programs, beside what they know of themselves.
# Parallel: no other recorder matters.

load common

PROGRAMS=$BATS_TEST_DIRNAME/programs

need_ruby() {
	need_root
	[[ $(ruby -e 'print RUBY_VERSION, RbConfig::CONFIG["ENABLE_SHARED"]' 2>&1) = 3.1.*yes ]] ||
		skip 'there is no Ruby 3.1 in a shared library'
}

# Is a number within 8 points of another? Chance makes it 3 points, and then there is what a program is charged
# for while the host has taken its CPU.
near() { # WHAT LEFT RIGHT
	awk -v a="$2" -v b="$3" 'BEGIN { exit !(a - b < 0.08 && b - a < 0.08) }' && return 0
	echo "$1: $2, not $3"
	return 1
}

# Functions and lines of hot.rb have the parts of the CPU time that it says, all of it in run().
hot() { # WAY
	local said first second
	need_ruby
	record -F 4999 -- ruby "$PROGRAMS/hot.rb" 1 "$1"
	read -r said first second <out
	near functions "$(ask '[.functions[] | select(.file // "" | endswith("/hot.rb")) |
		{(.name): .cpu_total_ns}] | add | .one / (.one + .two)')" "$said"
	near lines "$("$GCPROF" dump | python3 "$PROGRAMS/lines.py" share "$first" "$second")" "$said"
	holds '([.functions[] | select(.file // "" | endswith("/hot.rb")) | {(.name): .cpu_total_ns}] | add) as $of |
		$of.share > 0.98 * ($of.one + $of.two)'
	are_whole 1000
	# A sample may fall between two writes of the interpreter.
	holds '(.stacks.unfinished.managed_torn // 0) <= 1 + 0.002 * .stacks.samples'
}

# The part of the CPU time in leaf() whose stack is as in a pattern: 97 % or more. The rest are moments
# in which the interpreter enters or leaves a function.
calls() { # PATTERN
	"$GCPROF" export -f folded -o - 2>/dev/null | awk -v pattern="$1" '
		/;share;.*;leaf/ { all += $NF; if ($0 ~ pattern) right += $NF }
		END { print right / all; exit !(right > 0.97 * all) }'
}

@test "functions and lines have their shares of the CPU time" {
	hot plain
	calls ';rb_vm_exec;<main>;run;until_then;.*;rb_ary_each;rb_yield;rb_vm_exec;block in until_then;block in run;share;(one|two);.*;leaf'
	# Its loop is not the interpreter's, but the function's that runs.
	holds '([.functions[] | select(.name == "leaf")][0] | .cpu_self_ns > 0.5 * .cpu_total_ns)'
}

@test "long: functions have their shares in threads" {
	hot threads
	same threads "$(found_in thread share)" 4
}

@test "long: functions have their shares in fibers, which have stacks of their own" {
	hot fibers
	calls '^[^;]*;[^;]*;rb_vm_invoke_proc;rb_vm_exec;block in run;.*;rb_vm_exec;block [(]2 levels[)] in run;share;'
}

@test "long: functions of a program that runs already" {
	local pid
	need_ruby
	ruby "$PROGRAMS/hot.rb" 2 plain >said &
	started=($!)
	pid=${started[0]}
	wait_busy "$pid"
	record -F 1999 -p "$pid"
	holds '.cpu.on_cpu_ns as $all | ([.functions[] | select(.name | IN("one", "two", "run")) |
		{(.name): .cpu_total_ns}] | add) as $of | $of.run > 0.8 * $all and
		($of.one / ($of.one + $of.two) - 0.75 | fabs) < 0.1'
}

@test "stacks deeper than the limit are marked, and have their innermost functions" {
	need_ruby
	record -- ruby "$PROGRAMS/hot.rb" 0.5 deep
	holds '.stacks.unfinished.managed_cut > 0.3 * .stacks.samples'
	holds '(.cpu.on_cpu_ns - .cpu.recording_ns) as $all | [.functions[] | select(.name | IN("one", "two")) | .cpu_total_ns] | add > 0.5 * $all'
}

@test "long functions, names of any characters, and what eval() makes" {
	need_ruby
	{
		echo 'def größer(n) = n.times { eval("n + 1", nil, "made.rb", 7) }'
		echo 'def long(stop)'
		printf '  @x = 1; @y = 2\n%.0s' {1..100}
		echo '  größer(100) while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < stop'
		echo end
		echo 'long(Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 0.3)'
	} >long.rb
	record -F 1999 -- ruby long.rb
	holds '[.functions[].name] | contains(["größer", "block in größer", "long"])'
	"$GCPROF" query --format csv "SELECT DISTINCT frames.line, functions.module FROM frames
		JOIN functions ON functions.id = function WHERE name = 'long' ORDER BY 1" | tr -d '\r' >lines
	grep -x "103,$PWD/long.rb" lines
	# The bodies of the lines before take no time.
	[ "$(wc -l <lines)" -le 4 ]
}

@test "waits and system calls have functions" {
	need_ruby
	cat >waits.rb <<'END'
def reads(from) = from.read(1)
def sleeps = sleep(0.05)
from, to = IO.pipe
20.times do
  sleeps
  to.write "x"
  reads from
end
END
	# Of 1 s; who has no CPU just before it sleeps may find that its time is over.
	record --off-cpu --syscalls slow=10us -- ruby waits.rb
	holds '[.functions[] | select(.name == "sleeps") | .off_cpu_ns > 0.4e9 and .syscall_ns > 0.4e9] == [true]'
}

@test "other layouts are not believed" {
	local library at
	need_ruby
	library=$(realpath "$(ldd "$(command -v ruby)" | awk '/libruby/ { print $3 }')")
	cp "$library" here.so
	"$GCPROF" doctor --json ./here.so | jq -e '.[0].records.stacks and (.[0].missing | not)'
	# Another distance in: mov n(%rdi),%rax; mov n(%rax),%rax; ret
	at=$((16#$(nm -D here.so | awk '$3 == "rb_iseq_label" { print $1 }')))
	printf '\x48' | dd of=here.so bs=1 seek=$((at + 7)) conv=notrunc status=none
	"$GCPROF" doctor --json ./here.so |
		jq -e '.[0].records.stacks == false and (.[0].missing | test("known of 3.1 in a shared library"))'
}
