// SPDX-License-Identifier: BSD-2-Clause
/* hostile.c: a program whose probes tell lies, one kind of them for each mode. */
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../../gc/provider/frame.h"
#include "../../../gc/provider/probe_args.h"

#define _SDT_HAS_SEMAPHORES     1
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

#define SEMAPHORE(name) \
	volatile uint16_t gcprof_##name##_semaphore __attribute__((section(".probes"), used))

SEMAPHORE(sample);
SEMAPHORE(samples);
SEMAPHORE(pieces);
SEMAPHORE(fate);
SEMAPHORE(gc_begin);
SEMAPHORE(gc_end);
SEMAPHORE(gc_summary);
SEMAPHORE(phase);
SEMAPHORE(type);
SEMAPHORE(code);
SEMAPHORE(period);
SEMAPHORE(thread);

static const uint64_t wild[] = {
	0,
	1,
	4095,
	UINT64_C(0x7fffffffffff),
	UINT64_C(0x7ffffffff000),
	UINT64_C(0x800000000000),
	UINT64_C(0xdead00000000beef),
	UINT64_C(0xffff888000000000),
	UINT64_C(0xffffffff81000000),
	UINT64_MAX - 7,
	UINT64_MAX,
};
enum { N_WILD = sizeof(wild) / sizeof(wild[0]) };

static __attribute__((noinline)) void fire_sample(uint64_t id, uint64_t type, uint64_t size,
						  uint64_t anchor, uint64_t stack)
{
	uint64_t period = 512;
	uint32_t kind = GCPROF_SAMPLE_NURSERY;

	STAP_PROBE7(gcprof, sample, id, type, size, period, kind, anchor, stack);
}

static __attribute__((noinline)) void fire_samples(uint64_t entries, uint64_t count)
{
	STAP_PROBE2(gcprof, samples, entries, count);
}

static __attribute__((noinline)) void fire_stacks(uint64_t entries, uint64_t count, uint64_t stacks,
						  uint64_t words)
{
	STAP_PROBE4(gcprof, samples, entries, count, stacks, words);
}

static __attribute__((noinline)) void fire_pieces(uint64_t stack, uint64_t pieces, uint64_t count)
{
	STAP_PROBE3(gcprof, pieces, stack, pieces, count);
}

static __attribute__((noinline)) void fire_fate(uint64_t entries, uint64_t count)
{
	STAP_PROBE2(gcprof, fate, entries, count);
}

static __attribute__((noinline)) void fire_collection(uint64_t cycle, uint32_t kind, uint64_t stats)
{
	uint64_t heap = 1;

	STAP_PROBE4(gcprof, gc_begin, heap, cycle, kind, kind);
	STAP_PROBE2(gcprof, phase, heap, kind);
	STAP_PROBE4(gcprof, gc_end, heap, cycle, kind, stats);
}

static __attribute__((noinline)) void fire_begin(uint64_t heap, uint64_t cycle)
{
	uint32_t kind = GCPROF_GC_MINOR;

	STAP_PROBE4(gcprof, gc_begin, heap, cycle, kind, kind);
}

static __attribute__((noinline)) void fire_late(uint64_t cycle, uint64_t time)
{
	uint64_t heap = 1, stop = cycle, stats = 0;
	uint32_t kind = GCPROF_GC_MINOR;

	STAP_PROBE6(gcprof, gc_begin, heap, cycle, kind, kind, stop, time);
	STAP_PROBE4(gcprof, gc_end, heap, cycle, kind, stats);
}

static __attribute__((noinline)) void fire_summary(uint64_t sums, uint64_t count, uint64_t begin,
						   uint64_t cycles)
{
	uint64_t heap = 1;

	STAP_PROBE5(gcprof, gc_summary, heap, sums, count, begin, cycles);
}

static __attribute__((noinline)) void fire_type(uint64_t type, uint64_t name)
{
	STAP_PROBE2(gcprof, type, type, name);
}

static __attribute__((noinline)) void fire_code(uint64_t code, uint64_t name, uint64_t file)
{
	uint32_t line = UINT32_MAX;

	STAP_PROBE4(gcprof, code, code, name, file, line);
}

