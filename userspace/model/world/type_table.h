/* SPDX-License-Identifier: BSD-2-Clause */
/* type_table.h: what the samples of each type add up to. */
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
	uint64_t samples, fates;
	struct tally bytes;
	struct object_tally objects;
	struct share survived;
	struct life life;
	double live_bytes;
	double gc_ns;
};

/* The trash has no samples: it takes what is not selected. Numbers are alike in every pass. */
enum { TYPE_TRASH = 1, TYPE_CACHE = 1024 };

struct types {
	struct type *items; /* number 0 is none, 1 the trash */
	size_t count, capacity;
	struct map *index;          /* {process, type} -> number of the latest of that name */
	uint32_t trash;             /* number of the type of what is not selected; 0: none yet */
	uint32_t cache[TYPE_CACHE]; /* numbers by a few bits of process and type; 0: none */
};

int type_table_init(struct types *types);
void type_table_free(struct types *types);

/* Number of a type, made if need be; -ENOMEM, -EBADMSG for an impossible process. */
int64_t type_table_number(struct types *types, uint64_t process, uint64_t type);

/* A type's name. Another name for the same number is another type: a new program was executed. */
int type_table_name(struct types *types, uint64_t process, uint64_t type, const char *name);

/* One row a name, largest first, into model->types; names come from ancestors where needed. */
int type_table_finish(struct types *types, const struct tasks *tasks, struct model *model);

#endif
