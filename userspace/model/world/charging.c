/* SPDX-License-Identifier: BSD-2-Clause */
/* charging.c: the fitted cost of minor collections, and live bytes. */
#include "charging.h"

#include <math.h>

void charging_observe(struct charging *charging, double n, double promoted_bytes, double pause_ns)
{
	charging->n += n;
	charging->x += promoted_bytes;
	charging->y += pause_ns;
	charging->xx += promoted_bytes * promoted_bytes / n;
	charging->xy += promoted_bytes * pause_ns / n;
}

void charging_fit(const struct charging *charging, double *fixed_ns, double *ns_per_byte)
{
	double n = charging->n, spread, slope = 0, base;

	*fixed_ns = *ns_per_byte = 0;
	if (n <= 0)
		return;
	spread = charging->xx - charging->x * charging->x / n;
	/* Below this, the difference is rounding error. */
	if (spread > 1e-9 * charging->xx)
		slope = (charging->xy - charging->x * charging->y / n) / spread;
	slope = fmax(slope, 0);
	base = (charging->y - slope * charging->x) / n;
	if (base < 0) {
		/* With a >= 0 the minimum lies on the border: a line through 0. */
		base = 0;
		slope = charging->xx > 0 ? charging->xy / charging->xx : 0;
	}
	*fixed_ns = base;
	*ns_per_byte = slope;
}
