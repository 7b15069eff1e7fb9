/* SPDX-License-Identifier: BSD-2-Clause */
/* selection.h: which events a filter selects. */
/*
 * Names come after the events that refer to them, so a profile is read twice. The first pass
 * finds out which stacks, types and threads match which terms. The second pass counts only what
 * is selected. Both see the same records and assign the same numbers.
 *
 * Events that are not selected still take their share of each pause: a pause is split among all
 * samples of its cycle, and the shares of the others are dropped.
 */
#ifndef GCPROF_SELECTION_H
#define GCPROF_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../event.h"
#include "filter.h"

struct heap_sites;
struct world;

/* Indexed by number: bit i is set if the item matches the value of term i. */
struct matches {
	uint16_t *bits;
	size_t count;
};

struct selection {
	const struct filter *filter;
	struct matches stacks, types, threads, processes; /* threads: also matched by process */
	const char *machine; /* names system calls; NULL: this machine */
	char machine_name[32];
};

_Static_assert(FILTER_TERMS_MAX <= 16, "a term has a bit");

/* Call after the first pass. 0 or -ENOMEM; call selection_free() in any case. */
int selection_resolve(struct selection *selection, const struct filter *filter,
		      const struct world *world, const struct heap_sites *heap);
void selection_free(struct selection *selection);

/*
 * Is this event selected? Records that do not count by themselves are, such as the begin of a
 * collection.
 */
bool selection_admits(const struct selection *selection, const struct world *world,
		      const struct event *event);

/*
 * Is everything that the thread did selected? True only if all terms are about threads and
 * processes.
 */
bool selection_admits_thread(const struct selection *selection, uint64_t thread);

enum selection_verdict { SELECTION_NONE, SELECTION_SOME, SELECTION_ALL };

/*
 * Which calls of this number (bit 31: from the 32-bit table) in this process are selected? SOME:
 * it depends on the single call.
 */
enum selection_verdict selection_of_calls(const struct selection *selection, uint64_t process,
					  uint64_t number);

/* Does the filter have time terms that select a part of this span? In ns since the start. */
bool selection_has_time(const struct filter *filter, uint64_t from, uint64_t to);

/* Does the filter select by functions or modules, which only events with a stack have? */
bool selection_needs_stacks(const struct filter *filter);

/* The part of this span that the time terms select; all of it without a filter (NULL). */
uint64_t selection_time(const struct filter *filter, uint64_t from, uint64_t to);

#endif
