/* SPDX-License-Identifier: BSD-2-Clause */
/* stack.c: growing a stack of words. */
#include "internal.h"

enum { FIRST_CAPACITY = 512 };

void stack_grow(struct gc_stack *stack)
{
	size_t capacity = stack->capacity ? stack->capacity * 2 : FIRST_CAPACITY;
	void **base =
		os_grow(stack->base, stack->capacity * sizeof(void *), capacity * sizeof(void *));

	if (!base)
		os_out_of_memory(capacity * sizeof(void *), "a stack of the collector");
	stack->base = base;
	stack->capacity = capacity;
}

void stack_free(struct gc_stack *stack)
{
	os_unmap(stack->base, stack->capacity * sizeof(void *));
	*stack = (struct gc_stack){0};
}

void stack_move(struct gc_stack *to, struct gc_stack *from)
{
	for (size_t i = 0; i < from->count; i++)
		stack_push(to, from->base[i]);
	stack_free(from);
}
