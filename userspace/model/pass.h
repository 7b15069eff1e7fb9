/* SPDX-License-Identifier: BSD-2-Clause */
/* pass.h: the state of the one pass over a profile's records: for model/ and its observers. */
#ifndef GCPROF_PASS_H
#define GCPROF_PASS_H

#include "../util/buffer.h"
#include "attribute.h"
#include "cycles.h"
#include "fibers.h"
#include "functions.h"
#include "gc_cycles.h"
#include "gc_names.h"
#include "heap_sites.h"
#include "model.h"
#include "pauses.h"
#include "runtimes.h"
#include "samples.h"
#include "selection.h"
#include "tree.h"
#include "streams.h"
#include "syscalls.h"
#include "tasks.h"
#include "timeline.h"
#include "type_table.h"
#include "waits.h"
#include "wakers.h"

struct pass {
	struct model *model; /* what needs no further work goes there at once */
	struct tree tree;
	struct tasks tasks;
	struct types types;
	struct samples samples;
	struct cycles cycles;
	struct gc_names gc_names;
	struct gc_cycles gc_cycles;
	struct runtimes runtimes;
	struct fibers fibers;
	struct heap_sites heap_sites;
	struct syscalls syscalls;
	struct waits waits;
	struct wakers wakers;
	struct pauses pauses;
	struct streams streams;
	struct timeline timeline;
	const struct selection *selection;        /* NULL: everything */
	bool selected;                            /* the record at hand */
	bool recording;                           /* what recording took counts as the program's */
	uint64_t event_type;                      /* number of the type of the alloc at hand */
	struct functions functions;               /* once finished */
	uint64_t first_time, last_time;           /* of any record with a time */
	uint64_t chunk_time;                      /* when this chunk began */
	int64_t unsampled, unsampled_spread;      /* CPU time, ns, and what the timeline has */
	uint64_t clock_monotonic, clock_realtime; /* the first pair; 0: none */
	size_t command_capacity;
	struct buffer command_line;
};

int pass_init(struct pass *pass, struct model *model);
void pass_free(struct pass *pass);

enum { PASS_LEFT_OUT = 1 };

/* One record: 0, PASS_LEFT_OUT if only its time counts, as recording's own, -EBADMSG if it
 * contradicts earlier ones and is left out, -ENOMEM. */
int pass_record(struct pass *pass, const struct record *record);

/* Once the last record was seen: settles, names and sorts into the model. */
int pass_finish(struct pass *pass);

#endif
