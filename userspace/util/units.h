/* SPDX-License-Identifier: BSD-2-Clause */
/* units.h: formats numbers for people. */
#ifndef GCPROF_UNITS_H
#define GCPROF_UNITS_H

#include <stdint.h>

/* A short text, returned by value so that calls can be arguments of printf(). */
struct unit_text {
	char text[32];
};

struct unit_text unit_bytes(double bytes);   /* 1.23 GiB */
struct unit_text unit_time(double ns);       /* 12.3 ms */
struct unit_text unit_count(uint64_t count); /* 1,234,567 */
struct unit_text unit_rough(double count);   /* 1.23 M */
struct unit_text unit_percent(double share); /* 0.123 -> 12.3% */
struct unit_text unit_margin(double share);  /* 0.05 -> ±5% */
struct unit_text unit_points(double share);  /* the same in percentage points: ±5 */

#endif
