/* SPDX-License-Identifier: BSD-2-Clause */
/* charging.h: the fitted cost of minor collections, and live bytes. README.md has the method. */
#ifndef GCPROF_CHARGING_H
#define GCPROF_CHARGING_H

#include <stdint.h>

/* State of a process. All zero at first. */
struct charging {
	double n, x, y, xx, xy; /* sums over minor collections: x promoted bytes, y pause */
	double carried_ns;      /* pauses of cycles without samples */
	double carried_bytes;   /* promoted in them */
	uint32_t carried;       /* number of these cycles */
	uint32_t first_pending; /* first sample of the current cycle; 0: none */
	double live_bytes;      /* of old sampled objects */
	uint64_t live_count;
	/* Live objects that are no longer followed on purpose are represented by the others: the
	 * logarithm of the factor by which what was old at the beginning would count now. */
	double share;
	double level; /* ns of major collections per live byte, summed over all their pauses */
};

/* Adds `n` minor collections, more than 0, with these totals, as if all had been alike. */
void charging_observe(struct charging *charging, double n, double promoted_bytes, double pause_ns);

/* The fitted a and b, neither below 0. If x does not vary, everything is a. */
void charging_fit(const struct charging *charging, double *fixed_ns, double *ns_per_byte);

#endif
