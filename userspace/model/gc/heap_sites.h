/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_sites.h: live objects, from the runtimes' own heap profiles. */
#ifndef GCPROF_HEAP_SITES_H
#define GCPROF_HEAP_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../profile/record.h"
#include "../world/estimate.h"

struct world;

struct heap_site {
	uint64_t process, time;
	uint32_t stack; /* 0: unknown */
	bool is_last;   /* belongs to the last profile of its process; set by heap_sites_finish() */
	struct heap_estimate live;
};

struct heap_sites {
	struct heap_site *items; /* sorted by process after heap_sites_finish() */
	size_t count, capacity;
};

void heap_sites_free(struct heap_sites *sites);

/* 0, -EBADMSG or -ENOMEM. */
int heap_sites_record(struct heap_sites *sites, const struct world *world,
		      const struct record_heap_site *record);

/* Fills the model's rows. Functions must have names. 0 or -ENOMEM. */
int heap_sites_finish(struct heap_sites *sites, struct world *world);

/* Does this process have a heap profile? Valid after heap_sites_finish(). */
bool heap_sites_has(const struct heap_sites *sites, uint64_t process);

#endif
