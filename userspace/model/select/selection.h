/* SPDX-License-Identifier: BSD-2-Clause */
/* selection.h: which events a filter selects: names looked up beforehand, events then at once. */
/*
 * Names stand behind the events that they name, so a profile is read twice: the
 * first time to learn which stacks, types and threads match which terms, the
 * second time to count only what is selected. Both passes see the same records and
 * number things alike.
 *
 * What is not selected still takes part in the division of pauses: a pause is split
 * among all samples of its cycle, and the parts of the others are left out.
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

/* For each thing by its number: bit i says that it matches the value of term i. */
struct matches {
	uint16_t *bits;
	size_t count;
};

struct selection {
	const struct filter *filter;
	struct matches stacks, types, threads, processes; /* threads also by their process */
	const char *machine;                              /* whose system calls; NULL: this one's */
	char machine_name[32];
};

_Static_assert(FILTER_TERMS_MAX <= 16, "a term has a bit");

/* After the first pass: 0 or -ENOMEM. selection_free() in any case. */
int selection_resolve(struct selection *selection, const struct filter *filter,
		      const struct world *world, const struct heap_sites *heap);
void selection_free(struct selection *selection);

/* Is this event (alloc, cpu, fault, syscall, wait, gc_begin, gc_end) selected? Others are. */
bool selection_admits(const struct selection *selection, const struct world *world,
		      const struct event *event);

/* Is all that the thread did selected, because nothing but threads and processes is asked for? */
bool selection_admits_thread(const struct selection *selection, uint64_t thread);

enum selection_verdict { SELECTION_NONE, SELECTION_SOME, SELECTION_ALL };

/* Of calls of this number (bit 31: of the 32-bit table) in this process: some, where it depends on
 * the single call. */
enum selection_verdict selection_of_calls(const struct selection *selection, uint64_t process,
					  uint64_t number);

/* There are terms about time, and they select something of that span; ns since the start. */
bool selection_has_time(const struct filter *filter, uint64_t from, uint64_t to);

/* How much time the terms about time leave of a recording so long. */
uint64_t selection_time(const struct filter *filter, uint64_t duration);

#endif
