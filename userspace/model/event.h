/* SPDX-License-Identifier: BSD-2-Clause */
/* event.h: a record, joined with the state of the model when the record was read. */
#ifndef GCPROF_MODEL_EVENT_H
#define GCPROF_MODEL_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "../profile/record.h"

/* The collection that a gc_end record ends. */
struct closed_gc {
	bool paired;     /* its begin is known; if false, the other fields are not set */
	uint64_t thread; /* that began it */
	uint64_t begin;
	uint64_t pause_ns; /* excludes nested collections */
	uint64_t reason, name;
};

struct event {
	const struct record *record;
	bool selected;    /* by the filter; always true without one */
	uint64_t type;    /* samples: index in the type table, 0: none */
	uint64_t gc_kind; /* collection that the thread was in; 0: none */
	uint64_t gc_begin;
	struct closed_gc closed; /* of a gc_end, or of the one that a heap_area belongs to */
	uint64_t gc_cycle;       /* heap_area only: 1 + index of its cycle in the model; 0: none */
};

#endif
