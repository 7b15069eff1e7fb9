/* SPDX-License-Identifier: BSD-2-Clause */
/* runtimes.h: runtimes recorded without gcprof's probes, and providers of probes. */
#ifndef GCPROF_MODEL_RUNTIMES_H
#define GCPROF_MODEL_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>

#include "../../../bpf/events.h"
#include "../../profile/record.h"

struct id_map;
struct model;
struct model_runtime;
struct tasks;
struct tree;

/* The shortest period of a provider's samples. */
struct provider_period {
	uint64_t process, place;    /* place: the provider's number in its process, minus 1 */
	uint64_t shortest, longest; /* periods of its samples */
	bool named;                 /* there is a row of this provider */
};

struct runtimes {
	struct model_runtime *rows;
	size_t count, capacity;
	struct provider_period *periods;
	size_t n_periods, periods_capacity, last; /* last: of the latest sample */
	struct id_map *index;                     /* {process, place + 1} -> number, from 1 */
};

void runtimes_free(struct runtimes *runtimes);

/* 0, -EBADMSG, -ENOMEM. */
int runtimes_record(struct runtimes *runtimes, const struct tasks *tasks, const struct tree *tree,
		    const struct record_runtime *record);

/* A sample of the process with this id and period. 0 or -ENOMEM. */
int runtimes_sampled(struct runtimes *runtimes, uint64_t process, uint64_t sample, uint64_t period);

/* Prints "type 1", or "type 1 of provider 2": something that has no name but a number. */
void runtimes_unnamed(const char *what, uint64_t number, char *out, size_t size);

/* Kind of work that this function and all its callees do. */
enum work_kind runtimes_work(const struct runtimes *runtimes, const char *function);

/* Part of a collector's work that this function and its callees do, up to those of other parts. */
enum gc_part runtimes_part(const struct runtimes *runtimes, const char *function);

/* Fills the model's rows. 0 or -ENOMEM. */
int runtimes_finish(const struct runtimes *runtimes, const struct tasks *tasks,
		    struct model *model);

#endif
