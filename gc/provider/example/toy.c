/* SPDX-License-Identifier: BSD-2-Clause */
/* toy.c: an example allocator that reports to gcprof: a semispace heap, and memory that is freed.
 */
/* toy COUNT: each iteration allocates a node, which lives while a root refers to it, and a text,
 * which is freed. Prints the amounts in the format of the workload `known`. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "provider/provider.h"

enum { NODES = 20000, ROOTS = 64, TEXTS = 48 };

struct object {
	struct object *moved;  /* the copy made by a collection */
	uint64_t sample, born; /* sample: 0: none; born: bytes allocated before it */
	uint64_t survived, content[2];
};

static struct gcprof_provider *provider;
static struct gcprof_thread *thread;
static struct object halves[2][NODES], *half = halves[0], *roots[ROOTS], *texts[TEXTS];
static size_t used, allocated, collections;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void report(const struct object *object, uint32_t outcome)
{
	struct gcprof_fate fate = {object->sample, allocated - object->born, outcome,
				   (uint32_t)object->survived};

	if (object->sample)
		gcprof_outcomes(thread, &fate, 1);
}

/* Copies everything that the roots refer to into the other half. */
static void collect(void)
{
	struct gcprof_gc_stats stats = {.nursery_used = sizeof(halves[0]), .threads = 1};
	const struct object *from = half, *end = half + used;

	gcprof_gc_begin(thread, GCPROF_GC_MINOR, GCPROF_REASON_NURSERY, now());
	half = halves[half == halves[0]];
	for (used = 0; used < ROOTS && roots[used]; used++) {
		half[used] = *roots[used];
		half[used].survived++;
		roots[used] = roots[used]->moved = &half[used];
	}
	/* Reports samples that died, and each promotion once. */
	for (; from < end; from++)
		if (!from->moved)
			report(from, from->survived ? GCPROF_DIED_OLD : GCPROF_DIED_YOUNG);
		else if (!from->survived)
			report(from, GCPROF_PROMOTED);
	stats.allocated_bytes = allocated;
	stats.live_bytes = stats.arena_bytes = used * sizeof(*half);
	gcprof_gc_end(thread, &stats, now());
	gcprof_stop_end(thread);
	collections++;
}

static struct object *new_object(struct object *object, size_t size, uint64_t type, uint32_t kind)
{
	allocated += size;
	*object = (struct object){.born = allocated};
	object->sample = gcprof_alloc(thread, size, type, kind);
	return object;
}

/* One in eight lives until its root is reused. */
__attribute__((noinline)) static void make_node(size_t i, uint64_t type)
{
	struct object *node;

	if (used == NODES)
		collect();
	node = new_object(&half[used++], sizeof(*node), type, GCPROF_SAMPLE_NURSERY);
	if (i % 8 == 0)
		roots[i / 8 % ROOTS] = node;
}

__attribute__((noinline)) static void make_text(size_t i, uint64_t type)
{
	struct object **text = &texts[i % TEXTS];
	size_t size = sizeof(**text) + i % 7 * 16;

	if (*text)
		report(*text, GCPROF_FREED);
	free(*text);
	*text = new_object(malloc(size), size, type, GCPROF_SAMPLE_MANUAL);
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 4000000;
	size_t bytes = count * sizeof(struct object);
	uint64_t node, text;

	if (gcprof_open(NULL, &provider) || gcprof_thread_attach(provider, NULL, &thread)) {
		fprintf(stderr, "toy: %s\n", gcprof_error());
		return 1;
	}
	node = gcprof_type(provider, "node");
	text = gcprof_type(provider, "text");
	for (size_t i = 0; i < count; i++) {
		make_node(i, node);
		make_text(i, text);
	}
	/* Each collection finds a new node at every root. */
	printf("{\"types\":{\"node\":{\"bytes\":%zu,\"objects\":%zu,\"survive\":%f},"
	       "\"text\":{\"bytes\":%zu,\"objects\":%zu}},\"minor\":%zu}\n",
	       bytes, count, (double)(ROOTS * collections) / (double)count, allocated - bytes,
	       count, collections);
	gcprof_thread_detach(thread);
	gcprof_flush_sums(provider);
	gcprof_close(provider);
	return 0;
}
