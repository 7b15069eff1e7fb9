/* SPDX-License-Identifier: BSD-2-Clause */
/* gray.h: objects that marking has reached but not traced. */
#ifndef GCPROF_GRAY_H
#define GCPROF_GRAY_H

#include "heap.h"

/* Makes an object gray if it is old and not marked. */
static inline void gray_add(struct gc_heap *heap, void *object)
{
	if (object && !nursery_has(&heap->nursery, object) && chunk_mark(object))
		worklist_push(&heap->major.gray, object);
}

#endif
