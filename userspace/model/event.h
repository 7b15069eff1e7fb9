/* SPDX-License-Identifier: BSD-2-Clause */
/* event.h: a record joined with what was known when it came. */
#ifndef GCPROF_MODEL_EVENT_H
#define GCPROF_MODEL_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "../profile/record.h"

/* What a gc_end closed. */
struct closed_gc {
	bool paired;     /* the begin is known, and so is all of this */
	uint64_t thread; /* that began it */
	uint64_t begin;
	uint64_t pause_ns; /* without the collections inside it */
	uint64_t reason, name;
};

struct event {
	const struct record *record;
	bool selected;    /* by the filter; without one all are */
	uint64_t type;    /* of a sample: number in the table of types, 0: none */
	uint64_t gc_kind; /* of the collection that its thread was in; 0: none */
	uint64_t gc_begin;
	struct closed_gc closed; /* of a gc_end */
};

#endif
