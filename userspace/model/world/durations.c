/* SPDX-License-Identifier: BSD-2-Clause */
/* durations.c: durations of one kind of event, as single values or as a histogram. */
#include "durations.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../rows.h"
#include "arena.h"

void durations_free(struct durations *durations)
{
	free(durations->ns);
}

int durations_add(struct durations *durations, uint64_t ns)
{
	if (array_reserve(&durations->ns, &durations->capacity, durations->count, sizeof(ns)) < 0)
		return -ENOMEM;
	durations->ns[durations->count++] = ns;
	return 0;
}

int durations_add_all(struct durations *durations, const struct durations *others)
{
	int err = 0;

	for (size_t i = 0; i < others->count && !err; i++)
		err = durations_add(durations, others->ns[i]);
	return err;
}

int durations_add_sums(struct durations *durations, const struct record_gc_summary *record)
{
	uint64_t histogram[SYSCALL_BUCKETS] = {0}, count = 0;

	histogram_add(record->histogram, histogram);
	for (uint32_t i = 0; i < SYSCALL_BUCKETS; i++)
		count += histogram[i];
	if (count != record->count)
		return -EBADMSG;
	for (uint32_t i = 0; i < SYSCALL_BUCKETS; i++)
		durations->histogram[i] += histogram[i];
	durations->summed += record->count;
	durations->summed_ns += record->total_ns;
	raise_to(&durations->summed_max, record->max_ns);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Nearest-rank percentile. Summed durations count as the middle of their bucket, limited to their
 * maximum.
 */
static uint64_t percentile(const struct durations *sorted, uint64_t percent)
{
	uint64_t all = sorted->count + sorted->summed;
	uint64_t rank = all / 100 * percent + (all % 100 * percent + 99) / 100, seen = 0;
	size_t next = 0;

	for (uint32_t i = 0; i < SYSCALL_BUCKETS; i++) {
		uint64_t value = histogram_middle(i);

		if (!sorted->histogram[i])
			continue;
		value = value < sorted->summed_max ? value : sorted->summed_max;
		for (; next < sorted->count && sorted->ns[next] <= value; next++)
			if (++seen >= rank)
				return sorted->ns[next];
		seen += sorted->histogram[i];
		if (seen >= rank)
			return value;
	}
	next += rank - seen;
	return sorted->ns[next ? next - 1 : 0];
}

void durations_summarize(struct durations *durations, struct model_pauses *out)
{
	if (!durations->count && !durations->summed)
		return;
	if (durations->count)
		qsort(durations->ns, durations->count, sizeof(*durations->ns), by_value);
	out->count = durations->count + durations->summed;
	out->summed = durations->summed;
	out->total_ns = durations->summed_ns;
	out->max_ns = durations->summed_max;
	for (size_t i = 0; i < durations->count; i++) {
		out->total_ns += durations->ns[i];
		out->squares += (double)durations->ns[i] * (double)durations->ns[i];
		raise_to(&out->max_ns, durations->ns[i]);
	}
	for (uint32_t i = 0; i < SYSCALL_BUCKETS; i++)
		out->squares += (double)durations->histogram[i] * (double)histogram_middle(i) *
				(double)histogram_middle(i);
	out->p50_ns = percentile(durations, 50);
	out->p99_ns = percentile(durations, 99);
}

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
