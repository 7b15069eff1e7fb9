/* SPDX-License-Identifier: BSD-2-Clause */
/* types.h: registered types: sizes and positions of references. */
#ifndef GCPROF_TYPES_H
#define GCPROF_TYPES_H

#include "heap.h"

enum { SMALL_COPY = 128 }; /* up to this size objects are copied by words */

/* -ENOMEM. */
int types_init(struct gc_heap *heap);
void types_free(struct gc_heap *heap);

/* The size of an array; PTRDIFF_MAX if it exceeds the address space. */
size_t types_array_size(const struct gc_type_info *type, uint64_t length);

/* The type of an object with a valid header. */
static inline struct gc_type_info *type_of(const struct gc_heap *heap, const void *object)
{
	return &heap->types[((const struct gc_header *)object)->type];
}

static inline uint64_t type_length(const struct gc_type_info *type, const void *object)
{
	return *(const uint64_t *)((const char *)object + type->length_offset);
}

static inline size_t type_object_size(const struct gc_type_info *type, const void *object)
{
	if (!type->item_size)
		return type->size;
	return GC_ALIGN(type->size + type_length(type, object) * type->item_size);
}

/* The type's id in the probes, unique in the process. */
static inline uint64_t type_probe_id(const struct gc_heap *heap, uint32_t type)
{
	return heap->types[type].probe;
}

static inline bool type_has_references(const struct gc_type_info *type)
{
	return type->n_pointers | type->n_item_pointers;
}

#endif
