// SPDX-License-Identifier: BSD-2-Clause
/* cpu_time.c: divides exact CPU time among the timer samples of a chunk. */
/*
 * Ticks come at random, so on average one stands for the time between two. Their number varies by
 * chance; as far as chance explains the difference, they are scaled to the exact time.
 *
 * For a thread with several samples in a chunk, its own time is divided among them. Threads with
 * few samples or none, such as short ones, are taken together: their time is divided among all
 * their samples, and time that exceeds the limit per tick goes to the next chunk. A chunk may end
 * before the time of its ticks is reported, such as that of a thread that waits: if more ticks came
 * than chance explains, each stands for the time between two, at the expense of the next chunks.
 *
 * No timer fires while interrupts are off or a virtual CPU is taken away. Then there are fewer
 * ticks than chance explains, all in other code. Scaling them would charge that code with the
 * hidden time. So each tick stands for the time between two ticks, and the rest is assigned to no
 * sample.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../util/buffer.h"
#include "../util/map.h"
#include "cpu_time.h"

enum {
	OWN_SAMPLES = 8,        /* minimum for dividing a thread's time among its own samples */
	TICK_TIMES = 2,         /* maximum weight of a tick while more may follow, in tick_ns */
	BALANCES_MAX = 4096,    /* threads whose ticks are compared with their CPU time */
	BALANCE_SAMPLES = 4096, /* length of the comparison */
	AHEAD_TICKS = 4096      /* whose time may be outstanding when a chunk begins */
};

#define SECOND_NS 1000000000
#define CHANCE    3.0 /* standard deviations */

struct cpu_sum {
	uint64_t thread;
	int64_t used;
	uint64_t ticks, samples;
};

/* Ticks that came, and ticks expected if a timer could always fire. */
struct balance {
	double ticks, expected;
};

struct cpu_sums {
	struct map *places;     /* thread: index among the items, from 1 */
	struct buffer items;    /* struct cpu_sum[], of this chunk */
	struct map *balanced;   /* thread: index among the balances, from 1 */
	struct buffer balances; /* struct balance[] */
	struct balance others;  /* of threads taken together */
	int64_t left;           /* their ns not yet assigned; negative: assigned but not reported */
};

/* The part of `whole` that belongs to the first `some` of `all`. */
static uint64_t part(uint64_t whole, uint64_t some, uint64_t all)
{
	return all ? (uint64_t)((unsigned __int128)whole * some / all) : 0;
}

int cpu_sums_create(struct cpu_sums **out)
{
	struct cpu_sums *sums = calloc(1, sizeof(*sums));

	if (sums) {
		sums->places = map_create(sizeof(uint64_t));
		sums->balanced = map_create(sizeof(uint64_t));
	}
	if (!sums || !sums->places || !sums->balanced) {
		cpu_sums_free(sums);
		return -ENOMEM;
	}
	*out = sums;
	return 0;
}

void cpu_sums_free(struct cpu_sums *sums)
{
	if (!sums)
		return;
	map_free(sums->places);
	map_free(sums->balanced);
	buffer_free(&sums->items);
	buffer_free(&sums->balances);
	free(sums);
}

/* The item of a thread, zeroed if it is new; NULL: out of memory. */
static void *item_of(struct map *places, struct buffer *items, size_t size, uint64_t thread)
{
	uint64_t *place = map_put(places, &thread, NULL);

	if (!place)
		return NULL;
	if (!*place) {
		if (buffer_reserve(items, size))
			return NULL;
		memset(items->data + items->size, 0, size);
		items->size += size;
		*place = items->size / size;
	}
	return items->data + (*place - 1) * size;
}

static bool none(void *context, const void *key, uint64_t *value)
{
	(void)context;
	(void)key;
	(void)value;
	return false;
}

static void cpu_time_forget(struct map *places, struct buffer *items)
{
	items->size = 0;
	map_filter(places, none, NULL);
}

int cpu_sums_add(struct cpu_sums *sums, uint64_t thread, int64_t used, uint64_t ticks)
{
	struct cpu_sum *item = item_of(sums->places, &sums->items, sizeof(*item), thread);

	if (!item)
		return -ENOMEM;
	item->thread = thread;
	/* Let it wrap: an invalid sum is no reason to stop. */
	item->used = (int64_t)((uint64_t)item->used + (uint64_t)used);
	item->ticks += ticks;
	item->samples += ticks != 0;
	return 0;
}

static bool has_own(const struct cpu_sum *item)
{
	return item->samples >= OWN_SAMPLES && item->used > 0;
}

/*
 * How many ticks fewer came than expected, over what chance explains: above 1 too few came, below
 * -1 too many. `item`: the growth since the last call.
 */
static double missing(struct balance *balance, const struct cpu_sum *item, uint64_t tick_ns)
{
	double ticks = item->samples ? (double)item->ticks / (double)item->samples : 1;

	balance->ticks += (double)item->ticks;
	balance->expected += (double)item->used / (double)tick_ns;
	if (balance->expected > BALANCE_SAMPLES * ticks) {
		balance->ticks /= 2;
		balance->expected /= 2;
	}
	return (balance->expected - balance->ticks) /
	       (CHANCE * sqrt(fmax(fmax(balance->expected, balance->ticks) * ticks, 1)));
}

