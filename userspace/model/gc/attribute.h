/* SPDX-License-Identifier: BSD-2-Clause */
/* attribute.h: charges the time of collections to the allocations that caused them. */
/*
 * See README.md for the method. In short: a minor collection costs a + b * promoted
 * bytes, fitted; the part a is charged by allocated, the part b by promoted bytes
 * of the samples of its cycle. Major collections are charged to what is live.
 * Whatever the figures are, the charges add up to the pauses.
 */
#ifndef GCPROF_ATTRIBUTE_H
#define GCPROF_ATTRIBUTE_H

#include <stddef.h>
#include <stdint.h>

struct tree;
struct types;

/* A sample's part in a collection. */
struct charge {
	uint32_t cost; /* of its stack */
	uint32_t type : 31;
	uint32_t promoted : 1;
	float bytes; /* estimated: only the parts of a bill matter, not its sum */
};

/* A collection whose time is to be split over charges. */
struct bill {
	uint32_t process;
	uint32_t pauses; /* with those carried over from cycles without samples */
	double pause_ns;
	double promoted_bytes; /* measured */
	size_t n_charges;      /* the next ones in the list */
};

/*
 * Bills that wait until the fit is good. They are settled when there are many,
 * so that memory is bounded, and at the end: nearly every profile is settled in
 * one go with the fit over all of its collections.
 */
struct account {
	struct charge *charges;
	size_t n_charges, charges_capacity;
	struct bill *bills;
	size_t n_bills, bills_capacity;
};

#define ACCOUNT_CHARGES_MAX (1 << 20)

void account_free(struct account *account);

/* Charges come first, then the bill that counts them. 0 or -ENOMEM. */
int account_add_charge(struct account *account, const struct charge *charge);
int account_add_bill(struct account *account, const struct bill *bill);

/* Splits `bill` over `charges` with this fit: adds to gc_ns of lives and types. */
struct books {
	struct tree *tree;
	struct types *types;
};
void bill_settle(const struct bill *bill, const struct charge *charges, const double fit[2],
		 const struct books *books);

#endif
