/* SPDX-License-Identifier: BSD-2-Clause */
/* contract.c: uses one part of the provider's library at a time. */
/*
 *	contract typed COUNT	types are known with the allocation, after it, or never
 *	contract freed COUNT	objects are freed but for one in four of the samples
 *	contract addresses COUNT	likewise, by address, all objects and by another thread
 *	contract two COUNT	another provider is preloaded: agent.c
 *	contract whole|callers|managed COUNT	the program knows its frames
 *	contract cycles COUNT	concurrent cycles with two pauses each, and names of its own
 *
 * Prints what it did: the bytes of each type.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sdt.h>
#include <time.h>
#include <unistd.h>

#include "provider/provider.h"

static struct gcprof_provider *provider;
static struct gcprof_thread *thread;
static struct gc_anchor anchor;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void typed(uint64_t count)
{
	uint64_t early = gcprof_type(provider, "early"), late = gcprof_type(provider, "late");

	for (uint64_t i = 0; i < count; i++) {
		uint64_t sample;

		gcprof_alloc(thread, 32, early, GCPROF_SAMPLE_FOREIGN);
		sample = gcprof_alloc(thread, 64, 0, GCPROF_SAMPLE_FOREIGN);
		if (sample)
			gcprof_typed(thread, sample, late);
		gcprof_alloc(thread, 16, 0, GCPROF_SAMPLE_FOREIGN);
	}
	/* No sample has this number. */
	gcprof_typed(thread, UINT64_C(1) << 40, late);
	printf("{\"early\":%" PRIu64 ",\"late\":%" PRIu64 ",\"unknown type\":%" PRIu64 "}\n",
	       32 * count, 64 * count, 16 * count);
}

static void freed(uint64_t count)
{
	uint64_t type = gcprof_type(provider, "counted");

	for (uint64_t i = 0; i < count; i++) {
		uint64_t sample = gcprof_alloc(thread, 64, type, GCPROF_SAMPLE_FOREIGN);
		struct gcprof_fate fate = {sample, 5000, GCPROF_FREED, 0};

		if (sample && sample % 4)
			gcprof_outcomes(thread, &fate, 1);
	}
	printf("{\"counted\":%" PRIu64 "}\n", 64 * count);
}

/* --- objects that another thread frees, which knows their addresses only --- */

enum { ROUND = 800 };

static void *objects[ROUND];
static uint64_t allocated;
static pthread_barrier_t turn;

static void *free_objects(void *context)
{
	struct gcprof_thread *own;

	if (gcprof_thread_attach(provider, NULL, &own))
		abort();
	for (uint64_t rounds = *(uint64_t *)context / ROUND; rounds; rounds--) {
		pthread_barrier_wait(&turn);
		for (int i = 0; i < ROUND; i++) {
			if (i % 4 == 0)
				continue;
			gcprof_freed(own, objects[i], allocated);
			free(objects[i]);
		}
		pthread_barrier_wait(&turn);
	}
	gcprof_thread_detach(own);
	return NULL;
}

static void addresses(uint64_t count)
{
	uint64_t type = gcprof_type(provider, "placed"), sample;
	pthread_t other;

	pthread_barrier_init(&turn, NULL, 2);
	if (pthread_create(&other, NULL, free_objects, &count))
		abort();
	for (uint64_t i = 0; i < count; i++) {
		void **object = &objects[i % ROUND];

		*object = malloc(64);
		allocated += 64;
		sample = gcprof_alloc(thread, 64, type, GCPROF_SAMPLE_MANUAL);
		if (sample && gcprof_placed(thread, sample, *object, allocated))
			abort();
		if ((i + 1) % ROUND)
			continue;
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
	}
	pthread_join(other, NULL);
	printf("{\"placed\":%" PRIu64 "}\n", 64 * count);
}

