/* SPDX-License-Identifier: BSD-2-Clause */
/* arrival.h: attaches to the probes of mapped files, and reports the recorder to who ran before. */
#ifndef GCPROF_ARRIVAL_H
#define GCPROF_ARRIVAL_H

#include "../world/files.h"
#include "../world/processes.h"
#include "../store/counters.h"
#include "../opener/opener.h"
#include "../kernel/session.h"
#include "../unwind/unwinder.h"
#include "../../util/problem.h"
#include "flow.h"

/* Everything is borrowed. */
struct arrival {
	struct session *session;
	struct opener *opener;
	struct counters *counters;
	struct processes *processes;
	struct unwinder *unwinder;
	struct switches *switches;
	struct heap_profiles *heaps;
	struct flow *flow; /* NULL: not there yet */
	bool attached;     /* a file was attached; reset it */
	bool trouble;      /* one could not be: `problem` says why; reset it */
	struct problem problem;
};

/* A file was mapped by a process: a files_mapped, with a struct arrival as context. */
void arrival_mapped(void *context, struct file *file, const struct event_mmap *event);

#endif
