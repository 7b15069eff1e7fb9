/* SPDX-License-Identifier: BSD-2-Clause */
/* samples.h: sampled objects, from allocation to death. */
#ifndef GCPROF_SAMPLES_H
#define GCPROF_SAMPLES_H

#include <stdbool.h>

#include "../event.h"
#include "../world/collection.h"
#include "../world/estimate.h"
#include "attribute.h"
#include "old.h"
#include "sample.h"

struct id_map;
struct pauses;
struct world;

struct samples {
	struct world *world;
	struct old old;
	struct sample *items; /* number 0 is none */
	size_t count, capacity;
	uint32_t free;
	struct id_map *index; /* {process, sample id} -> number */
	struct charge_queue queue;
	struct tally bytes;
	struct object_tally objects;
	double unfreed;                  /* live bytes of manual objects */
	uint64_t last_size, last_period; /* cache: of the latest sample, */
	double last_probability;         /* since the next one is often alike */
};

/* `world` and `pauses` are borrowed. */
int samples_init(struct samples *samples, struct world *world, struct pauses *pauses);
void samples_free(struct samples *samples);

int samples_alloc(struct samples *samples, const struct event *event);
int samples_fate(struct samples *samples, const struct record_fate *record);

/* Charges a collection. A minor one ends the cycle of the samples before it. */
int samples_collected(struct samples *samples, const struct collection *collection);

/*
 * A cycle of a concurrent collector is over. Without a nursery, nothing else ends the cycle of
 * the samples before it.
 */
void samples_cycle_over(struct samples *samples, uint64_t process);

/* Adds the process's samples since its last minor collection to `causes`. 0 or -ENOMEM. */
int samples_pending(const struct samples *samples, uint64_t process, struct causes *causes);

/* Settles pending charges. Pauses without samples go to model->gc.no_samples_ns. */
int samples_finish(struct samples *samples);

#endif
