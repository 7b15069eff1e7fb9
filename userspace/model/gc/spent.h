/* SPDX-License-Identifier: BSD-2-Clause */
/* spent.h: the CPU time of collectors, by process and part, from timer samples. */
/*
 * Functions get their names after the samples that they are in, so samples that may be a
 * collector's wait here by thread and stack. Only processes with a runtime whose collector's
 * functions are known have such samples outside of pauses. A filter changes nothing: what
 * collections cost is split over all objects. Not thread-safe.
 */
#ifndef GCPROF_SPENT_H
#define GCPROF_SPENT_H

#include <stddef.h>
#include <stdint.h>

#include "../world/charging.h"

struct map;
struct model_gc;
struct process;
struct record_cpu;
struct record_gc_summary;
struct world;

struct spent_key {
	uint64_t stack;
	uint32_t thread;
	uint16_t kind; /* of the pause that the thread was in; 0: none */
	uint16_t mode; /* enum time_part: of the thread's time, by its mode */
};

/* Timer samples with one key. */
struct spent_cost {
	struct spent_key key;
	uint64_t samples, ns;
};

struct spent {
	struct spent_cost *items;
	size_t count, capacity;
	struct map *index; /* key -> number, from 1; NULL: none yet */
};

void spent_free(struct spent *spent);

/* Adds a timer sample of a thread in a pause of this kind; 0: in none. 0 or -ENOMEM. */
int spent_cpu(struct spent *spent, struct world *world, uint64_t kind,
	      const struct record_cpu *record);

/* Pauses that are known only as sums, in which the thread was on a CPU. */
void spent_summary(struct process *process, const struct record_gc_summary *record);

/* Sums up for each process, and in model->gc and model->cpu. Call when all names are known. 0 or
 * -ENOMEM. */
int spent_finish(const struct spent *spent, struct world *world);

/*
 * The share of copying in the CPU time of a process's young collections, from 0 to 1. It begins at
 * a half, which counts as much as 50 samples. Negative: no function of these parts is known.
 */
struct copying spent_copying(const struct process *process);

#endif
