/* SPDX-License-Identifier: BSD-2-Clause */
/* bars.h: private: draws values as bars of characters. */
#ifndef GCPROF_BARS_H
#define GCPROF_BARS_H

#include <stddef.h>

/* Bytes for `columns` columns of either function, including the terminating zero. */
#define BAR_SIZE(columns) (3 * (size_t)(columns) + 1)

/* Draws a bar of share * columns, in eighths of a column. */
void bar_draw(double share, int columns, char *out);

/* Draws one character per value, from empty to full. Values are not negative; `most` is full. */
void spark_draw(const double *values, size_t count, double most, char *out);

#endif
