/* SPDX-License-Identifier: BSD-2-Clause */
/* types.c: registers types, and checks them so that tracing need not. */
#include "types.h"

#include <stdlib.h>

/* Limit of the fixed part, far above any real one; keeps size arithmetic from overflowing. */
#define SIZE_MAX_FIXED (UINT32_C(1) << 30)

int types_init(struct gc_heap *heap)
{
	heap->types = os_map(MAX_TYPES * sizeof(*heap->types));
	heap->n_types = 1;
	return heap->types ? 0 : -ENOMEM;
}

void types_free(struct gc_heap *heap)
{
	if (!heap->types)
		return;
	for (uint32_t i = 1; i < heap->n_types; i++) {
		struct gc_type_info *type = &heap->types[i];

		if (type->pointers != type->few)
			free((void *)(uintptr_t)type->pointers);
		free((void *)(uintptr_t)type->item_pointers);
	}
	os_unmap(heap->types, MAX_TYPES * sizeof(*heap->types));
}

size_t types_array_size(const struct gc_type_info *type, uint64_t length)
{
	size_t size;

	if (!type->item_size)
		return type->size;
	if (__builtin_mul_overflow(length, type->item_size, &size) ||
	    __builtin_add_overflow(size, type->size, &size) || size > PTRDIFF_MAX - 8)
		return PTRDIFF_MAX & ~(size_t)7;
	return GC_ALIGN(size);
}

static int check_offsets(const char *name, const uint32_t *offsets, uint32_t n, uint32_t from,
			 uint32_t size)
{
	if (n && !offsets)
		return gcprof_error_set(-EINVAL, "type %s: %u references but no offsets", name, n);
	for (uint32_t i = 0; i < n; i++) {
		if (offsets[i] % 8)
			return gcprof_error_set(-EINVAL,
						"type %s: the reference at %u is not aligned", name,
						offsets[i]);
		if (offsets[i] < from || size < 8 || offsets[i] > size - 8)
			return gcprof_error_set(-EINVAL,
						"type %s: the reference at %u lies outside", name,
						offsets[i]);
	}
	return 0;
}

/* Checks where an array's length is. */
static int check_length(const struct gc_type_desc *desc)
{
	uint32_t at = desc->length_offset;

	if (at % 8)
		return gcprof_error_set(-EINVAL, "type %s: the length at %u is not aligned",
					desc->name, at);
	if (at < sizeof(struct gc_header) || at + UINT64_C(8) > desc->size)
		return gcprof_error_set(-EINVAL, "type %s: the length at %u lies outside",
					desc->name, at);
	for (uint32_t i = 0; desc->pointers && i < desc->n_pointers; i++)
		if (desc->pointers[i] == at)
			return gcprof_error_set(-EINVAL,
						"type %s: at %u lies a reference and the length",
						desc->name, at);
	return 0;
}

static int check(const struct gc_type_desc *desc)
{
	int result;

	if (!desc->name || !*desc->name)
		return gcprof_error_set(-EINVAL, "a type needs a name");
	if (desc->size < sizeof(struct gc_header) || desc->size > SIZE_MAX_FIXED)
		return gcprof_error_set(-EINVAL, "type %s: %u is no size for an object", desc->name,
					desc->size);
	if (desc->item_size > SIZE_MAX_FIXED)
		return gcprof_error_set(-EINVAL, "type %s: %u is no size for an item", desc->name,
					desc->item_size);
	result = desc->item_size ? check_length(desc) : 0;
	if (result)
		return result;
	if (desc->n_item_pointers && (desc->item_size % 8 || desc->size % 8))
		return gcprof_error_set(-EINVAL, "type %s: items with references must be aligned",
					desc->name);
	result = check_offsets(desc->name, desc->pointers, desc->n_pointers,
			       sizeof(struct gc_header), desc->size);
	if (result)
		return result;
	return check_offsets(desc->name, desc->item_pointers, desc->n_item_pointers, 0,
			     desc->item_size);
}

static uint32_t *copy_offsets(const uint32_t *offsets, uint32_t n)
{
	uint32_t *copy = malloc((n ? n : 1) * sizeof(*copy));

	if (copy && n)
		memcpy(copy, offsets, n * sizeof(*copy));
	return copy;
}

static int fill(const struct gc_heap *heap, struct gc_type_info *type,
		const struct gc_type_desc *desc)
{
	uint32_t *items = copy_offsets(desc->item_pointers, desc->n_item_pointers);
	uint32_t *fixed = type->few;
	uint64_t probe = gcprof_type(heap->provider, desc->name);

	if (desc->n_pointers > FEW_OFFSETS)
		fixed = copy_offsets(desc->pointers, desc->n_pointers);
	else if (desc->n_pointers)
		memcpy(fixed, desc->pointers, desc->n_pointers * sizeof(*fixed));
	if (!items || !fixed || !probe) {
		if (fixed != type->few)
			free(fixed);
		free(items);
		return gcprof_error_set(-ENOMEM, "type %s: out of memory", desc->name);
	}
	type->size = desc->item_size ? desc->size : (uint32_t)GC_ALIGN(desc->size);
	type->item_size = desc->item_size;
	type->length_offset = desc->length_offset;
	type->n_pointers = desc->n_pointers;
	type->pointers = fixed;
	type->n_item_pointers = desc->n_item_pointers;
	type->is_simple = !type->item_size && type->size <= SMALL_COPY && fixed == type->few;
	if (type->is_simple)
		type->class = heap->old.class_of[type->size / 8];
	type->item_pointers = items;
	type->probe = probe;
	return 0;
}

int gc_type_register(struct gc_heap *heap, const struct gc_type_desc *desc, gc_type *out)
{
	int result = check(desc);

	if (result)
		return result;
	heap_lock(heap);
	if (heap->n_types == MAX_TYPES) {
		result = gcprof_error_set(-ENOSPC, "type %s: there are 65535 types already",
					  desc->name);
		goto out;
	}
	result = fill(heap, &heap->types[heap->n_types], desc);
	if (result)
		goto out;
	*out = (gc_type)heap->n_types;
	/* The slow path reads this without the lock to check that a type exists. */
	__atomic_store_n(&heap->n_types, heap->n_types + 1, __ATOMIC_RELEASE);
out:
	pthread_mutex_unlock(&heap->lock);
	return result;
}
