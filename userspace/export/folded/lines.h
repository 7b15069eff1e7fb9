/* SPDX-License-Identifier: BSD-2-Clause */
/* lines.h: adds up values by path: one line per path, whatever the number of stacks. */
/* Stacks that differ only in positions within functions have the same path. Not thread-safe. */
#ifndef GCPROF_FOLDED_LINES_H
#define GCPROF_FOLDED_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "../output.h"

struct folded_lines;

int folded_lines_create(struct folded_lines **out); /* -ENOMEM */
void folded_lines_free(struct folded_lines *lines); /* NULL is allowed */

/* The number of a name, which is copied; the same for equal names. 0: no memory. */
uint32_t folded_lines_name(struct folded_lines *lines, const char *text, size_t size);

/* Adds to the value of the path with these names, innermost first. -ENOMEM. */
int folded_lines_add(struct folded_lines *lines, const uint32_t *names, size_t count, double value);

/* Writes a line for each path whose value rounds to at least 1, in order of first appearance. */
void folded_lines_write(const struct folded_lines *lines, struct output *output);

#endif
