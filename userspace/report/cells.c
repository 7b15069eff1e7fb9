/* SPDX-License-Identifier: BSD-2-Clause */
/* cells.c: formats figures for table cells. */
#include <math.h>

#include "sections.h"
#include "units.h"

void cell_time(struct table *table, double ns)
{
	table_cell(table, ns >= 0.5 ? unit_time(ns).text : NULL);
}

void cell_bytes(struct table *table, double bytes)
{
	table_cell(table, bytes >= 0.5 ? unit_bytes(bytes).text : NULL);
}

void cell_count(struct table *table, uint64_t count)
{
	table_cell(table, count ? unit_count(count).text : NULL);
}

void cell_share(struct table *table, double part, double whole)
{
	table_cell(table, part > 0 && whole > 0 ? unit_percent(part / whole).text : NULL);
}

/* A share for which 0 is a meaningful value. */
void cell_survived(struct table *table, const struct estimate *share)
{
	table_cell(table, share->value >= 0 ? unit_percent(share->value).text : NULL);
}

/* Shows the farther end of the interval, relative to the estimate. */
void cell_margin(struct table *table, const struct estimate *estimate)
{
	double reach = fmax(estimate->high - estimate->value, estimate->value - estimate->low);

	table_cell(table, estimate->value > 0 ? unit_margin(reach / estimate->value).text : NULL);
}

/* The median age at death is known only as a class: shows its upper bound. */
void cell_age(struct table *table, uint64_t age)
{
	char text[40];

	snprintf(text, sizeof(text), "<%s", unit_bytes((double)age).text);
	table_cell(table, age ? text : NULL);
}
