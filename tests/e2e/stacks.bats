#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# stacks.bats: native stacks through code without frame pointers: direct callers, proper ends, modes.
# Parallel: no other recorder matters.

load common

setup_file() {
	cd "$BATS_FILE_TMPDIR" && make_callers
}

callers() { # MODE [OPTION...]
	need_root
	record --stack "$@" -- "$BATS_FILE_TMPDIR/callers"
}

# A program without frame pointers whose time goes into the C library, or into callbacks from it.
make_callers() {
	cat >callers.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char from[1 << 20], to[1 << 20];
static volatile unsigned sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) void calls_memcpy(unsigned n)
{
	memcpy(to, from, sizeof(to) - n % 64);
	sink += (unsigned char)to[n & 1023];
}

__attribute__((noinline)) int compares(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	for (unsigned i = 0; i < 200; i++)
		sink += i ^ x;
	return (x > y) - (x < y);
}

__attribute__((noinline)) void calls_qsort(unsigned n)
{
	unsigned numbers[256];

	for (unsigned i = 0; i < 256; i++)
		numbers[i] = i * 2654435761u + n;
	qsort(numbers, 256, sizeof(numbers[0]), compares);
	sink += numbers[3];
}

__attribute__((noinline)) void burns(void)
{
	for (unsigned i = 0; i < 2000000; i++)
		sink += i;
}

static void handles(int number)
{
	(void)number;
	burns();
	sink++;
}

__attribute__((noinline)) void raises(void)
{
	raise(SIGUSR1);
	sink++;
}

static void *thread(void *argument)
{
	double end = now() + 0.25;

	for (unsigned n = 0; now() < end; n++)
		calls_memcpy(n);
	return argument;
}

int main(void)
{
	static char memory[1 << 16];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
	struct sigaction action = {.sa_handler = handles, .sa_flags = SA_ONSTACK};
	double end = now() + 0.3;
	pthread_t other;

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (unsigned n = 0; now() < end; n++)
		calls_memcpy(n);
	for (end = now() + 0.3; now() < end;)
		calls_qsort(sink);
	for (end = now() + 0.2; now() < end;)
		raises();
	pthread_create(&other, NULL, thread, NULL);
	pthread_join(other, NULL);
	return 0;
}
END
	gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -g callers.c -lpthread -o callers
}

total() { # FUNCTION
	ask "[.functions[] | select(.name == \"$1\") | .cpu_total_ns] | add // 0"
}

# Fails unless so much of the time is below a function. Not so many ms: while a busy host has taken
# its processor away, a program is charged for time in which no timer ticks.
takes() { # FUNCTION PERCENT
	holds "([.functions[] | select(.name == \"$1\") | .cpu_total_ns] | add // 0) >= .cpu.on_cpu_ns * $2 / 100"
}

@test "the callers of libc, and those whom it calls, stand where they belong" {
	callers rows
	cat record.log
	are_whole 300
	# Nearly all time in main and the thread is below one of these.
	memcpy=$(total calls_memcpy) qsort=$(total calls_qsort) compares=$(total compares)
	raises=$(total raises) burns=$(total burns) thread=$(total thread) main=$(total main)
	echo "$memcpy $qsort $compares $raises $burns $thread $main"
	# Of 1.05 s: 0.3, 0.55 and 0.2.
	takes compares 14
	[ $((qsort * 100)) -ge $((compares * 95)) ]
	takes calls_memcpy 33
	takes burns 9
	# The stack of a handler goes on below the signal, on the stack that was interrupted.
	[ $((raises * 100)) -ge $((burns * 95)) ]
	takes thread 14
	[ $((main * 100)) -ge $(((qsort + raises + memcpy - thread) * 95)) ]
}

@test "by frame pointers alone the same callers are missing" {
	callers fp
	qsort=$(total calls_qsort) compares=$(total compares)
	echo "$qsort $compares"
	[ $((qsort * 2)) -lt "$compares" ]
}

@test "long: nearly every stack of the indexer is whole" {
	need_root
	record -- "$WORKLOADS/indexer" -o index /usr/include
	are_whole 300
}

