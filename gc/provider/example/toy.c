/* SPDX-License-Identifier: BSD-2-Clause */
/* toy.c: an allocator of its own that reports to gcprof: a heap of two halves, without references.
 */
/*
 * toy COUNT: so many turns. An object lives while a slot of `roots` names it.
 * Prints what it did, in the form of the workload `known`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "provider/provider.h"

enum { HALF = 1 << 20, ROOTS = 64, SAMPLED = 4096 };

struct object {
	struct object *moved; /* where a collection has copied it */
	uint64_t size;
};

struct sampled {
	struct object *object;
	struct gcprof_fate fate; /* `age`: what had been allocated when it was new */
};

static struct gcprof_provider *provider;
static struct gcprof_thread *thread;
static _Alignas(16) char memory[2][HALF];
static size_t half, used;
static struct object *roots[ROOTS];
static struct sampled sampled[SAMPLED];
static size_t n_sampled;
static uint64_t allocated, collections;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* What became of the sample? Young objects die or are promoted; of old ones only death is news. */
static int decide(struct sampled *sample, struct gcprof_fate *out)
{
	int old = sample->fate.outcome == GCPROF_PROMOTED;

	sample->object = sample->object->moved;
	if (sample->object && old)
		sample->fate.collections++;
	if (sample->object && old)
		return 0;
	sample->fate.outcome = sample->object ? GCPROF_PROMOTED
			       : old          ? GCPROF_DIED_OLD
					      : GCPROF_DIED_YOUNG;
	*out = sample->fate;
	out->age = allocated - sample->fate.age;
	sample->fate.collections++;
	return 1;
}

static void report_outcomes(void)
{
	struct gcprof_fate fates[GCPROF_FATE_MAX];
	size_t kept = 0;
	uint32_t n = 0;

	for (size_t i = 0; i < n_sampled; i++) {
		n += (uint32_t)decide(&sampled[i], &fates[n]);
		if (sampled[i].object)
			sampled[kept++] = sampled[i];
		if (n == GCPROF_FATE_MAX || (n && i + 1 == n_sampled)) {
			gcprof_outcomes(thread, fates, n);
			n = 0;
		}
	}
	n_sampled = kept;
}

/* Copies what the roots name to the other half. */
static void collect(void)
{
	struct gcprof_gc_stats stats = {.nursery_used = used, .allocated_bytes = allocated};
	char *to = memory[half = !half];

	gcprof_gc_begin(thread, GCPROF_GC_MINOR, GCPROF_REASON_NURSERY, now());
	used = 0;
	for (size_t i = 0; i < ROOTS; i++) {
		if (!roots[i])
			continue;
		roots[i]->moved = memcpy(to + used, roots[i], roots[i]->size);
		roots[i] = roots[i]->moved;
		roots[i]->moved = NULL;
		used += roots[i]->size;
	}
	report_outcomes();
	collections++;
	stats.live_bytes = stats.arena_bytes = used;
	stats.threads = 1;
	gcprof_gc_end(thread, &stats, now());
	gcprof_stop_end(thread);
}

static struct object *new_object(size_t size, uint64_t type)
{
	struct object *object;
	uint64_t sample;

	if (used + size > HALF)
		collect();
	object = (struct object *)(memory[half] + used);
	*object = (struct object){.size = size};
	used += size;
	allocated += size;
	sample = gcprof_alloc(thread, size, type, GCPROF_SAMPLE_NURSERY);
	if (sample && n_sampled < SAMPLED && gcprof_wants_outcomes())
		sampled[n_sampled++] =
			(struct sampled){object, {.sample = sample, .age = allocated}};
	return object;
}

/* One in eight lives until its slot is used again. */
__attribute__((noinline)) static void make_node(uint64_t i, uint64_t type)
{
	struct object *node = new_object(48, type);

	if (i % 8 == 0)
		roots[i / 8 % ROOTS] = node;
}

__attribute__((noinline)) static void make_text(uint64_t i, uint64_t type)
{
	new_object(32 + i % 7 * 16, type);
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 4000000, node, text;

	if (gcprof_open(NULL, &provider) || gcprof_thread_attach(provider, NULL, &thread)) {
		fprintf(stderr, "toy: %s\n", gcprof_error());
		return 1;
	}
	node = gcprof_type(provider, "node");
	text = gcprof_type(provider, "text");
	for (uint64_t i = 0; i < count; i++) {
		make_node(i, node);
		make_text(i, text);
	}
	/* Each collection finds a new node in every slot. */
	printf("{\"types\":{\"node\":{\"bytes\":%" PRIu64 ",\"objects\":%" PRIu64
	       ",\"survive\":%f},",
	       48 * count, count, (double)(ROOTS * collections) / (double)count);
	printf("\"text\":{\"bytes\":%" PRIu64 ",\"objects\":%" PRIu64
	       ",\"survive\":0}},\"minor\":%" PRIu64 "}\n",
	       allocated - 48 * count, count, collections);
	gcprof_thread_detach(thread);
	gcprof_flush_sums(provider);
	gcprof_close(provider);
	return 0;
}
