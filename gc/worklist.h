/* SPDX-License-Identifier: BSD-2-Clause */
/* worklist.h: a growable stack of words that never touches malloc. */
#ifndef GCPROF_WORKLIST_H
#define GCPROF_WORKLIST_H

#include <stddef.h>

/* All zero: an empty stack. */
struct gc_worklist {
	void **base;
	size_t count;
	size_t capacity;
};

/* Makes room for at least one more word; ends the program when out of memory. */
void worklist_grow(struct gc_worklist *stack);
void worklist_free(struct gc_worklist *stack);

static inline void worklist_push(struct gc_worklist *stack, void *word)
{
	if (__builtin_expect(stack->count == stack->capacity, 0))
		worklist_grow(stack);
	stack->base[stack->count] = word;
	/* A fork may interrupt between the two stores. */
	__atomic_signal_fence(__ATOMIC_RELEASE);
	stack->count++;
}

static inline void *worklist_pop(struct gc_worklist *stack)
{
	return stack->base[--stack->count];
}

/* Removes the last word equal to `word`, if any; another word takes its place. */
void worklist_remove(struct gc_worklist *stack, const void *word);

/* Moves all words from `from` to `to`. */
void worklist_move(struct gc_worklist *to, struct gc_worklist *from);

#endif
