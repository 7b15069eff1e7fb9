/* SPDX-License-Identifier: BSD-2-Clause */
/* suggest.h: the word that somebody may have meant who wrote another one. */
#ifndef GCPROF_SUGGEST_H
#define GCPROF_SUGGEST_H

#include <stddef.h>

/* Begins as {.word = WORD}; the word is borrowed, and so is what is found. */
struct suggestion {
	const char *word;
	const char *best; /* NULL: none of those that were offered is like it */
	size_t distance;  /* of the best */
};

/*
 * Offers a word that there is. It is like the other one if few letters have to be put in, left
 * out, replaced or swapped with their neighbours: one in three of its letters.
 */
void suggestion_offer(struct suggestion *suggestion, const char *candidate);

/* "; did you mean PREFIXBEST?", or nothing if there is none. Always ended. */
void suggestion_text(const struct suggestion *suggestion, const char *prefix, char *out,
		     size_t size);

#endif
