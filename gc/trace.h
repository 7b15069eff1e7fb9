/* SPDX-License-Identifier: BSD-2-Clause */
/* trace.h: visits every reference in an object. */
#ifndef GCPROF_TRACE_H
#define GCPROF_TRACE_H

#include "types.h"

/* Always inlined, so that `visit` becomes part of the loop and no indirect call remains. */
__attribute__((always_inline)) static inline void
trace_fixed(const struct gc_type_info *type, void *object, gc_visit visit, void *context)
{
	for (uint32_t i = 0; i < type->n_pointers; i++)
		visit(context, (void **)((char *)object + type->pointers[i]));
}

/* Visits the items from index `from` up to, but not including, `to`. */
__attribute__((always_inline)) static inline void trace_items(const struct gc_type_info *type,
							      void *object, uint64_t from,
							      uint64_t to, gc_visit visit,
							      void *context)
{
	char *item = (char *)object + type->size + from * type->item_size;

	for (uint64_t n = from; n < to; n++, item += type->item_size)
		for (uint32_t i = 0; i < type->n_item_pointers; i++)
			visit(context, (void **)(item + type->item_pointers[i]));
}

__attribute__((always_inline)) static inline void
trace_object(const struct gc_type_info *type, void *object, gc_visit visit, void *context)
{
	trace_fixed(type, object, visit, context);
	if (type->n_item_pointers)
		trace_items(type, object, 0, type_length(type, object), visit, context);
}

#endif
