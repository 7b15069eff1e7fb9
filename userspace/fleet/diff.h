/* SPDX-License-Identifier: BSD-2-Clause */
/* diff.h: compares two selections of a fleet's profiles, summed by the ClickHouse server. */
#ifndef GCPROF_FLEET_DIFF_H
#define GCPROF_FLEET_DIFF_H

#include <jansson.h>

#include "http.h"
#include "where.h"

enum fleet_diff_table {
	FLEET_DIFF_FUNCTIONS, /* CPU time by function, without callees */
	FLEET_DIFF_TYPES,     /* allocated bytes by type */
	FLEET_DIFF_SITES,     /* collection time charged to sites */
	FLEET_DIFF_PAUSES,    /* pauses by kind */
	FLEET_DIFF_CALLS,     /* system calls by name; not with a term about processes */
	FLEET_DIFF_TABLES,
};

/* [0] is before, [1] after. */
struct fleet_diff {
	double cpu_ns[2];
	uint64_t profiles[2];
	/*
	 * Objects with an array "data" and the object "totals", sums of all rows. A row has
	 * "label", and for each side ("before", "after") the keys SIDE, SIDE_variance and
	 * SIDE_observed, as in struct tally. NULL: not compared.
	 */
	json_t *tables[FLEET_DIFF_TABLES];
};

/* `top`: maximum rows per table, those whose share of CPU time changed most. Errors of
 * fleet_report(); call fleet_diff_free() in any case. */
int fleet_diff(struct http *http, const struct where *const wheres[2], uint64_t top,
	       struct fleet_diff *out, struct http_problem *problem);
void fleet_diff_free(struct fleet_diff *diff);

#endif
