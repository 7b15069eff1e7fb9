/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.h: private: the call tree as the page has it, small parts of it put together. */
#ifndef GCPROF_HTML_TREE_H
#define GCPROF_HTML_TREE_H

#include "../../model/rows/call_tree.h"

enum { HTML_NODES_MAX = 100000 };

struct html_node {
	uint32_t parent;             /* number; of the root its own */
	uint32_t source;             /* node of the call tree whose name it has; 0: none */
	uint32_t more;               /* it stands for so many functions, and all that they call */
	double self[CALLS_MEASURES]; /* what ends there */
};

/* In preorder: a node is followed by all that it calls. Number 0 is the root; the last one, a
 * child of it, is what has no stack. */
struct html_tree {
	struct html_node *nodes;
	size_t count;
	uint32_t *numbers; /* by node of the call tree: where it went */
	double share;      /* what has less of every total was put together */
};

/* 0 or -ENOMEM. */
int html_tree_make(const struct call_tree *calls, const struct model *model,
		   struct html_tree *tree);
void html_tree_free(struct html_tree *tree);

#endif