@test "nearly every stack of the workloads is whole" {
	need_root
	record -R 64K -- "$WORKLOADS/known"
	are_whole 300
	record -R 64K -- "$WORKLOADS/lisp" "$ROOT/tests/workloads/lisp/tree.lisp"
	are_whole 300
	holds '[.functions[] | select(.runtime == "managed" and .alloc_total_bytes > 0)] | length > 1'
}

@test "long: nearly every stack of a stock program is whole" {
	need_root
	seq 1 300000 | sort -R >numbers
	record -- /usr/bin/sort numbers
	are_whole 50
}

@test "stacks that are copied have the same callers, from the first moment on" {
	callers copy
	are_whole 300
	qsort=$(total calls_qsort) compares=$(total compares)
	raises=$(total raises) burns=$(total burns) main=$(total main)
	echo "$qsort $compares $raises $burns $main"
	takes compares 14
	[ $((qsort * 100)) -ge $((compares * 95)) ]
	takes main 48
	# The handler runs on a stack of its own, and only that is copied.
	takes burns 9
	[ "$raises" -le "$burns" ]
}

@test "a copy that is too short cuts the stack, and the report says so" {
	need_root
	record --stack copy --stack-bytes 1K -R 64K -- "$WORKLOADS/lisp" "$ROOT/tests/workloads/lisp/tree.lisp"
	holds '.stacks.unfinished.user_cut > 30'
	holds '[.losses[] | select(.name == "COPY_SHORT") | .count] | add > 30'
	[ "$("$GCPROF" report | grep -c 'stacks were cut at the end of their dump')" -ge 1 ]
}

# Where walks are hard: modules that come and go, jumps out of functions, threads, children, depth.
make_edges() {
	cat >plugin.c <<'END'
static volatile unsigned sink;
void plugin_burns(void (*back)(void))
{
	for (unsigned i = 0; i < 3000000; i++)
		sink += i;
	back();
}
END
	cat >edges.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned sink;
static jmp_buf place;

__attribute__((noinline)) void burns(void)
{
	for (unsigned i = 0; i < 3000000; i++)
		sink += i;
}

__attribute__((noinline)) unsigned dives(unsigned depth)
{
	if (depth)
		return dives(depth - 1) + sink;
	burns();
	return sink;
}

__attribute__((noinline)) void jumps(void)
{
	burns();
	longjmp(place, 1);
}

static void *thread(void *argument)
{
	burns();
	return argument;
}

int main(void)
{
	for (int round = 0; round < 25; round++) {
		void *plugin = dlopen("./plugin.so", RTLD_NOW);
		void (*plugin_burns)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(plugin, "plugin_burns");
		pthread_t other;

		plugin_burns(burns);
		dlclose(plugin);
		if (!setjmp(place))
			jumps();
		burns();
		sink += dives(1000);
		pthread_create(&other, NULL, thread, NULL);
		pthread_join(other, NULL);
		if (!vfork())
			_exit(0);
		wait(NULL);
	}
	return 0;
}
END
	gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -shared -fPIC plugin.c -o plugin.so
	gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls edges.c -lpthread -o edges
}

@test "long: walks through modules that come and go, jumps, threads and depths end properly" {
	need_root
	make_edges
	record -F 2999 -- ./edges
	# All but the dives, which are deeper than what is recorded, end at the begin of a thread.
	holds '.stacks.samples > 300 and .stacks.unfinished.user_cut > 0'
	holds '([.stacks.unfinished | del(.user_cut, .user_guessed)[]] | add // 0) <= .stacks.samples * 0.02'
	dives=$(total dives) plugin=$(total plugin_burns) jumps=$(total jumps) main=$(total main)
	echo "$dives $plugin $jumps $main"
	[ "$dives" -gt 0 ] && [ "$plugin" -gt 0 ] && [ "$jumps" -gt 0 ]
	[ "$main" -ge $((plugin + jumps)) ]
}

