/* SPDX-License-Identifier: BSD-2-Clause */
/* samples.h: sampled objects from their allocation until their death. */
#ifndef GCPROF_SAMPLES_H
#define GCPROF_SAMPLES_H

#include <stdbool.h>

#include "../profile/record.h"
#include "attribute.h"
#include "estimate.h"

struct causes;
struct id_map;
struct pass;

/* A sampled object that is still of interest. */
struct sample {
	uint64_t id;
	double bytes; /* that it stands for */
	double level; /* of its process, when it became old */
	float probability;
	uint32_t cost;
	uint32_t type;
	uint32_t process;  /* 0: this place is free */
	uint32_t thread;   /* that allocated it */
	uint32_t markings; /* of its process, when it became old */
	uint32_t next;     /* of the same cycle, or the next free place; 0: none */
	uint8_t pending;   /* its cycle has not ended */
	uint8_t fated;     /* its first fate is known */
	uint8_t promoted;  /* moved to the old generation at the end of its cycle */
	uint8_t dead;
	uint8_t foreign; /* outside of the collector's heap */
	uint8_t manual;  /* and alive until it is freed */
	uint8_t old;     /* counted in the live bytes of its process */
};

struct samples {
	struct sample *items; /* number 0 is none */
	size_t count, capacity;
	uint32_t free;
	struct id_map *index; /* {process, sample id} -> number */
	struct account account;
	struct tally bytes;
	struct object_tally objects;
	double unfreed;                  /* bytes of manual ones that are alive */
	uint64_t last_size, last_period; /* of the latest sample, */
	double last_probability;         /* as the next one is often alike */
};

/* A collection that ended, or several of which sums are known, for samples_collected(). */
struct collection {
	uint64_t process;
	uint64_t pause_ns; /* without the collections inside it */
	uint64_t count;    /* more than one: all figures are of them together */
	bool timed;        /* pause_ns is known: the begin was not lost */
	bool minor;
	bool has_stats;
	uint64_t promoted_bytes;
};

int samples_init(struct samples *samples);
void samples_free(struct samples *samples);

int samples_alloc(struct pass *pass, const struct record_alloc *record);
int samples_fate(struct pass *pass, const struct record_fate *record);

/* Charges a collection: a minor one ends the cycle of the samples before it. */
int samples_collected(struct pass *pass, const struct collection *collection);

/* A cycle of a concurrent collector is over: without a nursery nothing else ends the cycle of the
 * samples before it. */
void samples_cycle_over(struct pass *pass, uint64_t process);

/* Adds the samples since the last minor collection of a process. 0 or -ENOMEM. */
int samples_pending(const struct pass *pass, uint64_t process, struct causes *causes);

/* Settles what is open; pauses without samples go to model->gc.no_samples_ns. */
int samples_finish(struct pass *pass);

#endif
