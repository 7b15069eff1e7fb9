/* SPDX-License-Identifier: BSD-2-Clause */
/* samples.h: sampled objects, from allocation to death. */
#ifndef GCPROF_SAMPLES_H
#define GCPROF_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "../event.h"
#include "../world/collection.h"
#include "../world/estimate.h"
#include "attribute.h"
#include "sample.h"

/* Not thread-safe. The objects belong to the caller. */

struct life;
struct pauses;
struct world;

struct old {
	struct world *world; /* borrowed, as is the next */
	struct pauses *pauses;
};

/* Lives are kept by stack and by type. A sample has had both since its allocation. */
uint32_t old_life_of_stack(const struct old *of, const struct sample *sample);
struct life *old_life_of_type(const struct old *of, const struct sample *sample);

/* The object is old from now on, if it was not before. -ENOMEM. */
int old_begin(struct old *of, struct sample *sample);

/* It has died, or was freed. */
void old_end(struct old *of, struct sample *sample);

/* Nothing more is known of it. If it was left out on purpose (`replaced`), the other old objects of
 * its process stand for it from now on. */
void old_lose(struct old *of, struct sample *sample, bool replaced);

/* It is alive at the end: adds it to `live`, and to its site and type. */
void old_finish(struct old *of, const struct sample *sample, struct tally *live);

struct id_map;

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
 * Charges a cycle of a concurrent collector to live objects; without a nursery also to the samples
 * before it, whose cycle nothing else ends.
 */
int samples_cycle_over(struct samples *samples, const struct record_gc_cycle *record);

/* Adds the process's samples since its last minor collection to `causes`. 0 or -ENOMEM. */
int samples_pending(const struct samples *samples, uint64_t process, struct causes *causes);

/* Settles pending charges. */
int samples_finish(struct samples *samples);

/*
 * Collections take as long as there are objects to look at, whatever their size. Minor ones look at
 * those that are new and not yet freed, full ones at all that are alive. What a type says of them
 * is known at the end: charges_finish() forgets those without references. The objects belong to the
 * caller.
 */

struct charge;
struct charging;

/* A new object. True if it waits for a collection. */
bool tracked_alloc(const struct world *world, struct sample *sample);

/* Its charge in the minor collection that ends; false: it was freed before. */
bool tracked_charge(struct world *world, struct sample *sample, struct charge *charge);

/* How many objects that live on cost a collection as much as to find this garbage. */
double tracked_garbage(const struct sample *sample);

/* It was freed, in a collection or not, or the profile ends. True: a full collection, which has not
 * been charged yet, found it to be garbage. */
bool tracked_end(struct world *world, struct sample *sample);

/* Charges a full collection to what is alive after it. */
void tracked_full(struct charging *charging, double ns);

#endif
