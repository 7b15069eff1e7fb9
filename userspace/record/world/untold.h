/* SPDX-License-Identifier: BSD-2-Clause */
/* untold.h: processes whose begin no record tells, because it was lost: met by what else they do.
 */
#ifndef GCPROF_UNTOLD_H
#define GCPROF_UNTOLD_H

#include <stdint.h>

#include "../../../bpf/events.h"

struct untold; /* not thread-safe */

int untold_create(struct untold **out);
void untold_free(struct untold *untold); /* NULL is allowed */

/* An event from a ring: the first of its process, perhaps. 0 or -ENOMEM. */
int untold_met(struct untold *untold, const struct event_header *event);

/* A process, with the pid and the time (CLOCK_MONOTONIC ns) of its earliest event. */
typedef void untold_visit(void *context, uint32_t process, uint32_t pid, uint64_t time);

/*
 * Visits each process once, when it has an event from before `until`. If all rings were
 * emptied since then, and its begin was not in them, then that record was lost.
 */
void untold_judge(struct untold *untold, uint64_t until, untold_visit *visit, void *context);

#endif
