/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_names.h: the runtimes' own names for kinds and reasons of pauses, with counts; and for areas.
 */
#ifndef GCPROF_GC_NAMES_H
#define GCPROF_GC_NAMES_H

#include "../../profile/record.h"
#include "durations.h"

struct map;
struct long_pause;
struct model;

/* A name with its number in one process. */
struct gc_name {
	uint64_t process, number;
	const char *text;         /* NULL: not announced */
	uint64_t kind;            /* of the pauses with this name, as in gc_begin */
	struct durations *pauses; /* with this name; NULL: none */
	uint64_t count, ns;       /* pauses with this reason */
};

struct gc_names {
	struct gc_name *items;
	size_t count, capacity;
	struct map *index; /* {process, number} -> index */
};

int gc_names_init(struct gc_names *names); /* 0 or -ENOMEM; *names must be zero */
void gc_names_free(struct gc_names *names);

/* A later text for the same number is ignored. 0, -EBADMSG, -ENOMEM. */
int gc_names_define(struct gc_names *names, const struct record_gc_name *record, const char *text);

/* NULL: not defined so far. */
const char *gc_names_text(const struct gc_names *names, uint64_t process, uint64_t number);

/* Counts an ended pause under its name and reason, if the runtime defined these. 0 or -ENOMEM. */
int gc_names_pause(struct gc_names *names, const struct long_pause *pause, uint64_t ns);

/* Counts collections under a reason that the program defined. 0 or -ENOMEM. */
int gc_names_reason(struct gc_names *names, uint64_t process, uint64_t reason, uint64_t count,
		    uint64_t ns);

/* Fills the model's rows: by text, over all processes. 0 or -ENOMEM. */
int gc_names_finish(struct gc_names *names, struct model *model);

#endif
