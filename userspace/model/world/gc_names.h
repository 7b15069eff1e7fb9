/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_names.h: what runtimes call the kinds and reasons of their pauses, and how much each had. */
#ifndef GCPROF_GC_NAMES_H
#define GCPROF_GC_NAMES_H

#include "../../profile/record.h"
#include "durations.h"

struct map;
struct long_pause;
struct model;

/* A name as one process numbers it. */
struct gc_name {
	uint64_t process, number;
	const char *text;         /* NULL: not announced */
	uint64_t kind;            /* of the pauses that bear it, as gc_begin has it */
	struct durations *pauses; /* that bear it; NULL: none */
	uint64_t count, ns;       /* pauses for this reason */
};

struct gc_names {
	struct gc_name *items;
	size_t count, capacity;
	struct map *index; /* {process, number} -> place in items */
};

int gc_names_init(struct gc_names *names); /* 0 or -ENOMEM; zeroed before */
void gc_names_free(struct gc_names *names);

/* A later text for the same number does not count. 0, -EBADMSG, -ENOMEM. */
int gc_names_define(struct gc_names *names, const struct record_gc_name *record, const char *text);

/* The text, NULL: there is none so far. */
const char *gc_names_text(const struct gc_names *names, uint64_t process, uint64_t number);

/* A pause that ended, under its name and its reason where these are names. 0 or -ENOMEM. */
int gc_names_pause(struct gc_names *names, const struct long_pause *pause, uint64_t ns);

/* Rows into the model: by text, those of all processes together. 0 or -ENOMEM. */
int gc_names_finish(struct gc_names *names, struct model *model);

#endif