/* Both see the same thread, and give the same numbers. */
static void two(uint64_t count)
{
	int (*is_attached)(void) =
		(int (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "agent_is_attached");
	uint64_t type = gcprof_type(provider, "object");
	struct gc_frame frame = {.code = gcprof_code("managed", "managed.src", 7), .pc = 9};
	struct gcprof_gc_stats stats = {0};
	void *volatile block;

	/* Both are recorded from here on. */
	for (int i = 0;
	     i < 2000 && !(is_attached && is_attached() && gcprof_bytes_left(thread) != INT64_MAX);
	     i++) {
		usleep(10000);
		gcprof_poll(thread);
	}
	/* What was announced before anybody recorded, the type and how frames are found, is read
	 * from the program's memory: that takes a moment, longer while the reader has no CPU. */
	usleep(1000000);
	anchor.top = (uintptr_t)&frame;
	for (uint64_t i = 0; i < count; i++) {
		gcprof_alloc(thread, 64, type, GCPROF_SAMPLE_NURSERY);
		block = malloc(i % 1000 ? 32 : 96);
		free(block);
		if (i % 10000)
			continue;
		gcprof_gc_begin(thread, GCPROF_GC_FULL, GCPROF_REASON_NURSERY, now());
		gcprof_gc_end(thread, &stats, now());
		gcprof_stop_end(thread);
	}
	anchor.top = 0;
	printf("{\"object\":%" PRIu64 ",\"block\":%" PRIu64 "}\n", 64 * count,
	       (count + 999) / 1000 * 96);
}

/* --- a program that knows its frames --- */

static uint32_t codes[4], walks;

/* Two stacks of three functions; the innermost is at another line each time. */
static uint32_t walk(void *context, struct gcprof_frame *frames, uint32_t max)
{
	const int *which = context;

	walks++;
	if (max < 3)
		return 0;
	frames[0] = (struct gcprof_frame){codes[*which], 10 + walks % 3};
	frames[1] = (struct gcprof_frame){codes[2], 20};
	frames[2] = (struct gcprof_frame){codes[3], 30};
	return 3;
}

__attribute__((noinline)) static void allocate(uint64_t type, size_t size)
{
	gcprof_alloc(thread, size, type, GCPROF_SAMPLE_FOREIGN);
	__asm__ volatile("");
}

/* Calls allocate() from code that is in no file. */
static void (*make_stub(void))(uint64_t, size_t)
{
	static const unsigned char code[] = {
		0x55,                      /* push %rbp */
		0x48, 0x89, 0xe5,          /* mov %rsp, %rbp */
		0x48, 0xb8, 0,    0, 0, 0, /* mov $allocate, %rax */
		0,    0,    0,    0,       /* */
		0xff, 0xd0,                /* call *%rax */
		0x5d, 0xc3,                /* pop %rbp; ret */
	};
	void (*target)(uint64_t, size_t) = allocate;
	char *stub = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(stub, code, sizeof(code));
	memcpy(stub + 6, &target, sizeof(target));
	return (void (*)(uint64_t, size_t))(uintptr_t)stub;
}

static void known_stacks(uint64_t count, uint32_t how)
{
	void (*stub)(uint64_t, size_t) = how == GCPROF_STACK_MANAGED ? make_stub() : allocate;
	uint64_t types[2] = {gcprof_type(provider, "even"), gcprof_type(provider, "odd")};
	int which;

	codes[0] = gcprof_code("make_even", "code.src", 1);
	codes[1] = gcprof_code("make_odd", "code.src", 2);
	codes[2] = gcprof_code("loop", "code.src", 3);
	codes[3] = gcprof_code("start", "code.src", 4);
	gcprof_thread_walk(thread, walk, &which, how);
	for (uint64_t i = 0; i < count; i++) {
		which = i % 2;
		stub(types[which], which ? 64 : 32);
	}
	printf("{\"even\":%" PRIu64 ",\"odd\":%" PRIu64 "}\n", count / 2 * 32, count / 2 * 64);
}

/* --- a concurrent collector --- */

enum { SCAVENGE = GCPROF_GC_NAMES_FIRST, MARK_START, MARK_END, MARK, STALL, GROWN };

static const struct gcprof_gc_name gc_names[] = {
	{SCAVENGE, GCPROF_GC_MINOR, "scavenge"}, {MARK_START, GCPROF_GC_STOP, "mark start"},
	{MARK_END, GCPROF_GC_STOP, "mark end"},  {MARK, 0, "concurrent mark"},
	{STALL, 0, "allocation stall"},          {GROWN, 0, "heap has grown"},
};

static void pause_for(uint32_t kind, uint32_t reason, useconds_t us)
{
	struct gcprof_gc_stats stats = {0};

	gcprof_gc_begin(thread, kind, reason, now());
	usleep(us);
	gcprof_gc_end(thread, &stats, now());
	gcprof_stop_end(thread);
}

static void allocate_for(uint64_t type, uint64_t ns)
{
	uint64_t end = now() + ns;

	while (now() < end)
		for (int i = 0; i < 1000; i++)
			gcprof_alloc(thread, 64, type, GCPROF_SAMPLE_FOREIGN);
}

static void cycles(uint64_t count)
{
	const struct gcprof_cycle end = {.used = 6 << 20, .live = 4 << 20};
	uint64_t type = gcprof_type(provider, "node");

	for (uint64_t i = 0; i < count; i++) {
		uint32_t reason = i % 4 ? STALL : GROWN;
		const struct gcprof_cycle begin = {MARK, reason, .used = 8 << 20};

		gcprof_cycle(provider, GCPROF_CYCLE_BEGIN, &begin);
		pause_for(MARK_START, reason, 300);
		allocate_for(type, 15000000);
		pause_for(MARK_END, reason, 300);
		gcprof_cycle(provider, GCPROF_CYCLE_END, &end);
		pause_for(SCAVENGE, GCPROF_REASON_NURSERY, 100);
		allocate_for(type, 1000000);
	}
	/* The recording ends before this one. */
	gcprof_cycle(provider, GCPROF_CYCLE_BEGIN,
		     &(struct gcprof_cycle){.reason = GCPROF_REASON_EXPLICIT});
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 1000000;
	const char *what = argc > 1 ? argv[1] : "";
	struct gcprof_options options;

	/* A probe of its own beside those of the library. */
	STAP_PROBE1(contract, begins, argc);
	if (gcprof_options_default(&options))
		return 2;
	options.name = "contract";
	options.version = "2.0";
	options.gc_names = gc_names;
	options.n_gc_names = sizeof(gc_names) / sizeof(gc_names[0]);
	if (gcprof_open(&options, &provider) || gcprof_thread_attach(provider, &anchor, &thread)) {
		fprintf(stderr, "contract: %s\n", gcprof_error());
		return 1;
	}
	if (!strcmp(what, "typed"))
		typed(count);
	else if (!strcmp(what, "freed"))
		freed(count);
	else if (!strcmp(what, "addresses"))
		addresses(count / ROUND * ROUND);
	else if (!strcmp(what, "two"))
		two(count);
	else if (!strcmp(what, "whole"))
		known_stacks(count, GCPROF_STACK_WHOLE);
	else if (!strcmp(what, "callers"))
		known_stacks(count, GCPROF_STACK_CALLERS);
	else if (!strcmp(what, "managed"))
		known_stacks(count, GCPROF_STACK_MANAGED);
	else if (!strcmp(what, "cycles"))
		cycles(count);
	else
		return 2;
	gcprof_thread_detach(thread);
	gcprof_close(provider);
	return 0;
}
