/* SPDX-License-Identifier: BSD-2-Clause */
/* collections.h: takes batches of collections apart. */
#ifndef GCPROF_COLLECTIONS_H
#define GCPROF_COLLECTIONS_H

#include "batches.h"

/* What was wrong; added to. */
struct collections_faults {
	uint64_t collections; /* refused: a number was out of range, or a time cannot be */
	uint64_t fates;       /* refused: of no collection, or of one that was refused */
};

/*
 * Hands on the fates of a batch of `size` bytes, each at the end of its collection, and
 * the collections themselves as one batch without fates at the begin of the first.
 * If there is something wrong with any of them, or the first began before `from`, they
 * are handed on one by one: begins, fates and ends in their order, each at its own time,
 * as if probes had told them. Those that began before the recording `began` (ns) are left
 * out: the program kept them for another recorder. It wrote them, so nothing is trusted:
 * -EBADMSG if there are not as many as it says.
 */
int collections_split(const struct event_collections *batch, size_t size, uint64_t began,
		      uint64_t from, struct collections_faults *faults, batches_visit *visit,
		      void *context);

#endif
