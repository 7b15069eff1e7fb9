/* SPDX-License-Identifier: BSD-2-Clause */
/* type_table.h: sums over the samples of each type. */
#ifndef GCPROF_TYPE_TABLE_H
#define GCPROF_TYPE_TABLE_H

#include "../../profile/record.h"
#include "../model.h"
#include "estimate.h"
#include "life.h"

struct map;
struct tasks;

struct type {
	const char *name; /* NULL: not known yet */
	uint64_t number;
	uint32_t process;
	uint32_t first; /* index of the first type with the same name; 0: not looked up yet */
	uint64_t samples, fates;
	struct tally bytes;
	struct object_tally objects;
	struct share survived;
	struct life life;
	double live_bytes;
	double gc_ns;
};

/*
 * TYPE_UNSELECTED takes the charges of samples that a filter excludes. It has no samples itself.
 * Indexes are the same in every pass.
 */
enum { TYPE_UNSELECTED = 1, TYPE_CACHE = 1024 };

struct types {
	struct type *items; /* item 0 is none, 1 is TYPE_UNSELECTED */
	size_t count, capacity;
	struct map *index;          /* {process, type} -> index of the latest name */
	struct map *names;          /* name -> index of the first type with it */
	uint32_t cache[TYPE_CACHE]; /* indexes by low bits of process and type; 0: none */
};

int type_table_init(struct types *types);
void type_table_free(struct types *types);

/* Index of a type, created if needed; -ENOMEM, -EBADMSG for an impossible process. */
int64_t type_table_number(struct types *types, uint64_t process, uint64_t type);

/*
 * Names a type. A different name for the same number makes a new type: the process executed a new
 * program.
 */
int type_table_name(struct types *types, uint64_t process, uint64_t type, const char *name);

/* Index of the first type, of any process, with the name that this one has by now; -ENOMEM. */
int64_t type_table_first(struct types *types, const struct tasks *tasks, uint32_t type);

/* Fills model->types, one row per name, largest first. Missing names come from ancestors. */
int type_table_finish(struct types *types, const struct tasks *tasks, struct model *model);

#endif
