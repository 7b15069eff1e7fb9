#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# names.bats: names of frames: inlined functions, lines, files that are gone, moved or elsewhere.
# Parallel: no other recorder matters.

load common

# A program that spins in a function which is inlined, for SECONDS.
make_spinner() { # FILE OPTIONS
	cat >spinner.c <<'END'
#include <stdlib.h>
#include <time.h>

static volatile unsigned sink;

static inline __attribute__((always_inline)) void spin_inner(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i;
}

static __attribute__((noipa)) void spin_outer(unsigned n)
{
	spin_inner(n);
	sink++;
}

int main(int argc, char **argv)
{
	/* Besides what the program has taken to begin. */
	double end = (double)clock() / CLOCKS_PER_SEC + (argc > 1 ? atof(argv[1]) : 0.5);

	while ((double)clock() / CLOCKS_PER_SEC < end)
		spin_outer(1000000);
	return 0;
}
END
	# shellcheck disable=SC2086
	gcc -O2 $2 spinner.c -o "$1"
}

# CPU time below a function, ms.
below() { # FUNCTION
	ask "[.functions[] | select(.name == \"$1\") | .cpu_total_ns] | (add // 0) / 1e6 | floor"
}

# Fails unless most of a thread's time is below a function. Not so many ms: while a busy host has
# taken its processor away, a program is charged for time in which no timer ticks.
mostly() { # FUNCTION THREAD
	holds '([.threads[] | select(.name == "'"$2"'") | .cpu_ns] | max) as $all |
		([.functions[] | select(.name == "'"$1"'") | .cpu_total_ns] | add // 0) as $below |
		$all > 5e7 and $below > 0.6 * $all'
}

@test "inlined functions are frames with their lines" {
	need_root
	make_spinner spinner -g
	record -- ./spinner
	mostly spin_inner spinner
	[ "$(below spin_outer)" -ge "$(below spin_inner)" ]
	holds '[.functions[] | select(.name == "spin_inner") | .file, .line] ==
		["'"$PWD"'/spinner.c", 6]'
	"$GCPROF" report --width 200 | grep 'spin_inner *spinner.c:6'
	"$GCPROF" export -f folded -o - | grep -F 'main;spin_outer;spin_inner_[i]'
	line=$("$GCPROF" dump | jq -s 'map(select(.record == "symbol")) | [.[].line] | max')
	echo "line $line"
	[ "$line" -gt 0 ]
}

# What the arguments name is read before it runs; a variable's value is not.
# Shell code: waits until the process that was started last runs another program than the shell.
until_runs='until [ "$(readlink /proc/$!/exe)" != "$(readlink /proc/$$/exe)" ]; do :; done'

@test "a program that was deleted while it ran has names" {
	need_root
	make_spinner gone -g
	record -- sh -c "file=gone; ./\$file 0.7 & $until_runs; rm gone; wait"
	mostly spin_outer gone
	mostly spin_inner gone
}

@test "a program that was replaced while it ran keeps its own names" {
	need_root
	make_spinner old -g
	sed 's/spin_/turn_/g' spinner.c >turner.c
	gcc -O2 -g turner.c -o new
	record -- sh -c "file=old; ./\$file 0.7 & $until_runs; mv new old; wait"
	mostly spin_outer old
	[ "$(below turn_outer)" = 0 ]
}

@test "long: a program in a file without a name (memfd) has names" {
	need_root
	command -v perl >/dev/null || skip 'no perl to make a memfd with'
	make_spinner spinner -g
	cat >memfd.pl <<'END'
my $fd = syscall(319, my $name = "nameless", 0);
open(my $to, ">&=", $fd) or die;
open(my $from, "<", "spinner") or die;
binmode($to); local $/; print {$to} <$from>; $to->flush;
exec("/proc/self/fd/$fd", "0.7") or die;
END
	sed -i '1i use IO::Handle;' memfd.pl
	record -- perl memfd.pl
	[ "$(below spin_outer)" -gt 50 ]
}

@test "a program in another mount namespace has names" {
	need_root
	unshare -m true 2>/dev/null || skip 'mount namespaces cannot be made here'
	make_spinner spinner -g
	mkdir hidden
	record -- unshare -m sh -c \
		'mount -t tmpfs none hidden && cp spinner hidden/elsewhere && hidden/elsewhere 0.7'
	[ ! -e hidden/elsewhere ]
	mostly spin_outer elsewhere
	mostly spin_inner elsewhere
}

@test "a program in a container has names from the debug file that is in there" {
	need_root
	unshare -m true 2>/dev/null || skip 'mount namespaces cannot be made here'
	[ -d /usr/lib/debug ] || skip 'there is no folder for debug files'
	make_spinner spinner -g
	local id
	id=$(readelf -n spinner | sed -n 's/.*Build ID: *//p')
	objcopy --only-keep-debug spinner spinner.debug
	strip -s spinner
	cat >enter.sh <<-END
		mount -t tmpfs none /usr/lib/debug && mkdir -p /usr/lib/debug/.build-id/${id:0:2} &&
			cp spinner.debug /usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug && exec ./spinner 0.7
	END
	record -- unshare -m sh enter.sh
	[ ! -e "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ]
	mostly spin_outer spinner
	mostly spin_inner spinner
}

# A few samples may be in programs of other recorders, which were removed before they were named.
# What another process maps in the common memory is not reported for the one that runs it.
@test "a process that shares its parent's memory has names in what that one loads" {
	echo 'static volatile unsigned sink; void work(void) { for (unsigned i = 0; i < 300000000; i++) sink += i; }' >plugin.c
	cat >shares.c <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <sched.h>
		#include <signal.h>
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void (*volatile plugin)(void);
		static int child(void *unused) { while (!plugin) usleep(1000); usleep(300000); plugin(); _exit(0); }
		int main(void)
		{
		        char *stack = malloc(65536);
		        int pid = clone(child, stack + 65536, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, NULL);
		        usleep(100000);
		        plugin = (void (*)(void))dlsym(dlopen("./plugin.so", RTLD_NOW), "work");
		        return waitpid(pid, NULL, 0) != pid;
		}
	END
	gcc -O2 -shared -fPIC plugin.c -o plugin.so
	gcc -O2 shares.c -o shares
	record -- ./shares
	holds '(.functions[] | select(.name == "work").cpu_self_ns) > .cpu.on_cpu_ns / 2'
}

@test "time in the kernel shows the kernel's functions" {
	need_root
	record -- dd if=/dev/zero of=/dev/null bs=1M count=8000
	holds '[.functions[] | select(.runtime == "kernel")] |
		(map(select(.name | startswith("[kernel]")).cpu_self_ns) | add // 0) < 0.02 * (map(.cpu_self_ns) | add)'
	"$GCPROF" export -f folded -o - | grep -E '(read|write).*;[a-z_0-9]+_\[k\];[a-z_0-9]+_\[k\] [0-9]+$'
}

@test "what has no name is shown as a place in its file" {
	need_root
	make_spinner bare -s
	record -- ./bare
	holds '[.functions[] | select(.runtime == "native") | .name | select(test("^0x"))] == []'
	# By where the function begins, so that all its time is one row.
	holds '([.threads[] | select(.name == "bare") | .cpu_ns] | max) as $all |
		[.functions[] | select(.name | test("^bare\\+0x")) | .cpu_self_ns] | max > 0.6 * $all'
}

# Spins in a JavaScript function for 0.4 s.
make_script() {
	cat >spin.js <<'END'
function spinsInScript(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
let sum = 0;
const end = process.cpuUsage().user + 400000;
while (process.cpuUsage().user < end) sum += spinsInScript(100000);
console.log(sum);
END
}

# Runs code out of a file that is none that symbols could be in, for 0.5 s of CPU time.
make_raw() { # FILE
	cat >raw.c <<'END'
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* mov $1000000, %ecx; 1: dec %ecx; jnz 1b; ret */
static const unsigned char code[4096] = {0xb9, 0x40, 0x42, 0x0f, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};

int main(void)
{
	int fd = open("code.bin", O_RDWR | O_CREAT | O_TRUNC, 0755);
	void (*run)(void);

	if (fd < 0 || write(fd, code, sizeof(code)) != sizeof(code))
		return 1;
	run = (void (*)(void))mmap(NULL, sizeof(code), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	while (clock() < CLOCKS_PER_SEC / 2)
		run();
	return 0;
}
END
	gcc -O2 raw.c -o "$1"
}

@test "a file that has no names that can be read is told, and why" {
	need_root
	make_raw raw
	record -v -- ./raw
	grep 'code.bin: no function names: it is no ELF file' record.log
	holds '[.losses[] | select(.name == "NAMES_FILE") | .severity, .count] == ["cut", 1]'
	holds '[.functions[] | select(.name | test("^code.bin.0x")) | .cpu_self_ns] | add > 50000000'
	"$GCPROF" report | tr -s ' \n' ' ' >report
	grep '1 file has no function names' report
	grep 'symbols for them, or could not be read. record -v says' report
	if grep -E 'Build (it|that code)' report; then false; fi
	# Most programs have names.
	record -v -- /bin/true
	holds '[.losses[] | select(.name == "NAMES_FILE")] == []'
}

@test "long: a program whose functions have names too long to take: the recorder says so" {
	need_root
	long=$(printf '%070000d' 0 | tr 0 a)
	make_spinner spinner -fno-inline
	strip -K spin_outer spinner -o only
	objcopy --redefine-syms=<(echo "spin_outer $long") only long
	record -- ./long
	grep '/long: its functions have no names: those in its symbol table are longer than 64 KiB' record.log
	holds '[.functions[] | select(.name | test("^long.0x")) | .cpu_self_ns] | add > 50000000'
	record -- ./only
	absent 'no names' record.log
	mostly spin_outer only
}

# By frame pointers: where rows are used, the functions of JavaScript have names without it.
@test "functions that node compiles are named by its perf map" {
	need_root
	command -v node >/dev/null || skip 'no node'
	make_script
	record --stack fp -- node --perf-basic-prof spin.js
	holds '[.functions[] | select(.runtime == "managed" and .module == "[jit]"
		and (.name | test("spinsInScript.*spin.js:1")))
		| .cpu_self_ns] | add > 50000000'
	rm -f "/tmp/perf-$("$GCPROF" dump | jq -r 'select(.record == "process").pid' | head -n 1).map"
}

# Its events are put in order when it is gone: what is to be known of it was found out before.
@test "long: functions of a process that soon ends are named by its perf map" {
	need_root
	command -v node >/dev/null || skip 'no node'
	cat >short.js <<'END'
function hotLeaf(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
const used = () => { const { user, system } = process.cpuUsage(); return user + system; };
const end = used() + 30000;
while (used() < end) hotLeaf(10000);
END
	for _ in 1 2; do
		record --stack fp -- node --perf-basic-prof short.js
		rm -f "/tmp/perf-$("$GCPROF" dump | jq -r 'select(.record == "process").pid' | head -n 1).map"
		holds '[.functions[] | select(.runtime == "managed" and (.name | test("hotLeaf")))
			| .cpu_total_ns] | add > 0'
	done
}

@test "long: functions that node compiles are named by its jitdump file" {
	need_root
	command -v node >/dev/null || skip 'no node'
	make_script
	record --stack fp -- node --perf-prof spin.js
	holds '[.functions[] | select(.runtime == "managed" and (.name | test("spinsInScript")))
		| .cpu_self_ns] | add > 50000000'
}

@test "long: code in shared memory of any kind is named by a perf map" {
	need_root
	local kind
	gcc -O1 -D_GNU_SOURCE "$ROOT/tests/e2e/programs/shared_code.c" -o shared_code
	for kind in memfd file zero segment; do
		record -- ./shared_code "$kind"
		rm "$(cat out)"
		holds '.functions[] | select(.name == "made_here") | .cpu_self_ns > 3e8'
	done
}

@test "a perf map of another user is not believed" {
	need_root
	command -v node >/dev/null || skip 'no node'
	make_script
	cat >run.sh <<'END'
ln -s "$PWD/forged" /tmp/perf-$$.map
printf '0 ffffffffffff forged\n' >forged
exec node spin.js
END
	record --stack fp -- sh run.sh
	rm -f "/tmp/perf-$("$GCPROF" dump | jq -r 'select(.record == "process").pid' | head -n 1).map"
	holds '[.functions[] | select(.name == "forged")] == []'
	holds '[.functions[] | select(.name == "[jit] of node") | .cpu_self_ns] | add > 50000000'
}

@test "long: functions that java compiles are named by its perf map" {
	need_root
	command -v javac >/dev/null || skip 'no javac'
	command -v jcmd >/dev/null || skip 'no jcmd'
	cat >Spin.java <<'END'
public class Spin {
	static long sink;
	static long turn(long n) { long s = 0; for (long i = 0; i < n; i++) s += i * n ^ s; return s; }
	public static void main(String[] words) throws Exception {
		java.lang.management.ThreadMXBean clock = java.lang.management.ManagementFactory.getThreadMXBean();
		long end = clock.getCurrentThreadCpuTime() + 400_000_000L, pid = ProcessHandle.current().pid();
		while (clock.getCurrentThreadCpuTime() < end) sink += turn(100000);
		new ProcessBuilder("jcmd", "" + pid, "Compiler.perfmap").start().waitFor();
	}
}
END
	javac Spin.java
	record -- java Spin
	rm -f "/tmp/perf-$("$GCPROF" dump | jq -r 'select(.record == "process").pid' | head -n 1).map"
	holds '[.functions[] | select(.runtime == "managed" and (.name | test("Spin.turn")))
		| .cpu_self_ns] | add > 50000000'
}

@test "long: memory and descriptors of the recorder stay the same over thousands of programs" {
	need_root
	cat >loop.sh <<'END'
i=0
while [ $i -lt 8000 ]; do
	/bin/true
	i=$((i + 1))
	[ $((i % 125)) = 0 ] && awk '/^RssAnon/ {print $2}' /proc/$PPID/status && ls /proc/$PPID/fd | wc -l
done >figures
END
	# Without stacks and calls, of which a busy machine has others each time.
	record -F 0 --syscalls off -- sh loop.sh
	mapfile -t figures <figures
	echo "KiB and descriptors after every 125: ${figures[*]}"
	[ ${#figures[@]} = 128 ]
	# What defines a process is kept for ten seconds after its end.
	figures=("${figures[@]: -24}")
	# A file is opened when the first sample falls into it; a leak would be 1250.
	[ "${figures[23]}" -le $((figures[3] + 50)) ]
	# What stays of a process is less than a KiB. Tables grow at times, up to some size; a leak of
	# what a process had would all the time.
	least=$(for i in $(seq 2 2 22); do echo $((figures[i] - figures[i - 2])); done | sort -n | head -n 1)
	[ "$least" -le 125 ]
}

@test "reports and exports can show one kind of frames" {
	need_root
	record -R 64K -- "$WORKLOADS/lisp" "$ROOT/tests/workloads/lisp/tree.lisp"
	"$GCPROF" report --json --frames managed >managed.json
	"$GCPROF" report --json --frames native >native.json
	"$GCPROF" report --json >all.json
	jq -e '.frames == "managed" and ([.functions[] | select(.runtime != "managed") | .name]
		- ["(no managed frames)", "(no samples)"] == [])' managed.json
	jq -e '[.functions[] | select(.runtime == "managed")] == []' native.json
	# What is not shown is charged elsewhere: sums stay.
	for what in cpu_self_ns alloc_self_bytes; do
		for kind in managed native all; do
			jq "[.functions[].$what] | add | round" $kind.json
		done | awk 'NR == 1 {first = $1} ($1 - first) ^ 2 > 9 {exit 1}'
	done
	"$GCPROF" export -f folded --frames managed -o - >folded
	absent 'gc_' folded
	absent 'main;' folded
	grep -v '(no managed frames)' folded | grep -q ';'
	for format in pprof firefox; do
		"$GCPROF" export -f "$format" --frames managed -o "managed-export.$format"
	done
	run "$GCPROF" report --frames some
	same status "$status" 2
	[[ $output == *"all, managed and native"* ]]
}
