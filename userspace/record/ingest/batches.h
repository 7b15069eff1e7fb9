/* SPDX-License-Identifier: BSD-2-Clause */
/* batches.h: splits batches of samples. */
#ifndef GCPROF_BATCHES_H
#define GCPROF_BATCHES_H

#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"

/* Receives one sample, or first the batch's stacks, as an event with its own time. */
typedef void batches_visit(void *context, const struct event_header *event, size_t size);

/* Counts of faulty samples; added to. */
struct batches_faults {
	uint64_t refused;  /* refused: a number was out of range */
	uint64_t misdated; /* with an impossible time; they get the batch's */
};

/*
 * Delivers the samples of a batch of `size` bytes in order. The program wrote them, so nothing is
 * trusted: -EBADMSG if there are fewer than it says. Leaves out samples from before the recording
 * `began` (ns), which the program kept for another recorder, but reports their stacks.
 */
int batches_split(const struct event_samples *batch, size_t size, uint64_t began,
		  struct batches_faults *faults, batches_visit *visit, void *context);

#endif
