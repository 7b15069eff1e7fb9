/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.c: the terms in order: a treap, with the terms' hashes for priorities. */
/*
 * Both functions recurse as deep as the tree is high, and rotate on the way
 * back: plenty of stores of references into old objects, each through the write
 * barrier. They allocate nothing, so they need no frame.
 */
#include "indexer.h"

static struct term *rotate_right(struct gc_thread *thread, struct term *root)
{
	struct term *left = root->left;
	gc_write(thread, root, &root->left, left->right);
	gc_write(thread, left, &left->right, root);
	return left;
}

static struct term *rotate_left(struct gc_thread *thread, struct term *root)
{
	struct term *right = root->right;
	gc_write(thread, root, &root->right, right->left);
	gc_write(thread, right, &right->left, root);
	return right;
}

NAMED_FUNCTION struct term *tree_insert(struct indexer *indexer, struct term *root,
					struct term *term)
{
	struct gc_thread *thread = indexer->thread;
	if (!root)
		return term;
	if (string_compare(term->word, root->word) < 0) {
		gc_write(thread, root, &root->left, tree_insert(indexer, root->left, term));
		return root->left->hash > root->hash ? rotate_right(thread, root) : root;
	}
	gc_write(thread, root, &root->right, tree_insert(indexer, root->right, term));
	return root->right->hash > root->hash ? rotate_left(thread, root) : root;
}
