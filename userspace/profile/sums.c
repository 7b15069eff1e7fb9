// SPDX-License-Identifier: BSD-2-Clause
/* sums.c: subtracts and adds records whose figures are sums since the start of a recording. */
#include "sums.h"

#include <errno.h>

#include "cursor.h"

bool sums_are_in(enum record_kind kind)
{
	return kind == RECORD_loss || kind == RECORD_syscall_total || kind == RECORD_call_cpu ||
	       kind == RECORD_usage;
}

/* Combines a figure with that of the base. */
struct operation {
	void (*sum)(uint64_t *sum, uint64_t base);
	void (*longest)(uint64_t *longest, uint64_t base);
};

/* A sum that became smaller was restarted. */
static void subtract(uint64_t *sum, uint64_t base)
{
	if (*sum >= base)
		*sum -= base;
}

/* If the maximum has not grown, the maximum since the base is unknown (0). */
static void since(uint64_t *longest, uint64_t base)
{
	if (*longest <= base)
		*longest = 0;
}

static void add(uint64_t *sum, uint64_t base)
{
	*sum += base;
}

static void longer(uint64_t *longest, uint64_t base)
{
	if (*longest < base)
		*longest = base;
}

static const struct operation subtraction = {subtract, since};
static const struct operation addition = {add, longer};

/* --- histograms (FORMAT.md, section 7) -------------------------------------------------------- */

enum { BUCKETS = 160, PAIR_MAX = 2 * VARINT_MAX };

/* A position in a histogram. */
struct buckets {
	struct cursor rest;
	uint64_t number, count; /* the current pair; number BUCKETS: end */
	bool begun;
};

/* An invalid pair ends the histogram. */
static void next_bucket(struct buckets *at)
{
	uint64_t step;

	if (cursor_varint(&at->rest, &step) && cursor_varint(&at->rest, &at->count) &&
	    (step || !at->begun) && step < BUCKETS - at->number)
		at->number += step;
	else
		at->number = BUCKETS;
	at->begun = true;
}

static struct buckets first_bucket(struct bytes histogram)
{
	struct buckets at = {.rest = cursor_make(histogram.data, histogram.size)};

	next_bucket(&at);
	return at;
}

/* The shortest duration in a bucket, ns. */
static uint64_t bucket_begin(uint64_t number)
{
	return number < 4 ? number : (4 + number % 4) << (number / 4 - 1);
}

/* *longest: where the last nonempty bucket begins, ns. */
static int combine_histograms(const struct operation *operation, struct bytes *histogram,
			      struct bytes base, struct buffer *room, uint64_t *longest)
{
	struct buckets own = first_bucket(*histogram), past = first_bucket(base);
	uint64_t last = 0;
	uint8_t *at;

	room->size = 0;
	if (buffer_reserve(room, BUCKETS * PAIR_MAX))
		return -ENOMEM;
	at = (uint8_t *)room->data;
	while (own.number < BUCKETS || past.number < BUCKETS) {
		uint64_t number = own.number < past.number ? own.number : past.number, count = 0;

		if (own.number == number) {
			count = own.count;
			next_bucket(&own);
		}
		if (past.number == number) {
			operation->sum(&count, past.count);
			next_bucket(&past);
		}
		if (!count)
			continue;
		at = varint_put(at, number - last);
		at = varint_put(at, count);
		last = number;
		*longest = bucket_begin(number);
	}
	histogram->data = room->data;
	histogram->size = (size_t)(at - (uint8_t *)room->data);
	return 0;
}

/* --- each kind ------------------------------------------------------------------------------- */

static int combine_calls(const struct operation *operation, struct record_syscall_total *total,
			 const struct record_syscall_total *base, struct buffer *room)
{
	uint64_t longest = 0;
	int err = combine_histograms(operation, &total->histogram, base->histogram, room, &longest);

	operation->sum(&total->count, base->count);
	operation->sum(&total->errors, base->errors);
	operation->sum(&total->total_ns, base->total_ns);
	operation->sum(&total->gc_count, base->gc_count);
	operation->sum(&total->gc_ns, base->gc_ns);
	operation->sum(&total->waits, base->waits);
	operation->sum(&total->wait_ns, base->wait_ns);
	operation->longest(&total->max_ns, base->max_ns);
	if (!total->max_ns)
		total->max_ns = longest;
	operation->longest(&total->wait_max, base->wait_max);
	return err;
}

static void combine_usage(const struct operation *operation, struct record_usage *usage,
			  const struct record_usage *base)
{
	operation->sum(&usage->minor_faults, base->minor_faults);
	operation->sum(&usage->major_faults, base->major_faults);
	operation->sum(&usage->call_waits, base->call_waits);
	operation->sum(&usage->call_ns, base->call_ns);
	operation->sum(&usage->fault_waits, base->fault_waits);
	operation->sum(&usage->fault_ns, base->fault_ns);
	operation->sum(&usage->preempted_waits, base->preempted_waits);
	operation->sum(&usage->preempted_ns, base->preempted_ns);
	operation->sum(&usage->stopped_waits, base->stopped_waits);
	operation->sum(&usage->stopped_ns, base->stopped_ns);
	operation->sum(&usage->queued_ns, base->queued_ns);
	operation->longest(&usage->call_max, base->call_max);
	operation->longest(&usage->fault_max, base->fault_max);
	operation->longest(&usage->preempted_max, base->preempted_max);
	operation->longest(&usage->stopped_max, base->stopped_max);
}

static int combine(const struct operation *operation, struct record *record,
		   const struct record *base, struct buffer *room)
{
	switch (record->kind) {
	case RECORD_loss:
		operation->sum(&record->loss.count, base->loss.count);
		return 0;
	case RECORD_syscall_total:
		return combine_calls(operation, &record->syscall_total, &base->syscall_total, room);
	case RECORD_call_cpu:
		operation->sum(&record->call_cpu.traced_ns, base->call_cpu.traced_ns);
		operation->sum(&record->call_cpu.untraced_ns, base->call_cpu.untraced_ns);
		return 0;
	case RECORD_usage:
		combine_usage(operation, &record->usage, &base->usage);
		return 0;
	default:
		return 0;
	}
}

int sums_subtract(struct record *record, const struct record *base, struct buffer *room)
{
	return combine(&subtraction, record, base, room);
}

int sums_add(struct record *record, const struct record *base, struct buffer *room)
{
	return combine(&addition, record, base, room);
}
