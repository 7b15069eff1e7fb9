/* SPDX-License-Identifier: BSD-2-Clause */
/* pass.h: the one pass over a profile's records. */
#ifndef GCPROF_PASS_H
#define GCPROF_PASS_H

#include "event.h"
#include "findings/own_places.h"
#include "gc/cycles.h"
#include "gc/heap_sites.h"
#include "gc/pauses.h"
#include "gc/samples.h"
#include "system/run.h"
#include "system/syscalls.h"
#include "system/waits.h"
#include "time/thread_time.h"
#include "world/fibers.h"
#include "world/world.h"

struct selection;

struct pass {
	struct world world;
	struct samples samples;
	struct cycles cycles;
	struct gc_cycles gc_cycles;
	struct areas areas;
	struct pauses pauses;
	struct fibers fibers;
	struct heap_sites heap_sites;
	struct syscalls syscalls;
	struct waits waits;
	struct wakers wakers;
	struct own_places places;
	struct run run;
	struct thread_time time;
	const struct selection *selection; /* NULL: everything */
	bool recording;         /* count the recorder's own overhead as the program's time */
	struct record executed; /* the current record with a path, see with_path() */
	struct event event;     /* the current record */
};

/*
 * 0 or -ENOMEM; call pass_free() in any case. `model` and `selection` (NULL: everything) are
 * borrowed.
 */
int pass_init(struct pass *pass, struct model *model, const struct selection *selection);
void pass_free(struct pass *pass);

enum { PASS_LEFT_OUT = 1 };

/*
 * Processes one record and sets pass->event. Returns 0; PASS_LEFT_OUT if observers do not get it:
 * the recorder's own overhead, of which only the time counts, or part of a thread's usage; -EBADMSG
 * if it contradicts earlier records and is ignored; -ENOMEM.
 */
int pass_record(struct pass *pass, const struct record *record);

/* The same for a thread that goes on beyond the profile: `record` is a usage record, to be added to
 * those that the profile has. */
int pass_end_thread(struct pass *pass, const struct record *record);

/* Call after the last record: settles charges, names functions and fills the model's tables. */
int pass_finish(struct pass *pass);

#endif
