/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.h: private: the call tree in the page's order, with small nodes merged. */
#ifndef GCPROF_HTML_TREE_H
#define GCPROF_HTML_TREE_H

#include "../../model/rows/call_tree.h"

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

#endif
