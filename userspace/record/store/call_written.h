/* SPDX-License-Identifier: BSD-2-Clause */
/* call_written.h: what a profile has of the totals of a call, to write only what was added since.
 */
#ifndef GCPROF_CALL_WRITTEN_H
#define GCPROF_CALL_WRITTEN_H

#include <stdbool.h>

#include "../../../bpf/events.h"

/* Totals, in a fraction of their size: most buckets of a histogram are empty. */
struct call_written;

/* A copy of the totals, for free(); NULL: no memory. */
struct call_written *call_written_of(const struct syscall_total *total);

/*
 * Subtracts what is written (NULL: nothing) from the totals. A longest call or wait (ns) that is
 * not longer than before is then 0 for waits, and for calls the lower bound of the highest bucket
 * with new ones. False: there is nothing new.
 */
bool call_written_subtract(const struct call_written *written, struct syscall_total *total);

#endif