static __attribute__((noinline)) void fire_rest(uint64_t anchor)
{
	uint64_t heap = UINT64_MAX, period = UINT64_MAX;
	uint32_t code = UINT32_MAX;

	STAP_PROBE3(gcprof, period, period, heap, code);
	STAP_PROBE3(gcprof, thread, heap, anchor, code);
}

/* --- the lies ---------------------------------------------------------------- */

static void lie_pointers(void)
{
	for (int i = 0; i < N_WILD; i++) {
		fire_sample(wild[i], wild[i], wild[i], wild[i], wild[i]);
		fire_samples(wild[i], 16);
		fire_stacks(wild[i], 16, wild[i], 16);
		fire_stacks((uint64_t)(uintptr_t)wild, 1, wild[i], wild[i]);
		fire_pieces(wild[i], wild[i], 16);
		fire_fate(wild[i], 16);
		fire_collection(wild[i], (uint32_t)wild[i], wild[i]);
		fire_summary(wild[i], 16, 1, wild[i]);
		fire_summary((uint64_t)(uintptr_t)wild, wild[i], wild[i], wild[i]);
		fire_late(i, wild[i]);
		syscall(SYS_getppid);
		fire_type(wild[i], wild[i]);
		fire_code(wild[i], wild[i], wild[i]);
		fire_rest(wild[i]);
	}
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void lie_counts(void)
{
	static struct gcprof_sample samples[GCPROF_SAMPLES_MAX];
	static struct gcprof_fate fates[GCPROF_FATE_MAX];
	const uint64_t counts[] = {0, 255, 256, 257, 1 << 20, UINT64_C(1) << 63, UINT64_MAX};

	memset(samples, 0xff, sizeof(samples));
	memset(fates, 0xff, sizeof(fates));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		fire_samples((uint64_t)(uintptr_t)samples, counts[i]);
		fire_stacks((uint64_t)(uintptr_t)samples, 1, (uint64_t)(uintptr_t)samples,
			    counts[i]);
		fire_pieces(1, (uint64_t)(uintptr_t)samples, counts[i]);
		fire_fate((uint64_t)(uintptr_t)fates, counts[i]);
		fire_summary((uint64_t)(uintptr_t)samples, counts[i], now(), counts[i]);
		fire_summary((uint64_t)(uintptr_t)samples, 1, now(), counts[i]);
	}
}

/* A batch of one sample, whose stack's key is 1. */
static void fire_made(const uint64_t *words, uint64_t n)
{
	struct gcprof_sample sample = {1, now(), 1, 64, 512, 1, GCPROF_SAMPLE_NURSERY, 0};

	fire_stacks((uint64_t)(uintptr_t)&sample, 1, (uint64_t)(uintptr_t)words, n);
}

/*
 * Sums of kinds that there are not, of more than their histogram has, that took longer than
 * there was time; and collections that began in the future, or before there was anything.
 */
static void lie_collections(void)
{
	static struct gcprof_gc_sums sums[GCPROF_GC_SUMS_MAX];
	uint64_t seed = 88172645463325252;

	for (uint64_t i = 0; i < 4000; i++) {
		const uint64_t time = now();

		for (uint64_t k = 0; k < GCPROF_GC_SUMS_MAX; k++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			sums[k] = (struct gcprof_gc_sums){
				.kind = seed % 37 ? GCPROF_GC_MINOR : seed % 9,
				.reason = (uint32_t)seed,
				.count = 1 + (seed % 41 ? 0 : seed >> seed % 64),
				.total_ns = seed % 43 ? 100 : seed >> seed % 64,
				.max_ns = seed % 47 ? 100 : seed >> seed % 64,
				.promoted_bytes = seed >> 30,
			};
			sums[k].histogram[seed % GCPROF_GC_BUCKETS] = 1;
		}
		fire_summary((uint64_t)(uintptr_t)sums, i % (GCPROF_GC_SUMS_MAX + 2),
			     time - 1000 + (seed % 7 ? 0 : seed >> seed % 64), seed % 3);
		fire_late(i, time - (seed >> seed % 64));
		syscall(SYS_getppid);
		usleep(100);
	}
}

