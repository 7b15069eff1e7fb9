/* SPDX-License-Identifier: BSD-2-Clause */
/* runtimes.h: runtimes recorded without gcprof's probes, and providers of probes. */
#ifndef GCPROF_MODEL_RUNTIMES_H
#define GCPROF_MODEL_RUNTIMES_H

#include <stddef.h>

#include "../../profile/record.h"

struct model;
struct model_runtime;
struct tasks;
struct tree;

struct runtimes {
	struct model_runtime *rows;
	size_t count, capacity;
};

void runtimes_free(struct runtimes *runtimes);

/* 0, -EBADMSG, -ENOMEM. */
int runtimes_record(struct runtimes *runtimes, const struct tasks *tasks, const struct tree *tree,
		    const struct record_runtime *record);

/* Kind of work that this function and all its callees do. */
enum work_kind runtimes_work(const struct runtimes *runtimes, const char *function);

/* Fills the model's rows. 0 or -ENOMEM. */
int runtimes_finish(const struct runtimes *runtimes, const struct tasks *tasks,
		    struct model *model);

#endif
