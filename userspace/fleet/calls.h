/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.h: call trees of selected profiles of a fleet, summed by the ClickHouse server. */
#ifndef GCPROF_FLEET_CALLS_H
#define GCPROF_FLEET_CALLS_H

#include <jansson.h>

#include "../model/rows/call_tree.h"
#include "http.h"
#include "where.h"

enum { FLEET_CALLS_MAX = 10000 }; /* nodes, besides the root */

struct fleet_calls {
	enum call_kind kind;
	const char *pattern;       /* as for call_builder_init() */
	enum call_measure measure; /* CALLS_MEASURES: the first with a cost, which is set */
	uint64_t profiles;         /* set: how many are selected */
	json_t *answer;            /* set, and the caller's: for fleet_calls_tree() */
};

/*
 * Asks for the FLEET_CALLS_MAX costliest nodes, with the costs of all stacks through them. 0,
 * errors of http_query(), or -EBADMSG: the response is invalid.
 */
int fleet_calls(struct http *http, const struct where *where, struct fleet_calls *calls,
		struct http_problem *problem);

/*
 * Makes a tree of the answer, which has to outlive it because of the names. What is alive at the
 * end is 0. 0 or -ENOMEM; free the tree with call_tree_free() in any case.
 */
int fleet_calls_tree(const json_t *answer, struct call_tree *tree);

#endif