/* Pieces without end, cut at places of the program's choice, and stacks as deep as they can be. */
static void lie_pieces(void)
{
	struct gcprof_piece pieces[GCPROF_PIECES_MAX];
	uint64_t words[GCPROF_STACK_WORDS_MAX], seed = 88172645463325252;
	const uint64_t stack = (uint64_t)(uintptr_t)__builtin_frame_address(0);

	for (uint64_t i = 0; i < 1000; i++) {
		usleep(500);
		for (uint64_t k = 0; k < GCPROF_PIECES_MAX; k++)
			pieces[k] = (struct gcprof_piece){i * GCPROF_PIECES_MAX + k + 1,
							  stack + (256 - k) * (i % 64)};
		fire_pieces(2, (uint64_t)(uintptr_t)pieces, GCPROF_PIECES_MAX);
		fire_sample(i + 2, 1, 64, 0, 2);
		words[0] = 1;
		words[1] = UINT64_C(510) << 32;
		for (uint64_t k = 0; k < 510; k++)
			words[2 + k] = i % 2 ? pieces[k].piece : pieces[0].piece;
		fire_made(words, 512);
		for (uint64_t k = 0; k < GCPROF_STACK_WORDS_MAX; k++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			words[k] = seed >> seed % 64;
		}
		fire_made(words, i % (GCPROF_STACK_WORDS_MAX + 1));
	}
}

/* Names without an end, up to an unmapped page, and names that would paint on a terminal. */
static void lie_names(void)
{
	static const char paint[] = "\033[31m\033]0;owned\a\r\n\"'\\\xff\xfe name";
	const size_t size = 1 << 20;
	char *endless =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (endless == MAP_FAILED)
		exit(1);
	memset(endless, 'n', size);
	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t name = (uint64_t)(uintptr_t)endless + (i % 512);

		fire_type(i, name);
		fire_code(i, name, name);
		fire_type(i, (uint64_t)(uintptr_t)endless + size - 1 - i % 64);
	}
	fire_type(7, (uint64_t)(uintptr_t)paint);
	fire_code(7, (uint64_t)(uintptr_t)paint, (uint64_t)(uintptr_t)paint);
	fire_sample(1, 7, 64, 0, 0);
}

/* Frames that go round in a circle, onto themselves, and up to the end of the world. */
static void lie_frames(void)
{
	struct gc_frame frames[3] = {{0}};
	struct gc_anchor anchor = {(uint64_t)(uintptr_t)&frames[0]};
	const uint64_t prev[] = {(uint64_t)(uintptr_t)&frames[0], (uint64_t)(uintptr_t)&frames[1],
				 (uint64_t)(uintptr_t)&frames[2], UINT64_MAX & ~UINT64_C(7)};

	for (int i = 0; i < 3; i++)
		frames[i] = (struct gc_frame){.code = (uint32_t)i + 1, .nslots = UINT32_MAX};
	for (uint64_t i = 0; i < 4096; i++) {
		frames[0].prev = prev[i % 4];
		frames[1].prev = prev[i / 4 % 4];
		frames[2].prev = prev[i / 16 % 4];
		fire_sample(i, 1, 64, (uint64_t)(uintptr_t)&anchor, 0);
	}
}

/* A quarter of a million types, each with a name, and as many names of stacks. */
static void lie_types(void)
{
	char name[64];

	for (uint64_t i = 0; i < 250000; i++) {
		snprintf(name, sizeof(name), "type number %llu of very many",
			 (unsigned long long)i);
		fire_type(i, (uint64_t)(uintptr_t)name);
		fire_sample(i, i, 64, 0, i + 1);
	}
}

/* What the kernel counts in is the program's own memory. */
static void lie_semaphores(void)
{
	for (uint64_t i = 0; i < 200000; i++) {
		gcprof_sample_semaphore = (uint16_t)(i * 7919);
		gcprof_type_semaphore = i & 1 ? 0 : UINT16_MAX;
		gcprof_gc_end_semaphore = 0;
		if (i % 100 == 0)
			fire_sample(i, 1, 64, 0, 0);
	}
	gcprof_sample_semaphore = 0;
}

