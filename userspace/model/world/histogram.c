/* SPDX-License-Identifier: BSD-2-Clause */
/* histogram.c: histograms of durations, as stored in profiles. */
#include "histogram.h"

#include <stdbool.h>

/* Reads a varint from data[*at]; false at the end, or if it is too long. */
static bool take_varint(struct bytes data, size_t *at, uint64_t *out)
{
	*out = 0;
	for (unsigned shift = 0; shift < 64 && *at < data.size; shift += 7) {
		unsigned char byte = (unsigned char)data.data[(*at)++];

		*out |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

void histogram_add(struct bytes data, uint64_t histogram[SYSCALL_BUCKETS])
{
	uint64_t bucket = 0, step, calls;
	size_t at = 0;

	while (take_varint(data, &at, &step) && take_varint(data, &at, &calls)) {
		if (step >= SYSCALL_BUCKETS - bucket)
			return;
		bucket += step;
		histogram[bucket] += calls;
	}
}

uint64_t histogram_middle(uint32_t bucket)
{
	uint64_t floor = syscall_bucket_floor(bucket);

	return bucket + 1 < SYSCALL_BUCKETS ? (floor + syscall_bucket_floor(bucket + 1)) / 2
					    : floor;
}
