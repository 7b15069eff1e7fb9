/* SPDX-License-Identifier: BSD-2-Clause */
/* spans.h: private: rows of the page's tables by window of time, so that these follow a span. */
#ifndef GCPROF_HTML_SPANS_H
#define GCPROF_HTML_SPANS_H

#include "../../model/event.h"
#include "../../model/rows/call_tree.h"
#include "survivors.h"

struct map;
struct output;
struct span_row;
struct span_event;

/* The longest events of a kind, once it is sorted. */
struct span_events {
	struct span_event *items;
	size_t count, capacity;
	size_t all;     /* that there were */
	uint64_t floor; /* events that are not longer can no longer be among them */
};

/* All zero is empty, except `index`. Memory is bounded: windows get longer, rows are types and so
 * on. */
struct html_spans {
	struct call_moments sums; /* nodes are rows, measures are enum column */
	struct map *index;        /* {table, key} -> 1 + number of the row */
	struct span_row *rows;
	size_t n_rows, rows_capacity;
	struct span_events pauses, calls;
};

int html_spans_init(struct html_spans *spans); /* 0 or -ENOMEM */
void html_spans_free(struct html_spans *spans);

/* Accepts any record that was not refused. 0 or -ENOMEM. */
int html_spans_record(struct html_spans *spans, const struct world *world,
		      const struct event *event);

/* Adds an object that survived collections to its type. 0 or -ENOMEM. */
int html_spans_survived(struct html_spans *spans, const struct world *world,
			const struct survived_object *object);

/* Writes them as members of an object, each after a comma. Call once. 0 or -ENOMEM. */
int html_spans_put(struct html_spans *spans, const struct world *world, struct output *output);

#endif
