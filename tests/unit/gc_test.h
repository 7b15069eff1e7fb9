/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_test.h: what tests of the collector share: a heap of nodes, and an observer of probes. */
#ifndef GCPROF_GC_TEST_H
#define GCPROF_GC_TEST_H

#include "test.h"

#include "limit.h"
#include "major.h"
#include "nursery.h"
#include "old.h"
#include "pairs.h"
#include "threads.h"
#include "types.h"
#include "provider/batch.h"
#include "provider/data.h"
#include "provider/random.h"
#include "provider/rate.h"

struct node {
	struct gc_header header;
	struct node *left;
	struct node *right;
	uint64_t value;
};

struct cells {
	struct gc_header header;
	uint64_t length;
	void *items[];
};

struct bytes {
	struct gc_header header;
	uint64_t length;
	unsigned char items[];
};

/* Its own calls leave words on stacks, and its threads make system calls. */
static inline void skip_under_thread_sanitizer(void)
{
#ifdef __SANITIZE_THREAD__
	test_skip("the thread sanitizer changes what is tested");
#endif
}

struct fixture {
	struct gc_heap *heap;
	struct gc_thread *thread;
	gc_type node;
	gc_type cells;
	gc_type bytes;
};

static inline struct gc_options small_options(void)
{
	struct gc_options options;

	CHECK_EQ(gc_options_default(&options), 0);
	options.nursery_size = 64 << 10;
	options.buffer_size = 4 << 10;
	options.large_size = 16 << 10;
	options.min_heap = 256 << 10;
	options.sampling.no_batching = 1; /* samples are seen one by one */
	return options;
}

/* Samples by the batch, of exponential distances with the mean `period`, always. */
static inline struct gc_options batching_options(uint64_t period)
{
	struct gc_options options = small_options();

	options.nursery_size = 1 << 20;
	options.sampling.always_sample = 1;
	options.sampling.no_batching = 0;
	options.sampling.gc_ceiling = UINT64_MAX;
	options.sampling.period = period;
	options.sampling.ceiling = UINT64_MAX;
	options.sampling.seed = 5;
	return options;
}

static inline void fixture_open(struct fixture *f, const struct gc_options *options)
{
	static const uint32_t node_pointers[] = {offsetof(struct node, left),
						 offsetof(struct node, right)};
	static const uint32_t item_pointers[] = {0};
	struct gc_type_desc node = {.name = "node",
				    .size = sizeof(struct node),
				    .pointers = node_pointers,
				    .n_pointers = 2};
	struct gc_type_desc cells = {.name = "cells",
				     .size = sizeof(struct cells),
				     .item_size = sizeof(void *),
				     .length_offset = offsetof(struct cells, length),
				     .item_pointers = item_pointers,
				     .n_item_pointers = 1};
	struct gc_type_desc bytes = {.name = "bytes",
				     .size = sizeof(struct bytes),
				     .item_size = 1,
				     .length_offset = offsetof(struct bytes, length)};

	if (gc_heap_create(options, &f->heap))
		test_fail(__FILE__, __LINE__, "%s", gc_error());
	CHECK_EQ(gc_type_register(f->heap, &node, &f->node), 0);
	CHECK_EQ(gc_type_register(f->heap, &cells, &f->cells), 0);
	CHECK_EQ(gc_type_register(f->heap, &bytes, &f->bytes), 0);
	CHECK_EQ(gc_thread_attach(f->heap, &f->thread), 0);
}

static inline void fixture_close(struct fixture *f)
{
	gc_thread_detach(f->thread);
	gc_heap_destroy(f->heap);
}

/* With the test's frame. */
#define FIXTURE_END(f, frame)                      \
	do {                                       \
		GC_FRAME_END((f).thread, (frame)); \
		fixture_close(&(f));               \
	} while (0)

static inline struct node *new_node(struct fixture *f, uint64_t value)
{
	struct node *node = GC_NEW(f->thread, f->node, struct node);

	node->value = value;
	return node;
}

/* A list of `length` nodes through `left`, with values from `length` down to 1. */
static inline struct node *make_list(struct fixture *f, uint64_t length)
{
	struct node *list;

	GC_FRAME(f->thread, frame, 0, struct node * list;);
	for (uint64_t i = 1; i <= length; i++) {
		struct node *node = new_node(f, i);

		gc_write(f->thread, node, &node->left, frame.root.list);
		frame.root.list = node;
	}
	list = frame.root.list;
	GC_FRAME_END(f->thread, frame);
	return list;
}

/* The same, all of it old and white. */
static inline struct node *make_old_list(struct fixture *f, uint64_t length)
{
	struct node *list;

	GC_FRAME(f->thread, frame, 0, struct node * list;);
	frame.root.list = make_list(f, length);
	gc_collect(f->thread, GC_COLLECT_FULL);
	list = frame.root.list;
	GC_FRAME_END(f->thread, frame);
	return list;
}

#endif
