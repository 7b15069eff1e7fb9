/* SPDX-License-Identifier: BSD-2-Clause */
/* charging.h: what a minor collection costs, fitted; what is live. README.md has the method. */
#ifndef GCPROF_CHARGING_H
#define GCPROF_CHARGING_H

#include <stdint.h>

/* Of a process: the fit, and what is live. All zero at first. */
struct charging {
	double n, x, y, xx, xy; /* sums over minor collections: x promoted bytes, y pause */
	double carried_ns;      /* pauses of cycles without samples */
	double carried_bytes;   /* promoted in them */
	uint32_t carried;       /* how many */
	uint32_t first_pending; /* live sample of the current cycle, number; 0: none */
	double live_bytes;      /* of old sampled objects */
	uint64_t live_count;
	double level; /* major collection ns per live byte, summed over all such pauses */
};

/* `n` minor collections, more than 0, that promoted so much and took so long together: as if each
 * had done alike. */
void charging_observe(struct charging *charging, double n, double promoted_bytes, double pause_ns);

/* The fitted a and b, neither below 0. Without variation in x all of it is a. */
void charging_fit(const struct charging *charging, double *fixed_ns, double *ns_per_byte);

#endif