/* *ns: the time that a thread's own samples stand for. 0 or -ENOMEM. */
static int divide_own(struct cpu_sums *sums, const struct cpu_sum *item, uint64_t tick_ns,
		      uint64_t *ns)
{
	uint64_t most = item->ticks * tick_ns;
	struct balance *balance;

	if (map_count(sums->balanced) >= BALANCES_MAX)
		cpu_time_forget(sums->balanced, &sums->balances);
	balance = item_of(sums->balanced, &sums->balances, sizeof(*balance), item->thread);
	if (!balance)
		return -ENOMEM;
	*ns = (uint64_t)item->used;
	if (missing(balance, item, tick_ns) > 1 && *ns > most)
		*ns = most;
	return 0;
}

/* The time that the samples of all other threads stand for; *ticks: their ticks. */
static uint64_t divide_others(struct cpu_sums *sums, uint64_t tick_ns, bool last, uint64_t *ticks)
{
	const struct cpu_sum *items = (const void *)sums->items.data;
	struct cpu_sum all = {0};
	uint64_t most, ns;
	double off;

	for (size_t i = 0; i < sums->items.size / sizeof(*items); i++) {
		if (has_own(&items[i]))
			continue;
		all.used = (int64_t)((uint64_t)all.used + (uint64_t)items[i].used);
		all.ticks += items[i].ticks;
		all.samples += items[i].samples;
	}
	*ticks = all.ticks;
	sums->left = (int64_t)((uint64_t)sums->left + (uint64_t)all.used);
	ns = sums->left > 0 ? (uint64_t)sums->left : 0;
	most = all.ticks * tick_ns;
	off = missing(&sums->others, &all, tick_ns);
	if (off < -1 && !last && sums->left > -(int64_t)(AHEAD_TICKS * tick_ns) && ns < most)
		ns = most;
	if (off <= 1)
		most *= TICK_TIMES;
	ns = ns < most ? ns : most;
	sums->left = (int64_t)((uint64_t)sums->left - ns);
	if (off > 1 && sums->left > 0)
		sums->left = 0;
	return ns;
}

int cpu_sums_divide(struct cpu_sums *sums, uint64_t tick_ns, bool last, cpu_sums_put *put,
		    void *context)
{
	const struct cpu_sum *items = (const void *)sums->items.data;
	size_t count = tick_ns ? sums->items.size / sizeof(*items) : 0;
	uint64_t ticks = 0, done = 0, ns = 0;
	int err = 0;

	if (count)
		ns = divide_others(sums, tick_ns, last, &ticks);

	for (size_t i = 0; i < count && !err; i++) {
		struct record record = {.kind = RECORD_cpu_time};
		struct record_cpu_time *time = &record.cpu_time;

		time->thread = items[i].thread;
		time->used = items[i].used;
		time->ticks = items[i].ticks;
		if (has_own(&items[i])) {
			err = divide_own(sums, &items[i], tick_ns, &time->ns);
		} else {
			time->ns = part(ns, done + time->ticks, ticks) - part(ns, done, ticks);
			done += time->ticks;
		}
		err = err ? err : put(context, &record);
	}
	cpu_time_forget(sums->places, &sums->items);
	return err;
}

void cpu_sums_cut(struct cpu_sums *sums)
{
	sums->left = 0;
	cpu_time_forget(sums->balanced, &sums->balances);
}

/* --- reading ----------------------------------------------------------------- */

struct cpu_share {
	uint64_t thread, ns, ticks;
	uint64_t done; /* ticks already returned */
};

struct cpu_shares {
	struct buffer items; /* struct cpu_share[], by thread once sorted */
	bool sorted;
	uint64_t ticks; /* of samples without a cpu_time record */
};

int cpu_shares_create(struct cpu_shares **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void cpu_shares_free(struct cpu_shares *shares)
{
	if (!shares)
		return;
	buffer_free(&shares->items);
	free(shares);
}

void cpu_shares_begin(struct cpu_shares *shares)
{
	shares->items.size = 0;
	shares->sorted = false;
}

int cpu_shares_add(struct cpu_shares *shares, const struct record_cpu_time *record)
{
	const struct cpu_share item = {record->thread, record->ns, record->ticks, 0};

	return buffer_append(&shares->items, &item, sizeof(item)) ? -ENOMEM : 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct cpu_share *x = a, *y = b;

	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static struct cpu_share *cpu_time_find(struct cpu_shares *shares, uint64_t thread)
{
	size_t count = shares->items.size / sizeof(struct cpu_share);
	const struct cpu_share key = {.thread = thread};

	if (!count)
		return NULL;
	if (!shares->sorted)
		qsort(shares->items.data, count, sizeof(key), by_thread);
	shares->sorted = true;
	return bsearch(&key, shares->items.data, count, sizeof(key), by_thread);
}

/* The part of `ns` for the next `ticks` after the first *done of `all`; updates *done. */
static uint64_t cpu_time_take(uint64_t ns, uint64_t ticks, uint64_t all, uint64_t *done)
{
	uint64_t before = *done, left = all - before;

	*done = before + (ticks < left ? ticks : left);
	return part(ns, *done, all) - part(ns, before, all);
}

void cpu_shares_fill(struct cpu_shares *shares, uint64_t frequency, struct record_cpu *sample)
{
	uint32_t ticks = record_cpu_ticks(sample);
	struct cpu_share *share;

	if (sample->ns)
		return;
	share = cpu_time_find(shares, sample->thread);
	if (share && share->ticks)
		sample->ns = cpu_time_take(share->ns, ticks, share->ticks, &share->done);
	else if (frequency)
		sample->ns = part(SECOND_NS, shares->ticks + ticks, frequency) -
			     part(SECOND_NS, shares->ticks, frequency);
	if (!share || !share->ticks)
		shares->ticks += ticks;
}