# A program with many libraries, whose work is done in the one opened last.
make_many() { # LIBRARIES
	local i
	cat >many_plugin.c <<'END'
static volatile unsigned sink;
__attribute__((noinline)) void many_inner(void) { for (unsigned i = 0; i < 1000000; i++) sink += i; }
__attribute__((noinline)) void many_middle(void) { many_inner(); sink++; }
void many_outer(void) { many_middle(); sink++; }
END
	cat >many.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned sink;

__attribute__((noinline)) void runs_plugin(void (*work)(void)) { work(); sink++; }

int main(int argc, char **argv)
{
	void (*work)(void) = 0;
	char path[64];

	for (int i = 0; i < atoi(argv[argc - 1]); i++) {
		snprintf(path, sizeof(path), "./libraries/%d.so", i);
		work = (void (*)(void))dlsym(dlopen(path, RTLD_NOW | RTLD_LOCAL), "many_outer");
	}
	sleep(2); /* until the recorder knows how to walk all of them, on a busy machine too */
	for (int i = 0; i < 1200; i++)
		runs_plugin(work);
	return 0;
}
END
	gcc -O2 -fomit-frame-pointer -shared -fPIC many_plugin.c -o many_plugin.so
	gcc -O2 -fomit-frame-pointer many.c -o many
	mkdir libraries
	for ((i = 0; i < $1; i++)); do cp many_plugin.so libraries/$i.so; done
}

@test "long: programs with hundreds of libraries have whole stacks" {
	need_root
	make_many 450
	record -F 2999 -- ./many 450
	holds '.stacks.samples > 300 and .stacks.complete > 0.97'
	holds '(.functions[] | select(.name == "many_inner") | .cpu_self_ns) as $inner |
		[.functions[] | select(.name == "runs_plugin" or .name == "many_middle") | .cpu_total_ns] |
		length == 2 and min > $inner * 0.97'
}

# As the C library of Alpine has none, its code that a signal handler returns to included.
@test "code without frame information is followed by its instructions, through a signal too" {
	need_root
	cat >bare.c <<'END'
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile unsigned sink;
void restorer(void);
__asm__("nop; restorer: mov $15, %rax; syscall");

__attribute__((noinline)) void inner(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
static void handler(int number)
{
	volatile char room[200];

	room[number] = 1;
	inner(3000000);
	sink += room[number];
}
__attribute__((noinline)) void interrupted(void) { syscall(SYS_tkill, getpid(), SIGUSR1); sink++; }

int main(void)
{
	struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); unsigned long mask; } action = {
		handler, 0x04000000, restorer, 0};

	/* Until its code was read, which takes longer where others keep the CPUs busy. */
	syscall(SYS_nanosleep, (long[]){0, 500000000}, 0);
	syscall(SYS_rt_sigaction, SIGUSR1, &action, 0, 8);
	for (int i = 0; i < 400; i++)
		interrupted();
	return 0;
}
END
	gcc -O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-exceptions bare.c -o bare
	record -- ./bare
	holds '.stacks.samples > 200 and .stacks.complete > 0.97'
	holds '[.functions[] | select(.name | IN("inner", "handler", "interrupted", "main")) | .cpu_total_ns] | length == 4 and min > 0.97 * max'
}

@test "a 32-bit program is said to be one, and its frame pointers are followed" {
	need_root
	cat >narrow.c <<'END'
static volatile unsigned sink;
__attribute__((noinline)) void inner(void) { for (unsigned i = 0; i < 100000000; i++) sink += i; }
__attribute__((noinline)) void outer(void) { inner(); sink++; }
void _start(void)
{
	outer();
	__asm__ volatile("int $0x80" : : "a"(1), "b"(0));
}
END
	gcc -m32 -O0 -fno-pic -no-pie -nostdlib -static -ffreestanding -fcf-protection=none narrow.c -o narrow
	./narrow || skip 'this kernel runs no 32-bit programs'
	record -- ./narrow
	holds '[.functions[] | select(.name | IN("inner", "outer", "_start")) | .cpu_total_ns] | length == 3 and min > 0.97 * max'
	holds '.stacks.samples > 100 and .stacks.unfinished["32_bit"] > 0.9 * .stacks.samples and (.stacks.unfinished.user_guessed // 0) == 0'
	"$GCPROF" report | grep -q 'a 32-bit program'
}

