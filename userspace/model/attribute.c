/* SPDX-License-Identifier: BSD-2-Clause */
/* attribute.c: charges the time of collections to the allocations that caused them. */
#include "attribute.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tree.h"
#include "type_table.h"

void charging_observe(struct charging *charging, double n, double promoted_bytes, double pause_ns)
{
	charging->n += n;
	charging->x += promoted_bytes;
	charging->y += pause_ns;
	charging->xx += promoted_bytes * promoted_bytes / n;
	charging->xy += promoted_bytes * pause_ns / n;
}

void charging_fit(const struct charging *charging, double *fixed_ns, double *ns_per_byte)
{
	double n = charging->n, spread, slope = 0, base;

	*fixed_ns = *ns_per_byte = 0;
	if (n <= 0)
		return;
	spread = charging->xx - charging->x * charging->x / n;
	/* Below this the difference is rounding, not spread. */
	if (spread > 1e-9 * charging->xx)
		slope = (charging->xy - charging->x * charging->y / n) / spread;
	slope = fmax(slope, 0);
	base = (charging->y - slope * charging->x) / n;
	if (base < 0) {
		/* The least squares under a >= 0 lie on its border: a line through 0. */
		base = 0;
		slope = charging->xx > 0 ? charging->xy / charging->xx : 0;
	}
	*fixed_ns = base;
	*ns_per_byte = slope;
}

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
	/* Nobody to charge for copying: no sampled object was promoted. */
	if (promoted > 0 && copying > 0)
		/* Rounding may make the part a little more than the whole. */
		copying_ns = fmin(bill->pause_ns * copying / (fixed + copying), bill->pause_ns);
	for (size_t i = 0; i < bill->n_charges; i++) {
		double part = (bill->pause_ns - copying_ns) * (double)charges[i].bytes / allocated;

		if (copying_ns > 0 && charges[i].promoted)
			part += copying_ns * (double)charges[i].bytes / promoted;
		tree_charge(books->tree, charges[i].cost, part);
		books->types->items[charges[i].type].gc_ns += part;
	}
}
