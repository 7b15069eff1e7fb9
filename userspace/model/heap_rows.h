/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_rows.h: rows of a model's tables about heaps: cycles, areas, live memory; part of rows.h. */
#ifndef GCPROF_HEAP_ROWS_H
#define GCPROF_HEAP_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "world/estimate.h"

/* A cycle of a concurrent collector, including its pauses. Figures of 0 are unknown. */
struct model_gc_cycle {
	uint64_t start; /* CLOCK_MONOTONIC */
	uint64_t duration_ns;
	uint64_t process, pid;
	uint64_t heap, cycle;
	uint64_t name_number, reason;    /* as in the record */
	const char *name, *named_reason; /* NULL: none */
	uint64_t heap_before, heap_after, live;
	uint64_t pauses, pause_ns; /* of its heap, that began in it and in no later one */
	bool unfinished;           /* cut off by the end of the recording */
};

/* A named area of a process's heap, such as a generation. Sizes are in bytes. */
struct model_heap_area {
	const char *name; /* NULL: unknown */
	uint64_t process, pid;
	uint64_t number, name_number; /* in order of their first records; as in the record */
	bool beside;                  /* not part of the heap, nor of its sums */
	uint64_t collections;         /* pauses and cycles with a record of it */
	uint64_t peak;                /* greatest use before or after one of them */
	uint64_t used, size;          /* after the last; size: used or not */
	uint64_t limit;               /* greatest possible size; 0: none */
	/* Sums over those pauses that report it before and after: bytes by which its use fell or
	 * rose. */
	uint64_t pauses, left, came;
};

/* Live memory by allocating function, from the runtime's own heap profile. */
struct model_heap_row {
	const char *name;   /* "(none)": no function */
	const char *module; /* as in struct model_function */
	double objects, bytes;
	struct tally live; /* bytes with their variance */
	double before;     /* bytes at the time the recorder attached to a running program */
};

#endif
