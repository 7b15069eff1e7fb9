/* SPDX-License-Identifier: BSD-2-Clause */
/* attribute.c: attributes the time of collections to the allocations that caused them. */
#include "attribute.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../world/tree.h"
#include "../world/type_table.h"

void account_free(struct account *account)
{
	free(account->charges);
	free(account->bills);
	*account = (struct account){0};
}

int account_add_charge(struct account *account, const struct charge *charge)
{
	if (array_reserve(&account->charges, &account->charges_capacity, account->n_charges,
			  sizeof(*charge)) < 0)
		return -ENOMEM;
	account->charges[account->n_charges++] = *charge;
	return 0;
}

int account_add_bill(struct account *account, const struct bill *bill)
{
	if (array_reserve(&account->bills, &account->bills_capacity, account->n_bills,
			  sizeof(*bill)) < 0)
		return -ENOMEM;
	account->bills[account->n_bills++] = *bill;
	return 0;
}

void bill_settle(const struct bill *bill, const struct charge *charges, const double fit[2],
		 const struct books *books)
{
	double allocated = 0, promoted = 0, copying, fixed, copying_ns = 0;

	for (size_t i = 0; i < bill->n_charges; i++) {
		allocated += (double)charges[i].bytes;
		promoted += charges[i].promoted ? (double)charges[i].bytes : 0;
	}
	fixed = fit[0] * bill->pauses;
	copying = fit[1] * bill->promoted_bytes;
	/* If no sampled object was promoted, copying has nothing to be charged to. */
	if (promoted > 0 && copying > 0)
		/* Rounding may make the part slightly more than the whole. */
		copying_ns = fmin(bill->pause_ns * copying / (fixed + copying), bill->pause_ns);
	for (size_t i = 0; i < bill->n_charges; i++) {
		double part = (bill->pause_ns - copying_ns) * (double)charges[i].bytes / allocated;

		if (copying_ns > 0 && charges[i].promoted)
			part += copying_ns * (double)charges[i].bytes / promoted;
		tree_charge(books->tree, charges[i].cost, part);
		books->types->items[charges[i].type].gc_ns += part;
	}
}
