// SPDX-License-Identifier: BSD-2-Clause
/* histogram.c: encodes histograms of durations for the profile. */
#include "histogram.h"

size_t histogram_pack(const uint32_t *histogram, uint32_t buckets, uint8_t *out)
{
	uint8_t *at = out;
	uint32_t previous = 0;

	for (uint32_t i = 0; i < buckets; i++) {
		if (!histogram[i])
			continue;
		at = varint_put(at, i - previous);
		at = varint_put(at, histogram[i]);
		previous = i;
	}
	return (size_t)(at - out);
}