/* Everything but the code that runs here and the stack goes; then the stack's rest, too. */
static void lie_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long ranges[256][2];
	unsigned long long here = (unsigned long long)(uintptr_t)lie_mappings;
	unsigned long long stack = (unsigned long long)(uintptr_t)&maps;
	char line[512];
	int n = 0;

	while (maps && n < 256 && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%llx-%llx", &ranges[n][0], &ranges[n][1]) == 2)
			n++;
	}
	for (int i = 0; i < n; i++) {
		unsigned long long from = ranges[i][0], to = ranges[i][1];
		long result;

		if ((here >= from && here < to) || (stack >= from && stack < to) ||
		    from >= UINT64_C(0x800000000000))
			continue;
		__asm__ volatile("syscall"
				 : "=a"(result)
				 : "a"(SYS_munmap), "D"(from), "S"(to - from)
				 : "rcx", "r11", "memory");
	}
	for (uint64_t i = 0; i < 1000; i++)
		fire_sample(i, 1, 64, 1, 0);
	__asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(0) : "rcx", "r11", "memory");
	__builtin_unreachable();
}

/* For a second, as fast as can be, batches of `count` samples with `words` of stacks. */
static void flood(uint64_t count, uint64_t words)
{
	struct gcprof_sample samples[GCPROF_SAMPLES_MAX];
	uint64_t stacks[GCPROF_STACK_WORDS_MAX];
	const uint64_t end = now() + UINT64_C(1000000000);

	memset(samples, 0xff, sizeof(samples));
	memset(stacks, 0xff, sizeof(stacks));
	while (now() < end)
		fire_stacks((uint64_t)(uintptr_t)samples, count, (uint64_t)(uintptr_t)stacks,
			    words);
}

static void *flood_small(void *unused)
{
	flood(1, 0);
	return unused;
}

/* The greatest batches and the smallest, which fill what the former leave. */
static void lie_flood(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, flood_small, NULL))
		exit(1);
	flood(GCPROF_SAMPLES_MAX, GCPROF_STACK_WORDS_MAX);
	pthread_join(other, NULL);
}

static __attribute__((noinline)) void fire_end(uint64_t heap, uint64_t cycle)
{
	uint32_t kind = GCPROF_GC_MINOR;
	uint64_t stats = 0;

	STAP_PROBE4(gcprof, gc_end, heap, cycle, kind, stats);
}

/* Calls of this length, of which the report knows the sum: in collections, and outside of them. */
static void in_collections(int calls)
{
	while (calls--)
		poll(NULL, 0, 1);
}

static void outside(int calls)
{
	while (calls--)
		usleep(1000);
}

static void *begin_only(void *unused)
{
	fire_begin(1, 1);
	in_collections(20);
	return unused;
}

static void *end_only(void *unused)
{
	fire_end(1, 2);
	return unused;
}

static void *collect_other(void *unused)
{
	fire_begin(2, 3);
	in_collections(50);
	fire_end(2, 3);
	return unused;
}

static void run_thread(void *(*run)(void *), pthread_t *thread)
{
	if (pthread_create(thread, NULL, run, NULL))
		exit(1);
}

/* Begins and ends of which one is missing, or comes from another thread. */
static void lie_endless(void)
{
	pthread_t thread;

	/* As after attaching in mid-collection. */
	fire_end(1, 0);
	outside(100);
	/* The thread that began it has ended. */
	run_thread(begin_only, &thread);
	pthread_join(thread, NULL);
	outside(100);
	/* Another one ends it. */
	fire_begin(1, 2);
	in_collections(50);
	run_thread(end_only, &thread);
	pthread_join(thread, NULL);
	outside(100);
	/* Two heaps at the same time: each thread is in the other's collection, too. */
	fire_begin(1, 3);
	run_thread(collect_other, &thread);
	in_collections(50);
	fire_end(1, 3);
	pthread_join(thread, NULL);
	outside(100);
	/* One inside of it, and before another of its heap. */
	fire_begin(1, 4);
	fire_begin(2, 4);
	fire_end(2, 4);
	fire_begin(1, 5);
	fire_end(1, 5);
	outside(100);
	/* Its thread allocates. */
	fire_begin(1, 6);
	in_collections(10);
	fire_sample(1, 1, 64, 0, 0);
	outside(1000);
}

