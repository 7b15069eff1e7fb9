/* SPDX-License-Identifier: BSD-2-Clause */
/* bag.h: words, and how often each was put in: found at once, however many there are. */
#ifndef GCPROF_BAG_H
#define GCPROF_BAG_H

#ifndef GC_INTERNAL
#error "internal header of libgcprof-gc"
#endif

#include <stddef.h>
#include <stdint.h>

struct gc_bag_word {
	void *word;
	size_t times; /* more than 0 */
};

/* All zero is an empty bag. */
struct gc_bag {
	struct gc_bag_word *words; /* in the order in which they came, but for removals */
	size_t count, capacity;
	uint32_t *places; /* by hash: place in `words`, from 1; 0: free */
	size_t n_places;  /* a power of two, twice the capacity */
};

/* Once more; ends the program when there is no memory. */
void bag_add(struct gc_bag *bag, void *word);

/* Once less. A word that is not in it is no harm. */
void bag_remove(struct gc_bag *bag, void *word);

void bag_free(struct gc_bag *bag);

#endif
