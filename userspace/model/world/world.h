/* SPDX-License-Identifier: BSD-2-Clause */
/* world.h: what events refer to: processes, threads, stacks, types, names; and sums by time. */
#ifndef GCPROF_MODEL_WORLD_H
#define GCPROF_MODEL_WORLD_H

#include "../model.h"
#include "function_table.h"
#include "gc_names.h"
#include "runtimes.h"
#include "streams.h"
#include "tasks.h"
#include "timeline.h"
#include "tree.h"
#include "type_table.h"

struct world {
	struct model *model; /* the rows, as far as they are known */
	struct tree tree;
	struct tasks tasks;
	struct types types;
	struct gc_names gc_names;
	struct runtimes runtimes;
	struct streams streams;
	struct timeline timeline;
	struct functions functions; /* filled after the last record */
	uint64_t last_time;         /* latest time of any record; 0: none */
	bool filtered;              /* a filter is in use */
	bool arguments;             /* system call arguments were recorded */
};

/* 0 or -ENOMEM; call model_world_free() in any case. `model` is borrowed. */
int model_world_init(struct world *world, struct model *model);
void model_world_free(struct world *world);

#endif
