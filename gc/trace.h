/* SPDX-License-Identifier: BSD-2-Clause */
/* trace.h: calls a visitor for every reference in an object. */
#ifndef GCPROF_TRACE_H
#define GCPROF_TRACE_H

#ifndef GC_INTERNAL
#error "internal header of libgcprof-gc"
#endif

/* Always inlined, so that `visit` becomes part of the loop and no indirect call remains. */
__attribute__((always_inline)) static inline void
trace_object(const struct gc_type_info *type, void *object, gc_visit visit, void *context)
{
	char *item = (char *)object + type->size;
	uint64_t length;

	for (uint32_t i = 0; i < type->n_pointers; i++)
		visit(context, (void **)((char *)object + type->pointers[i]));
	if (!type->n_item_pointers)
		return;
	length = type_length(type, object);
	for (uint64_t n = 0; n < length; n++, item += type->item_size)
		for (uint32_t i = 0; i < type->n_item_pointers; i++)
			visit(context, (void **)(item + type->item_pointers[i]));
}

#endif
