/* SPDX-License-Identifier: BSD-2-Clause */
/* worklist.c: a growable stack of words. */
#include "worklist.h"
#include "os.h"

#include <string.h>

enum { FIRST_CAPACITY = 512 };

/* `base` is valid at every moment, because a fork by another thread may interrupt anywhere. */
void worklist_grow(struct gc_worklist *stack)
{
	size_t before = stack->capacity, size = sizeof(void *);
	size_t capacity = before ? before * 2 : FIRST_CAPACITY;
	void **old = stack->base, **base = os_map(capacity * size);

	if (!base)
		os_out_of_memory(capacity * size, "a stack of the collector");
	if (old)
		memcpy(base, old, before * size);
	__atomic_store_n(&stack->base, base, __ATOMIC_RELEASE);
	stack->capacity = capacity;
	os_unmap(old, before * size);
}

void worklist_free(struct gc_worklist *stack)
{
	os_unmap(stack->base, stack->capacity * sizeof(void *));
	*stack = (struct gc_worklist){0};
}

void worklist_move(struct gc_worklist *to, struct gc_worklist *from)
{
	for (size_t i = 0; i < from->count; i++)
		worklist_push(to, from->base[i]);
	worklist_free(from);
}

void worklist_remove(struct gc_worklist *stack, const void *word)
{
	for (size_t i = stack->count; i--;) {
		if (stack->base[i] == word) {
			stack->base[i] = worklist_pop(stack);
			return;
		}
	}
}
