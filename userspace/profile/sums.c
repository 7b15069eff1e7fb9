// SPDX-License-Identifier: BSD-2-Clause
/* sums.c: records whose figures are sums since a recording began: what they grew by. */
#include "sums.h"

#include <errno.h>

#include "cursor.h"

bool sums_are_in(enum record_kind kind)
{
	return kind == RECORD_loss || kind == RECORD_syscall_total || kind == RECORD_call_cpu ||
	       kind == RECORD_usage;
}

/* A sum that became less began anew. */
static void subtract(uint64_t *sum, uint64_t base)
{
	if (*sum >= base)
		*sum -= base;
}

/* Longest so far; it is unknown (0) how long the longest since then was, if it is the same. */
static void since(uint64_t *longest, uint64_t base)
{
	if (*longest <= base)
		*longest = 0;
}

/* --- histograms (FORMAT.md, section 7) -------------------------------------------------------- */

struct bucket {
	uint64_t number, count;
};

/* The next pair; false at the end, or if there is none. */
static bool next_bucket(struct cursor *cursor, struct bucket *bucket)
{
	uint64_t step;

	if (!cursor_varint(cursor, &step) || !cursor_varint(cursor, &bucket->count))
		return false;
	bucket->number += step;
	return true;
}

/* From how many ns on. */
static uint64_t bucket_begin(uint64_t number)
{
	return number < 4 ? number : (4 + number % 4) << (number / 4 - 1);
}

/* Both have their buckets in order, and what was in one is still there. */
static int subtract_histogram(struct bytes *histogram, struct bytes base, struct buffer *room,
			      uint64_t *longest)
{
	struct cursor cursor = cursor_make(histogram->data, histogram->size);
	struct cursor past = cursor_make(base.data, base.size);
	struct bucket bucket = {0}, old = {0};
	bool more = next_bucket(&past, &old);
	uint64_t last = 0;
	uint8_t *at;

	/* A difference takes no more bytes than the numbers, but for the steps over what is left
	 * out. */
	room->size = 0;
	if (buffer_reserve(room, histogram->size * 2 + 1))
		return -ENOMEM;
	at = (uint8_t *)room->data;
	while (next_bucket(&cursor, &bucket)) {
		while (more && old.number < bucket.number)
			more = next_bucket(&past, &old);
		if (more && old.number == bucket.number)
			subtract(&bucket.count, old.count);
		if (!bucket.count)
			continue;
		at = varint_put(at, bucket.number - last);
		at = varint_put(at, bucket.count);
		last = bucket.number;
		*longest = bucket_begin(bucket.number);
	}
	histogram->data = room->data;
	histogram->size = (size_t)(at - (uint8_t *)room->data);
	return 0;
}

/* --- each kind ------------------------------------------------------------------------------- */

static int subtract_calls(struct record_syscall_total *total,
			  const struct record_syscall_total *base, struct buffer *room)
{
	uint64_t longest = 0;
	int err = subtract_histogram(&total->histogram, base->histogram, room, &longest);

	subtract(&total->count, base->count);
	subtract(&total->errors, base->errors);
	subtract(&total->total_ns, base->total_ns);
	subtract(&total->gc_count, base->gc_count);
	subtract(&total->gc_ns, base->gc_ns);
	subtract(&total->waits, base->waits);
	subtract(&total->wait_ns, base->wait_ns);
	if (total->max_ns <= base->max_ns)
		total->max_ns = longest;
	since(&total->wait_max, base->wait_max);
	return err;
}

static void subtract_usage(struct record_usage *usage, const struct record_usage *base)
{
	subtract(&usage->minor_faults, base->minor_faults);
	subtract(&usage->major_faults, base->major_faults);
	subtract(&usage->call_waits, base->call_waits);
	subtract(&usage->call_ns, base->call_ns);
	subtract(&usage->fault_waits, base->fault_waits);
	subtract(&usage->fault_ns, base->fault_ns);
	subtract(&usage->preempted_waits, base->preempted_waits);
	subtract(&usage->preempted_ns, base->preempted_ns);
	subtract(&usage->stopped_waits, base->stopped_waits);
	subtract(&usage->stopped_ns, base->stopped_ns);
	subtract(&usage->queued_ns, base->queued_ns);
	since(&usage->call_max, base->call_max);
	since(&usage->fault_max, base->fault_max);
	since(&usage->preempted_max, base->preempted_max);
	since(&usage->stopped_max, base->stopped_max);
}

int sums_subtract(struct record *record, const struct record *base, struct buffer *room)
{
	switch (record->kind) {
	case RECORD_loss:
		subtract(&record->loss.count, base->loss.count);
		return 0;
	case RECORD_syscall_total:
		return subtract_calls(&record->syscall_total, &base->syscall_total, room);
	case RECORD_call_cpu:
		subtract(&record->call_cpu.traced_ns, base->call_cpu.traced_ns);
		subtract(&record->call_cpu.untraced_ns, base->call_cpu.untraced_ns);
		return 0;
	case RECORD_usage:
		subtract_usage(&record->usage, &base->usage);
		return 0;
	default:
		return 0;
	}
}
