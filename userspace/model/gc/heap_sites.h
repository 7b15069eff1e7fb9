/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_sites.h: what is alive by the heap profiles that runtimes keep themselves. */
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
	bool is_last;   /* of its process's last profile; set by heap_sites_finish() */
	struct heap_estimate live;
};

struct heap_sites {
	struct heap_site *items; /* by process, once heap_sites_finish() was called */
	size_t count, capacity;
};

void heap_sites_free(struct heap_sites *sites);

/* 0, -EBADMSG or -ENOMEM. */
int heap_sites_record(struct heap_sites *sites, const struct world *world,
		      const struct record_heap_site *record);

/* Rows into the model, once functions have names. 0 or -ENOMEM. */
int heap_sites_finish(struct heap_sites *sites, struct world *world);

/* Was a profile of this process read? Once heap_sites_finish() was called. */
bool heap_sites_has(const struct heap_sites *sites, uint64_t process);

#endif
