/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_names.h: a process's own names of kinds and reasons of collections, and of areas of heaps.
 */
/* Each text is announced before the first event that has its number; see heaps.c. */
#ifndef GCPROF_HEAP_NAMES_H
#define GCPROF_HEAP_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct event_header;
struct firing;
struct places;

#define NAMES_MAX 64 /* per process */

struct heap_names {
	uint64_t program;         /* when the process executed its program, ns; 0: unknown */
	uint64_t said[NAMES_MAX]; /* time of the event that announced it, ns */
	char own[NAMES_MAX][64];  /* number - GC_NAMES_FIRST */
	size_t count;
	/* What its threads are stopped for, in the pause of this heap and those inside. "": unknown
	 */
	char operation[64];
	uint64_t operation_heap;
	uint64_t before; /* pauses that began before their places reported */
};

/* The names of a process, by its index. NULL: no memory. */
struct heap_names *heap_names_of(struct places *places, uint64_t process);

/*
 * The number of this text in events of the process; a new text is announced first, in an event with
 * the header `like`. 0: no text, or too many. `text` is copied; NULL is allowed.
 */
uint64_t heap_name_number(struct places *places, const struct event_header *like, const char *text);

/* Notes what the threads are stopped for, in a pause. -ENOMEM. */
int heap_operation(struct places *places, const struct firing *firing);

/* The name of a pause without a known collector, from what its threads are stopped for, in `out`;
 * NULL: unknown. */
const char *heap_operation_name(struct places *places, const struct firing *firing, char *out,
				size_t room);

#endif
