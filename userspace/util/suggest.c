/* SPDX-License-Identifier: BSD-2-Clause */
/* suggest.c: finds the word that a user probably meant. */
#include "suggest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 32 }; /* letters; longer words match nothing */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edit distance between `a` and `b` (optimal string alignment). Neither is too long. */
static size_t distance(const char *a, const char *b)
{
	size_t table[WORD_MAX + 1][WORD_MAX + 1], rows = strlen(a), columns = strlen(b);

	for (size_t i = 0; i <= rows; i++)
		table[i][0] = i;
	for (size_t j = 0; j <= columns; j++)
		table[0][j] = j;
	for (size_t i = 1; i <= rows; i++) {
		for (size_t j = 1; j <= columns; j++) {
			size_t cost = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			cost = least(cost, table[i - 1][j] + 1);
			cost = least(cost, table[i][j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost = least(cost, table[i - 2][j - 2] + 1);
			table[i][j] = cost;
		}
	}
	return table[rows][columns];
}

void suggestion_offer(struct suggestion *suggestion, const char *candidate)
{
	size_t length = strlen(candidate), changes;

	if (strlen(suggestion->word) > WORD_MAX || length > WORD_MAX)
		return;
	changes = distance(suggestion->word, candidate);
	if (changes > (length + 2) / 3 || changes == length)
		return;
	if (!suggestion->best || changes < suggestion->distance) {
		suggestion->best = candidate;
		suggestion->distance = changes;
	}
}

void suggestion_text(const struct suggestion *suggestion, const char *prefix, char *out,
		     size_t size)
{
	if (suggestion->best)
		snprintf(out, size, "; did you mean %s%s?", prefix, suggestion->best);
	else if (size)
		*out = 0;
}
