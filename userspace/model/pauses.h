/* SPDX-License-Identifier: BSD-2-Clause */
/* pauses.h: the longest pauses: what they copied or walked, and what lay in them. */
#ifndef GCPROF_PAUSES_H
#define GCPROF_PAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../profile/record.h"
#include "rows.h"

struct causes;
struct pass;
struct sample;

/* A system call or a wait of a thread, part of which lay in a pause. */
struct guest {
	uint64_t thread;
	uint64_t begin, duration, overlap_ns;
	bool is_call;    /* else a wait outside of calls, for this reason */
	uint64_t number; /* as struct syscall_call has it, and what follows */
	uint64_t args[3];
	int64_t result;
	bool unfinished;
	const char *path;
	uint64_t reason;
};

/* All that lay in a pause as far as records told. */
struct guests {
	struct guest longest[PAUSE_CALLS]; /* parts in the pause */
	size_t n_longest;
	struct guest own;      /* longest call of the collecting thread, if there is any */
	struct guest own_wait; /* its longest wait, in a call or not */
	struct pause_sums sums;
	uint64_t cpu_ns, own_cpu_ns;
};

/* A collection, under way or over. */
struct long_pause {
	uint64_t process, thread, heap, cycle, kind, reason, name;
	uint64_t begin, end; /* end: UINT64_MAX while it is under way */
	uint64_t pause_ns;   /* without the collections inside it */
	struct record_gc_end figures;
	bool walked;           /* what was old already pays for it */
	double level;          /* of its process then: see struct charging */
	struct causes *causes; /* of one that is over */
	struct guests guests;
};

struct pauses {
	struct long_pause longest[LONG_PAUSES]; /* longest first */
	size_t n_longest;
	uint64_t latest_end; /* of these */
	bool failed;         /* there was no memory for a cause */
};

void pauses_free(struct pauses *pauses);

/* A collection ends, before its samples are charged; one of 0 ns is left out. 0 or -ENOMEM. */
int pauses_end(struct pass *pass, const struct record_gc_end *record,
	       const struct long_pause *ended, uint64_t pause_ns);

/* What may lie in a pause. Threads must be known. */
void pauses_cpu(struct pass *pass, const struct record_cpu *record);
void pauses_call(struct pass *pass, const struct record_syscall *record);
void pauses_wait(struct pass *pass, const struct record_wait *record);
void pauses_window(struct pass *pass, const struct record_call_window *record);

/* An object that was old is so no longer, or the profile is over: it was walked in these pauses. */
void pauses_old(struct pass *pass, const struct sample *sample);

/* Rows into model->pauses, once functions and types have names. 0 or -ENOMEM. */
int pauses_finish(struct pass *pass);

#endif
