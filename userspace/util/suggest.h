/* SPDX-License-Identifier: BSD-2-Clause */
/* suggest.h: finds the word that a user probably meant. */
#ifndef GCPROF_SUGGEST_H
#define GCPROF_SUGGEST_H

#include <stddef.h>

/* Initialize as {.word = WORD}; the word and the result are borrowed. */
struct suggestion {
	const char *word;
	const char *best; /* NULL: no candidate is similar */
	size_t distance;  /* of `best` */
};

/*
 * Offers a valid word. It is similar if few letters must be inserted, deleted, replaced or swapped
 * with their neighbours: at most one in three.
 */
void suggestion_offer(struct suggestion *suggestion, const char *candidate);

/* "; did you mean PREFIXBEST?", or "" without a match. Always terminated. */
void suggestion_text(const struct suggestion *suggestion, const char *prefix, char *out,
		     size_t size);

#endif
