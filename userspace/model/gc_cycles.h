/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_cycles.h: the cycles of concurrent collectors, and the pauses in each. */
#ifndef GCPROF_GC_CYCLES_H
#define GCPROF_GC_CYCLES_H

#include <stddef.h>

#include "../profile/record.h"
#include "durations.h"

struct model_gc_cycle;
struct pass;

struct gc_cycles {
	struct model_gc_cycle *rows;
	size_t count, capacity;
	struct durations durations; /* of those that are over */
};

void gc_cycles_free(struct gc_cycles *cycles);

/* 0, -EBADMSG, -ENOMEM. */
int gc_cycles_record(struct pass *pass, const struct record_gc_cycle *record);

/* Rows into the model, once all pauses are known. 0 or -ENOMEM. */
int gc_cycles_finish(struct pass *pass);

#endif