@test "long: what a walk takes for a return address, and is no code, is no function" {
	need_root
	make_many 1100
	record -F 2999 -- ./many 1100
	holds '.stacks.unfinished.user_guessed > 0'
	holds '[.functions[] | select(.name | startswith("[unknown]"))] == []'
}

# Code that no compiler made: the page of the kernel, and stubs to other files, bound late or early.
make_stubs() {
	echo 'void empty(void) {}' >empty.c
	cat >stubs.c <<'END'
#include <time.h>

void empty(void);
static volatile long sink;

__attribute__((noinline)) void asks_time(void)
{
	struct timespec t;

	for (unsigned i = 0; i < 5000000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		sink += t.tv_nsec;
	}
}

__attribute__((noinline)) void calls_stub(void)
{
	for (unsigned i = 0; i < 100000000; i++)
		empty();
	sink++;
}

int main(void)
{
	asks_time();
	calls_stub();
	sink++;
	return 0;
}
END
	gcc -O2 -fomit-frame-pointer -shared -fPIC empty.c -o libempty.so
}

# Links the program so, and records it.
through_stubs() { # FLAG...
	need_root
	make_stubs
	gcc -O2 -fomit-frame-pointer "$@" stubs.c ./libempty.so -o stubs
	record -- ./stubs
	are_whole 50
	time=$(total asks_time) calls=$(total calls_stub) main=$(total main)
	stub=$(ask '[.functions[] | select(.name == "empty@plt").cpu_total_ns] | add // 0')
	page=$(ask '[.functions[] | select(.module == "[vdso]").cpu_self_ns] | add // 0')
	echo "$time $calls $main $stub $page"
	[ "$stub" -gt 0 ] && [ "$stub" -le "$calls" ]
	[ "$page" -gt 0 ] && [ "$page" -le "$time" ]
	[ $((main * 100)) -ge $(((time + calls) * 95)) ]
	[ $(((time + calls) * 100)) -ge $((main * 95)) ]
}

@test "through the page of the kernel and through stubs stacks are whole" {
	through_stubs -Wl,-z,lazy
}

@test "long: through stubs that are bound at once, and those of a protected program" {
	through_stubs -Wl,-z,now
	through_stubs -fcf-protection -Wl,-z,ibtplt,-z,lazy
}

@test "without native stacks there are managed ones only" {
	need_root
	record --stack off -R 64K -- "$WORKLOADS/lisp" "$ROOT/tests/workloads/lisp/tree.lisp"
	holds '[.functions[] | select(.runtime == "native" and .module != null)] | length == 0'
	holds '[.functions[] | select(.runtime == "managed" and .alloc_total_bytes > 0)] | length > 1'
}

@test "a mode that there is not is refused" {
	run "$GCPROF" record --stack lbr -- true
	same status "$status" 2
	[[ $output == *"rows, fp, copy and off"* ]]
}

few_tables() { # MAP
	# Not a list: the recorder is gone.
	bpftool -j map dump id "$1" | jq -e 'type == "array" and length <= 3' >/dev/null
}

@test "long: many short-lived processes leave no tables behind" {
	need_root
	record -- /bin/sh -c 'for i in $(seq 300); do /bin/true; done; echo $$ >made; exec sleep 600' 3>&- &
	wait_until test -s made
	# Of this recorder, which is the parent of the program: others may record meanwhile.
	recorder=$(awk '/^PPid/ {print $2}' "/proc/$(cat made)/status")
	own=$(cat "/proc/$recorder/fdinfo"/* 2>/dev/null | sed -n 's/^map_id:[[:space:]]*//p' | jq -s .)
	tables=$(bpftool -j map show | jq --argjson own "$own" '[.[] | select(.name == "unwind_tables") |
		.id | select(IN($own[]))][0]')
	[ "$tables" -gt 0 ]
	# They are dropped a moment after their process.
	wait_until few_tables "$tables"
	kill "$(cat made)"
	wait $! || true
	cat record.log
	are_whole 0
}
