/* SPDX-License-Identifier: BSD-2-Clause */
/* allocate.c: the functions of `known` that allocate, each its own kinds of objects. */
#include "known.h"

/*
 * Inlined into the three functions below, so that the allocation itself lies in
 * the function that is named in the profile. A survivor is younger than the one
 * it points to, so initialising it needs no barrier; gc_write is right anyway.
 */
__attribute__((always_inline)) static inline void allocate(struct worker *worker, uint32_t kind,
							   uint64_t count, struct node **list)
{
	struct gc_thread *thread = worker->thread;
	gc_type type = worker->known->types[kind];
	uint32_t size = kinds[kind].size;
	uint32_t keep_every = kinds[kind].keep_every;
	uint64_t objects = worker->objects[kind];
	uint64_t survivors = 0;
	for (uint64_t i = 0; i < count; i++) {
		struct node *node = gc_alloc(thread, type, size);
		if (keep_every && objects++ % keep_every == 0) {
			gc_write(thread, node, &node->next, *list);
			*list = node;
			survivors++;
		}
	}
	worker->objects[kind] += count;
	worker->survivors[kind] += survivors;
	worker->alloc_bytes[function_of(kinds[kind].alloc)] += count * GC_ALIGN(size);
}

NAMED_FUNCTION void alloc_small(struct worker *worker, uint32_t kind, uint64_t count,
				struct node **list)
{
	allocate(worker, kind, count, list);
}

NAMED_FUNCTION void alloc_medium(struct worker *worker, uint32_t kind, uint64_t count,
				 struct node **list)
{
	allocate(worker, kind, count, list);
}

NAMED_FUNCTION void alloc_large(struct worker *worker, uint32_t kind, uint64_t count,
				struct node **list)
{
	allocate(worker, kind, count, list);
}

enum function function_of(alloc_function *alloc)
{
	if (alloc == alloc_small)
		return ALLOC_SMALL;
	return alloc == alloc_medium ? ALLOC_MEDIUM : ALLOC_LARGE;
}