static __attribute__((noinline)) void go_down(uint64_t depth, uint64_t prev)
{
	struct gc_frame frame = {.prev = prev, .code = (uint32_t)depth + 1};
	struct gc_anchor anchor = {(uint64_t)(uintptr_t)&frame};

	if (depth)
		go_down(depth - 1, anchor.top);
	else
		fire_sample(1, 1, 64, (uint64_t)(uintptr_t)&anchor, 0);
	__asm__ volatile("" : : "r"(&frame) : "memory");
}

/* Stacks as deep as they are walked, and deeper, both kinds of them. */
static void lie_deep(void)
{
	for (uint64_t i = 0; i < 100; i++) {
		usleep(1000);
		go_down(500 + i, 0);
	}
}

/*
 * No lies: samples, with a pause before each, of a type of their own, as soon as they are
 * recorded: on a busy machine that may take longer than a second.
 */
static void tell_the_truth(uint64_t samples, useconds_t pause)
{
	for (int i = 0; i < 3000 && !gcprof_sample_semaphore; i++)
		usleep(10 * 1000);
	for (uint64_t i = 1; i <= samples; i++) {
		usleep(pause);
		fire_sample(i, 77, 64, 0, 0);
	}
}

static void lie_not(void)
{
	tell_the_truth(1000, 1000);
}

static void lie_not_long(void)
{
	tell_the_truth(100, 3000);
}

/* --- name tables: programs that ran before their probes were attached --------------------- */

struct gcprof_control gcprof_control = {
	.magic = GCPROF_CONTROL_MAGIC,
	.version = GCPROF_CONTROL_VERSION,
};

static void show_table(const void *first)
{
	gcprof_control.names = (uint64_t)(uintptr_t)first;
	dprintf(1, "table is there\n");
	lie_not();
}

/* Chunks in a circle. */
static void lie_circle(void)
{
	static struct gcprof_names chunks[2];

	chunks[0].next = (uint64_t)(uintptr_t)&chunks[1];
	chunks[1].next = (uint64_t)(uintptr_t)&chunks[0];
	show_table(chunks);
}

/* A name, and then chunks and texts that are not there. */
static void lie_nowhere(void)
{
	static struct {
		struct gcprof_names head;
		struct gcprof_name entries[2];
	} chunk = {{0, 2, 0}, {{77, 0, 0, 0, GCPROF_NAME_TYPE}, {78, 1, 1, 0, GCPROF_NAME_CODE}}};

	chunk.entries[0].name = (uint64_t)(uintptr_t) "was there";
	chunk.head.next = UINT64_C(0xdead00000000beef);
	show_table(&chunk);
}

/* As many entries as can be counted, of a long text each. */
static void lie_billions(void)
{
	size_t size = (size_t)1 << 28;
	struct gcprof_names *chunk = mmap(NULL, size, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	static char text[4096];

	if (chunk == MAP_FAILED)
		exit(1);
	memset(text, 'n', sizeof(text) - 1);
	chunk->count = UINT32_MAX;
	for (uint64_t i = 0; i < 250000; i++)
		((struct gcprof_name *)(chunk + 1))[i] =
			(struct gcprof_name){i, (uint64_t)(uintptr_t)text,
					     (uint64_t)(uintptr_t)text, 0, GCPROF_NAME_CODE};
	show_table(chunk);
}

static const struct {
	const char *name;
	void (*tell)(void);
} lies[] = {
	{"pointers", lie_pointers}, {"counts", lie_counts},     {"names", lie_names},
	{"frames", lie_frames},     {"types", lie_types},       {"semaphores", lie_semaphores},
	{"mappings", lie_mappings}, {"pieces", lie_pieces},     {"collections", lie_collections},
	{"flood", lie_flood},       {"deep", lie_deep},         {"endless", lie_endless},
	{"not", lie_not},           {"briefly", lie_not_long},  {"circle", lie_circle},
	{"nowhere", lie_nowhere},   {"billions", lie_billions},
};

/* hostile LIE [ROUNDS] */
int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 1;

	for (size_t i = 0; argc > 1 && i < sizeof(lies) / sizeof(lies[0]); i++) {
		if (strcmp(argv[1], lies[i].name) != 0)
			continue;
		while (rounds--)
			lies[i].tell();
		return 0;
	}
	return 2;
}
