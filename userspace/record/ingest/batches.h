/* SPDX-License-Identifier: BSD-2-Clause */
/* batches.h: takes batches of samples apart. */
#ifndef GCPROF_BATCHES_H
#define GCPROF_BATCHES_H

#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"

/* Receives one sample of a batch, or before all samples its stacks, as an event with its own time.
 */
typedef void batches_visit(void *context, const struct event_header *event, size_t size);

/* What was wrong with samples; added to. */
struct batches_faults {
	uint64_t refused;  /* samples: a number was out of range */
	uint64_t misdated; /* samples whose time cannot be; they have the batch's */
};

/*
 * Hands on the samples of a batch of `size` bytes in their order. The program
 * wrote them, so nothing is trusted: -EBADMSG if there are not as many as it says.
 * Samples from before the recording `began` (ns), which the program kept for
 * another recorder, are left out; their stacks are reported.
 */
int batches_split(const struct event_samples *batch, size_t size, uint64_t began,
		  struct batches_faults *faults, batches_visit *visit, void *context);

#endif
