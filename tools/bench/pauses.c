/* SPDX-License-Identifier: BSD-2-Clause */
/* pauses.c: keeps a heap of a given size alive, churns, and tells how long collections stop it. */
/*
 *	pauses SIZE [CYCLES]	SIZE in MiB of live objects; so many major collections, 2 by default
 *
 * The heap is a table of entries (one large array), each a small tree with
 * texts of many sizes hanging on its nodes. Entries are replaced at random, so
 * all of the heap is written to and fragments, and between two replacements
 * short-lived objects are allocated. One line for each kind of collection:
 *
 *	KIND COUNT MEDIAN P99 LONGEST	in microseconds, as gc_hook_set() tells them
 */
#include <stdio.h>
#include <stdlib.h>

#include "gc.h"

enum { DEPTH = 3, ENTRY_BYTES = 4170, MAX_TEXT = 300, LONG_TEXT = 20000, GARBAGE = 400 };
enum { KINDS = GC_HOOK_FULL + 1, MAX_PAUSES = 1 << 22 };

struct node {
	struct gc_header header;
	struct node *left;
	struct node *right;
	struct text *text;
};

struct text {
	struct gc_header header;
	uint64_t length;
	char bytes[];
};

struct table {
	struct gc_header header;
	uint64_t length;
	struct node *entries[];
};

struct bench {
	struct gc_heap *heap;
	struct gc_thread *thread;
	gc_type node, text, table;
	uint64_t random;
	int cycles; /* major collections since the table was filled */
	size_t count[KINDS];
	uint32_t *pauses[KINDS]; /* in tenths of microseconds */
};

static uint64_t next_random(struct bench *bench)
{
	bench->random ^= bench->random << 13;
	bench->random ^= bench->random >> 7;
	bench->random ^= bench->random << 17;
	return bench->random;
}

static void count_pause(void *context, const struct gc_hook_event *event)
{
	struct bench *bench = context;

	bench->cycles += event->cycle_done;
	if (bench->count[event->kind] < MAX_PAUSES)
		bench->pauses[event->kind][bench->count[event->kind]++] =
			(uint32_t)(event->pause_ns / 100);
}

/* Most are short; some get pages of their own. */
static struct text *make_text(struct bench *bench)
{
	uint64_t random = next_random(bench);
	uint64_t length = random % MAX_TEXT;

	if (random >> 32 & 63)
		return gc_alloc_array(bench->thread, bench->text, length);
	return gc_alloc_array(bench->thread, bench->text, length * (LONG_TEXT / MAX_TEXT) / 2);
}

static struct node *make_entry(struct bench *bench, int depth)
{
	struct gc_thread *thread = bench->thread;
	struct node *node;

	GC_FRAME(thread, frame, 0, struct node * left; struct node * right; struct text * text;);
	if (depth > 0) {
		frame.root.left = make_entry(bench, depth - 1);
		frame.root.right = make_entry(bench, depth - 1);
	}
	frame.root.text = make_text(bench);
	node = GC_NEW(thread, bench->node, struct node);
	gc_write(thread, node, &node->left, frame.root.left);
	gc_write(thread, node, &node->right, frame.root.right);
	gc_write(thread, node, &node->text, frame.root.text);
	GC_FRAME_END(thread, frame);
	return node;
}

static void replace(struct bench *bench, struct table **table, uint64_t i)
{
	struct node *entry = make_entry(bench, DEPTH);

	gc_array_write(bench->thread, *table, (void **)(*table)->entries, i, entry);
}

static void open_bench(struct bench *bench)
{
	static const uint32_t node_pointers[] = {offsetof(struct node, left),
						 offsetof(struct node, right),
						 offsetof(struct node, text)};
	static const uint32_t item_pointers[] = {0};
	const struct gc_type_desc node = {.name = "node",
					  .size = sizeof(struct node),
					  .pointers = node_pointers,
					  .n_pointers = 3};
	const struct gc_type_desc text = {.name = "text",
					  .size = sizeof(struct text),
					  .item_size = 1,
					  .length_offset = offsetof(struct text, length)};
	const struct gc_type_desc table = {.name = "table",
					   .size = sizeof(struct table),
					   .item_size = sizeof(void *),
					   .length_offset = offsetof(struct table, length),
					   .item_pointers = item_pointers,
					   .n_item_pointers = 1};

	if (gc_heap_create(NULL, &bench->heap) ||
	    gc_type_register(bench->heap, &node, &bench->node) ||
	    gc_type_register(bench->heap, &text, &bench->text) ||
	    gc_type_register(bench->heap, &table, &bench->table) ||
	    gc_thread_attach(bench->heap, &bench->thread)) {
		fprintf(stderr, "pauses: %s\n", gc_error());
		exit(1);
	}
	for (int kind = GC_HOOK_MINOR; kind < KINDS; kind++)
		bench->pauses[kind] = malloc(MAX_PAUSES * sizeof(uint32_t));
}

static void run(struct bench *bench, uint64_t megabytes, int cycles)
{
	struct gc_thread *thread = bench->thread;
	uint64_t length = (megabytes << 20) / ENTRY_BYTES;

	GC_FRAME(thread, frame, 0, struct table * table;);
	frame.root.table = gc_alloc_array(thread, bench->table, length);
	for (uint64_t i = 0; i < length; i++)
		replace(bench, &frame.root.table, i);
	gc_collect(thread, GC_COLLECT_FULL);
	bench->cycles = 0;
	gc_hook_set(bench->heap, count_pause, bench);
	while (bench->cycles < cycles) {
		replace(bench, &frame.root.table, next_random(bench) % length);
		for (int i = 0; i < GARBAGE; i++)
			make_text(bench);
	}
	GC_FRAME_END(thread, frame);
}

static int compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

static void print(const struct bench *bench)
{
	static const char *const names[] = {
		[GC_HOOK_MINOR] = "minor", [GC_HOOK_STEP] = "step", [GC_HOOK_FULL] = "full"};
	struct gc_stats stats;

	gc_stats(bench->heap, &stats);
	printf("live %llu MiB\n", (unsigned long long)stats.live_bytes >> 20);
	for (int kind = GC_HOOK_MINOR; kind < KINDS; kind++) {
		const uint32_t *pauses = bench->pauses[kind];
		size_t n = bench->count[kind];

		if (!n)
			continue;
		qsort(bench->pauses[kind], n, sizeof(*pauses), compare);
		printf("%s %zu %.1f %.1f %.1f\n", names[kind], n, pauses[n / 2] / 10.0,
		       pauses[n * 99 / 100] / 10.0, pauses[n - 1] / 10.0);
	}
}

int main(int argc, char **argv)
{
	static struct bench bench = {.random = 88172645463325252};
	uint64_t megabytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	int cycles = argc > 2 ? atoi(argv[2]) : 2;

	if (!megabytes || megabytes > 1 << 20 || cycles < 1) {
		fprintf(stderr, "Usage: pauses MEGABYTES [CYCLES]\n");
		return 2;
	}
	open_bench(&bench);
	run(&bench, megabytes, cycles);
	print(&bench);
	gc_thread_detach(bench.thread);
	gc_heap_destroy(bench.heap);
	return 0;
}
