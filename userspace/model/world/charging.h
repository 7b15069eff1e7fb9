/* SPDX-License-Identifier: BSD-2-Clause */
/* charging.h: the estimated cost of minor collections, and live bytes. README.md has the method. */
#ifndef GCPROF_CHARGING_H
#define GCPROF_CHARGING_H

#include <stdint.h>

/* State of a process. All zero at first. */
struct charging {
	double n, x, y, xx, xy, yy; /* sums over minor collections: x promoted bytes, y pause */
	uint32_t observed;          /* times that something was added to these */
	double shortest_ns;         /* pause, if observed */
	double carried_ns;          /* pauses of cycles without samples */
	double carried_bytes;       /* promoted in them */
	uint32_t carried;           /* number of these cycles */
	uint32_t first_pending;     /* first sample of the current cycle; 0: none */
	uint64_t first_charge;      /* that of the last cycle */
	double live_bytes;          /* of old sampled objects */
	uint64_t live_count;
	/* Live objects that are no longer followed on purpose are represented by the others: the
	 * logarithm of the factor by which what was old at the beginning would count now. */
	double share;
	double level; /* ns of major collections per live byte, summed over all their pauses */
};

struct minor_cost {
	double fixed_ns, ns_per_byte; /* of a collection; of a promoted byte. Neither below 0 */
};

/* Adds `n` minor collections, more than 0, with these totals, as if all had been alike. */
void charging_observe(struct charging *charging, double n, double promoted_bytes, double pause_ns);

/*
 * The cost of the process's minor collections. `copying` is the share of copying by the stacks of
 * the collector's threads; negative: unknown.
 */
struct minor_cost charging_cost(const struct charging *charging, double copying);

#endif
