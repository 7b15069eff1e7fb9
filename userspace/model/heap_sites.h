/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_sites.h: what is alive by the heap profiles that runtimes keep themselves. */
#ifndef GCPROF_HEAP_SITES_H
#define GCPROF_HEAP_SITES_H

#include <stddef.h>
#include <stdint.h>

#include "../profile/record.h"

struct heap_site;
struct pass;

struct heap_sites {
	struct heap_site *items;
	size_t count, capacity;
};

/* What of sampled objects of these bytes together is estimated from them. */
struct heap_estimate {
	double objects, bytes;
};

struct heap_estimate heap_sites_estimate(uint64_t objects, uint64_t bytes, uint64_t rate);

void heap_sites_free(struct heap_sites *sites);

/* 0, -EBADMSG or -ENOMEM. */
int heap_sites_record(struct pass *pass, const struct record_heap_site *record);

/* Rows into the model, once functions have names. 0 or -ENOMEM. */
int heap_sites_finish(struct pass *pass);

#endif
