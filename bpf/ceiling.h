/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* ceiling.h: how many events of a kind are recorded one by one, a second and CPU. */
#ifndef GCPROF_CEILING_H
#define GCPROF_CEILING_H

#include "maps.h"

#define CEILING_WINDOW_SHIFT 27 /* a window: 134 ms */

/* May one more be recorded on this CPU? `rate`: so many a second. */
static __always_inline bool ceiling_below(enum ceiling ceiling, uint32_t rate, uint64_t now)
{
	uint64_t limit = (((uint64_t)rate << CEILING_WINDOW_SHIFT) + 999999999) / 1000000000;
	uint32_t key = ceiling;
	struct ceiling_window *window = bpf_map_lookup_elem(&ceiling_windows, &key);

	if (!window)
		return 0;
	if (window->window != now >> CEILING_WINDOW_SHIFT) {
		window->window = now >> CEILING_WINDOW_SHIFT;
		window->events = 0;
	}
	if (window->events >= limit)
		return 0;
	window->events++;
	return 1;
}

#endif
