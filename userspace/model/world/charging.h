/* SPDX-License-Identifier: BSD-2-Clause */
/* charging.h: the estimated cost of minor collections, and live bytes. README.md has the method. */
#ifndef GCPROF_CHARGING_H
#define GCPROF_CHARGING_H

#include <stdint.h>

#include "../../../bpf/events.h"

/* What a charge is for. */
enum charge_part {
	CHARGE_FIXED,  /* allocating, which makes collections come sooner */
	CHARGE_COPIED, /* being copied */
	CHARGE_KEPT,   /* being alive where collections look at all live objects */
	CHARGES
};

/* CPU time of a process's collector, by timer samples. */
struct gc_spent {
	double parts[GC_PARTS], samples[GC_PARTS]; /* where the function is in a list of a part */
	double kinds[GCPROF_GC_STOP + 1]; /* else by kind of pause; 0: in the collector's functions,
					     outside of pauses */
};

/* Where the program frees objects, too: what an object costs that a collection finds to be garbage,
 * which it also frees, compared with one that lives on. CPython 3.11: 1 to 4, for what is new and
 * in a cache is found faster than what has been alive for long. */
#define TRACKED_GARBAGE 2.0

/* State of a process. All zero at first. */
struct charging {
	double n, x, y, xx, xy, yy; /* sums over minor collections: x promoted bytes, y pause */
	uint32_t observed;          /* times that something was added to these */
	double shortest_ns;         /* pause, if observed */
	struct gc_spent spent;
	double charged[CHARGES];     /* sums of what is charged */
	double factors[CHARGES];     /* set by charges_finish(): CPU time of a unit of these */
	double carried_ns;           /* pauses of cycles without samples */
	double carried_bytes;        /* promoted in them */
	uint32_t carried;            /* number of these cycles */
	uint32_t first_pending;      /* first sample of the current cycle; 0: none */
	uint64_t first_charge;       /* that of the last cycle */
	double live_bytes;           /* of old sampled objects */
	double tracked;              /* objects alive of a program that frees them (gc/tracked.c) */
	double walked, fulls, alive; /* of such: that became old; full collections, and the sum of
					what was alive in each */
	uint64_t live_count;
	/* Live objects that are no longer followed on purpose are represented by the others: the
	 * logarithm of the factor by which what was old at the beginning would count now. */
	double share;
	double level; /* ns of major collections per live byte, summed over all their pauses */
};

struct minor_cost {
	double fixed_ns, ns_per_byte; /* of a collection; of a promoted byte. Neither below 0 */
	double worth;                 /* as many samples would tell the shares of both as well */
};

/* Adds `n` minor collections, more than 0, with these totals, as if all had been alike. */
void charging_observe(struct charging *charging, double n, double promoted_bytes, double pause_ns);

/* The share of copying by so many samples of the collector's threads; negative: unknown. */
struct copying {
	double share, samples;
};

/* The cost of the process's minor collections. */
struct minor_cost charging_cost(const struct charging *charging, struct copying copying);

#endif
