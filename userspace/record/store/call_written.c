// SPDX-License-Identifier: BSD-2-Clause
/* call_written.c: what a profile has of the totals of a call, to write only what was added since.
 */
#include "call_written.h"

#include <stdlib.h>
#include <string.h>

struct call_written {
	uint64_t count, errors, total_ns, max_ns, gc_count, gc_ns, waits, wait_ns, wait_max;
	uint32_t first, buckets; /* kept of the histogram */
	uint32_t histogram[];
};

struct call_written *call_written_of(const struct syscall_total *total)
{
	uint32_t first = 0, end = SYSCALL_BUCKETS;
	struct call_written *written;

	while (first < end && !total->histogram[first])
		first++;
	while (end > first && !total->histogram[end - 1])
		end--;
	written = malloc(sizeof(*written) + (end - first) * sizeof(*written->histogram));
	if (!written)
		return NULL;
	*written = (struct call_written){
		.count = total->count,
		.errors = total->errors,
		.total_ns = total->total_ns,
		.max_ns = total->max_ns,
		.gc_count = total->gc_count,
		.gc_ns = total->gc_ns,
		.waits = total->waits,
		.wait_ns = total->wait_ns,
		.wait_max = total->wait_max,
		.first = first,
		.buckets = end - first,
	};
	memcpy(written->histogram, total->histogram + first,
	       written->buckets * sizeof(*written->histogram));
	return written;
}

/* The lower bound of the longest duration in the histogram. */
static uint64_t longest(const struct syscall_total *total)
{
	uint32_t end = SYSCALL_BUCKETS;

	while (end && !total->histogram[end - 1])
		end--;
	return end ? syscall_bucket_floor(end - 1) : 0;
}

bool call_written_subtract(const struct call_written *written, struct syscall_total *total)
{
	if (!written)
		return total->count || total->total_ns;
	/* Calls that have not ended take time in each window. */
	if (total->count == written->count && total->total_ns == written->total_ns)
		return false;
	total->count -= written->count;
	total->errors -= written->errors;
	total->total_ns -= written->total_ns;
	total->gc_count -= written->gc_count;
	total->gc_ns -= written->gc_ns;
	total->waits -= written->waits;
	total->wait_ns -= written->wait_ns;
	for (uint32_t i = 0; i < written->buckets; i++)
		total->histogram[written->first + i] -= written->histogram[i];
	if (total->max_ns <= written->max_ns)
		total->max_ns = longest(total);
	if (total->wait_max <= written->wait_max)
		total->wait_max = 0;
	return true;
}
