/* SPDX-License-Identifier: BSD-2-Clause */
/* endings.c: tells how long the step that ends marking takes, with many who want to know of it. */
/*
 *	endings KIND COUNT
 *
 * So many objects are kept, each with one of KIND: none, weak (a weak reference),
 * ephemeron, light or ordered (a finalizer), sample (it was sampled). Every
 * second one is let go, then garbage is allocated until a major collection has
 * gone by in steps. Prints the longest step, in microseconds by the clock;
 * tools/bench/stops tells it in CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "provider/probe.h"

struct leaf {
	struct gc_header header;
	uint64_t value[3];
};

struct table {
	struct gc_header header;
	uint64_t length;
	void *items[];
};

struct bench {
	struct gc_heap *heap;
	struct gc_thread *thread;
	gc_type leaf, table;
	const char *kind;
	int cycles;
	uint64_t longest;
};

static void see_pause(void *context, const struct gc_hook_event *event)
{
	struct bench *bench = context;

	bench->cycles += event->cycle_done;
	if (event->kind == GC_HOOK_STEP && event->pause_ns > bench->longest)
		bench->longest = event->pause_ns;
}

static void see_nothing(enum probe_number probe, const void *arguments)
{
	(void)probe;
	(void)arguments;
}

static void finalize(struct gc_thread *thread, void *object, void *context)
{
	(void)thread;
	(void)object;
	++*(uint64_t *)context;
}

static int is_kind(const struct bench *bench, const char *kind)
{
	return strcmp(bench->kind, kind) == 0;
}

static int attend(struct bench *bench, void *object, void *value)
{
	static uint64_t finalized;
	struct gc_weak *weak;

	if (is_kind(bench, "weak"))
		return gc_weak_create(bench->thread, object, NULL, &weak);
	if (is_kind(bench, "ephemeron"))
		return gc_weak_create(bench->thread, object, value, &weak);
	if (is_kind(bench, "light"))
		return gc_finalizer_add(bench->thread, object, GC_FINALIZER_LIGHT, finalize,
					&finalized);
	if (is_kind(bench, "ordered"))
		return gc_finalizer_add(bench->thread, object, GC_FINALIZER_ORDERED, finalize,
					&finalized);
	return 0;
}

static void open_bench(struct bench *bench)
{
	static const uint32_t items[] = {0};
	const struct gc_type_desc leaf = {.name = "leaf", .size = sizeof(struct leaf)};
	const struct gc_type_desc table = {.name = "table",
					   .size = sizeof(struct table),
					   .item_size = sizeof(void *),
					   .length_offset = offsetof(struct table, length),
					   .item_pointers = items,
					   .n_item_pointers = 1};
	struct gc_options options;

	gc_options_default(&options);
	if (is_kind(bench, "sample")) {
		probe_observer = see_nothing;
		options.sampling.always_sample = 1;
		options.sampling.fixed_stride = GCPROF_STRIDE_EVERY;
	}
	if (gc_heap_create(&options, &bench->heap) ||
	    gc_type_register(bench->heap, &leaf, &bench->leaf) ||
	    gc_type_register(bench->heap, &table, &bench->table) ||
	    gc_thread_attach(bench->heap, &bench->thread)) {
		fprintf(stderr, "endings: %s\n", gc_error());
		exit(1);
	}
}

static void run(struct bench *bench, uint64_t count)
{
	struct gc_thread *thread = bench->thread;

	GC_FRAME(thread, frame, 0, struct table * table; void *value;);
	frame.root.table = gc_alloc_array(thread, bench->table, count);
	for (uint64_t i = 0; i < count; i++) {
		void *object;

		frame.root.value = GC_NEW(thread, bench->leaf, struct leaf);
		object = GC_NEW(thread, bench->leaf, struct leaf);
		gc_array_write(thread, frame.root.table, frame.root.table->items, i, object);
		if (attend(bench, object, frame.root.value)) {
			fprintf(stderr, "endings: %s\n", gc_error());
			exit(1);
		}
	}
	gc_collect(thread, GC_COLLECT_FULL);
	for (uint64_t i = 0; i < count; i += 2)
		gc_array_write(thread, frame.root.table, frame.root.table->items, i, NULL);
	gc_sampling_pause(bench->heap);
	gc_hook_set(bench->heap, see_pause, bench);
	/* What nobody can reach makes the heap seem to grow. */
	while (!bench->cycles) {
		gc_memory_pressure(thread, 1 << 20);
		for (int i = 0; i < 20000; i++)
			GC_NEW(thread, bench->leaf, struct leaf);
	}
	GC_FRAME_END(thread, frame);
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = {"none",  "weak",    "ephemeron",
					    "light", "ordered", "sample"};
	struct bench bench = {.kind = argc == 3 ? argv[1] : ""};
	uint64_t count = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	int known = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		known |= is_kind(&bench, kinds[i]);
	if (!known || !count || count > UINT32_MAX) {
		fprintf(stderr, "Usage: endings none|weak|ephemeron|light|ordered|sample COUNT\n");
		return 2;
	}
	open_bench(&bench);
	run(&bench, count);
	printf("%s %llu: longest step %.1f us\n", bench.kind, (unsigned long long)count,
	       (double)bench.longest / 1000);
	gc_thread_detach(bench.thread);
	gc_heap_destroy(bench.heap);
	return 0;
}
