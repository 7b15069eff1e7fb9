/* SPDX-License-Identifier: BSD-2-Clause */
/* bars.h: private: lengths drawn with characters. */
#ifndef GCPROF_BARS_H
#define GCPROF_BARS_H

#include <stddef.h>

/* Bytes that `columns` columns of either take, the ending zero included. */
#define BAR_SIZE(columns) (3 * (size_t)(columns) + 1)

/* A bar of share * columns, in eighths of a column. */
void bar_draw(double share, int columns, char *out);

/* One character a value, from empty to full; values are not below 0, `most` is full. */
void spark_draw(const double *values, size_t count, double most, char *out);

#endif
