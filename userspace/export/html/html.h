/* SPDX-License-Identifier: BSD-2-Clause */
/* html.h: private to this folder: the parts of the page that html.c joins. */
#ifndef GCPROF_EXPORT_HTML_H
#define GCPROF_EXPORT_HTML_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "../../model/event.h"
#include "../../model/rows/call_tree.h"
#include "../output.h"

/*
 * A dead object's outcome says it. An object that is alive at the end has survived those of its
 * first outcome, and the minor collections of its process since; in a process with several heaps
 * only the former are known. So each figure is a lower limit.
 */

struct world;
struct id_map;
struct survivor;
struct survived_process;

enum { SURVIVOR_CLASSES = 8 };

/* The least number of collections in each class: 1, 2, 3, 4, 8 ... */
extern const uint32_t survivor_classes[SURVIVOR_CLASSES];

/* An object that survived: bytes that its sample stands for. */
struct survived_object {
	uint64_t time; /* of its allocation */
	uint64_t stack, type;
	double bytes;
	unsigned class;
};

/* All zero is empty, except `index`. Memory grows with the number of live sampled objects. */
struct survivors {
	int (*take)(void *context, const struct world *world, const struct survived_object *object);
	void *context;
	struct id_map *index; /* {process, sample} -> number */
	struct survivor *items;
	size_t count, capacity;
	uint32_t free;
	struct survived_process *processes;
	size_t n_processes;
};

/* Each object that survived is passed to `take` once. 0 or -ENOMEM. */
int survivors_init(struct survivors *survivors,
		   int (*take)(void *, const struct world *, const struct survived_object *),
		   void *context);
void survivors_free(struct survivors *survivors);

/* Accepts any record that was not refused. 0, -ENOMEM, or an error of `take`. */
int survivors_record(struct survivors *survivors, const struct world *world,
		     const struct event *event);

/* Passes on the objects that are alive at the end. */
int survivors_finish(struct survivors *survivors, const struct world *world);

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

/* The call tree in the page's order, with small nodes merged. */

enum { HTML_NODES_MAX = 100000 };

struct html_node {
	uint32_t parent; /* number of the parent; the root has its own */
	uint32_t source; /* node of the call tree with its name; 0: none */
	uint32_t more;   /* number of functions that it stands for, with all their callees */
	double self[CALLS_MEASURES]; /* cost of the node itself */
};

/*
 * In preorder: a node precedes all its callees. Node 0 is the root. Its last child, the
 * last node, has the costs without a stack.
 */
struct html_tree {
	struct html_node *nodes;
	size_t count;
	uint32_t *numbers; /* by node of the call tree: its node here */
	double share;      /* nodes with less of every total were merged */
};

/* 0 or -ENOMEM. */
int html_tree_make(const struct call_tree *calls, const struct model *model,
		   struct html_tree *tree);
void html_tree_free(struct html_tree *tree);

/* Values of the page's data. */

/*
 * Writes a member of an object, after a comma, except if the key begins with "!". Takes over the
 * value; NULL means no memory. No text in it can end a script. 0 or -ENOMEM.
 */
int html_put_value(struct output *output, const char *key, json_t *value);

/*
 * Writes the members "step_ns" and "moments", with a prefix before their names, each after a comma.
 * `names` has the measures' names, which need no escapes; NULL: they are numbers.
 */
void html_put_moments(struct output *output, const char *prefix, const struct call_moments *moments,
		      const char *const *names);

#endif
