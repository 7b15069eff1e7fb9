/* SPDX-License-Identifier: BSD-2-Clause */
/* stack.h: a growable stack of words that never touches malloc. */
#ifndef GCPROF_STACK_H
#define GCPROF_STACK_H

#ifndef GC_INTERNAL
#error "internal header of libgcprof-gc"
#endif

#include <stddef.h>

/* All zero is an empty stack. */
struct gc_stack {
	void **base;
	size_t count;
	size_t capacity;
};

/* Makes room for one more; ends the program when there is no memory. */
void stack_grow(struct gc_stack *stack);
void stack_free(struct gc_stack *stack);

static inline void stack_push(struct gc_stack *stack, void *word)
{
	if (__builtin_expect(stack->count == stack->capacity, 0))
		stack_grow(stack);
	stack->base[stack->count++] = word;
}

static inline void *stack_pop(struct gc_stack *stack)
{
	return stack->base[--stack->count];
}

/* Moves everything from `from` to `to`. */
void stack_move(struct gc_stack *to, struct gc_stack *from);

#endif
