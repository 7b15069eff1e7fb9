/* SPDX-License-Identifier: BSD-2-Clause */
/* lock_holders.c: what threads that hold locks do while others wait for these. */
#include "lock_holders.h"

#include <errno.h>
#include <stdlib.h>

#include "../../util/buffer.h"
#include "../../util/map.h"
#include "../world/world.h"
#include "patterns.h"
#include "spots.h"

/* Beyond these, later threads and stacks do not count. */
enum { LAST_DOINGS = 128, THREADS_MAX = 1 << 12, STACKS_MAX = 1 << 16 };

/* A timer sample, or a wait. */
struct doing {
	uint64_t begin, end;
	uint32_t cost;
	uint32_t call; /* as of struct lock_held */
	bool locks;    /* another thread ended the wait */
};

struct doings {
	struct doing last[LAST_DOINGS]; /* a ring */
	size_t count;
};

/* A stack that waits for a lock, and one of the thread that holds it. */
struct stacks_key {
	uint32_t waiter, holder, call, unused;
};

struct held_stacks {
	struct stacks_key key;
	double ns;
};

int lock_holders_init(struct lock_holders *holders)
{
	*holders = (struct lock_holders){.thread_index = map_create(sizeof(uint64_t)),
					 .stack_index = map_create(sizeof(struct stacks_key)),
					 .n_stacks = 1};
	return holders->thread_index && holders->stack_index ? 0 : -ENOMEM;
}

void lock_holders_free(struct lock_holders *holders)
{
	free(holders->threads);
	free(holders->stacks);
	free(holders->items);
	map_free(holders->thread_index);
	map_free(holders->stack_index);
}

static void add_doing(struct lock_holders *holders, uint64_t thread, struct doing doing)
{
	const uint64_t *number = map_get(holders->thread_index, &thread);
	struct doings *doings = number ? &holders->threads[*number - 1] : NULL;

	if (doings)
		doings->last[doings->count++ % LAST_DOINGS] = doing;
}

/* Adds a thread that ended a wait: what it does from now on is kept. */
static int add_holder(struct lock_holders *holders, uint64_t thread)
{
	uint64_t *number;

	if (holders->n_threads >= THREADS_MAX)
		return 0;
	number = map_put(holders->thread_index, &thread, NULL);
	if (!number || array_reserve(&holders->threads, &holders->threads_capacity,
				     holders->n_threads, sizeof(*holders->threads)) < 0)
		return -ENOMEM;
	holders->threads[holders->n_threads] = (struct doings){.count = 0};
	*number = ++holders->n_threads;
	return 0;
}

static int add_stacks(struct lock_holders *holders, struct stacks_key key, double ns)
{
	uint64_t *number = map_get(holders->stack_index, &key);

	if (!number && holders->n_stacks >= STACKS_MAX)
		return 0;
	number = number ? number : map_put(holders->stack_index, &key, NULL);
	if (!number || array_reserve(&holders->stacks, &holders->stacks_capacity, holders->n_stacks,
				     sizeof(*holders->stacks)) < 0)
		return -ENOMEM;
	if (!*number) {
		*number = holders->n_stacks++;
		holders->stacks[*number] = (struct held_stacks){.key = key};
	}
	holders->stacks[*number].ns += ns;
	return 0;
}

/* Of a wait its part in the span; a timer sample is a point, which counts whole or not at all. */
static double within(const struct doing *doing, uint64_t begin, uint64_t end)
{
	uint64_t from = doing->begin > begin ? doing->begin : begin;
	uint64_t to = doing->end < end ? doing->end : end;

	if (!doing->call)
		return doing->end >= begin && doing->end <= end
			       ? (double)(doing->end - doing->begin)
			       : 0;
	return to > from ? (double)(to - from) : 0;
}

/* From the end of the wait backwards, until the holder got a lock from another thread. */
static int add_span(struct lock_holders *holders, const struct doings *doings, uint32_t waiter,
		    uint64_t begin, uint64_t end)
{
	const struct doing *doing;
	double ns;
	int err = 0;

	for (size_t i = 1; i <= LAST_DOINGS && i <= doings->count && !err; i++) {
		doing = &doings->last[(doings->count - i) % LAST_DOINGS];
		if (doing->end < begin)
			break;
		ns = within(doing, begin, end);
		if (ns > 0)
			err = add_stacks(holders,
					 (struct stacks_key){waiter, doing->cost, doing->call, 0},
					 ns);
		if (doing->locks)
			break;
	}
	return err;
}

static int add_wait(struct lock_holders *holders, const struct record_wait *record, uint32_t cost)
{
	uint64_t begin = record->time > record->duration ? record->time - record->duration : 0;
	uint64_t end = record->time - (record->queued < record->duration ? record->queued : 0);
	const uint64_t *holder = map_get(holders->thread_index, &record->waker);
	bool in_call = record->reason == WAIT_CALL;
	struct doing doing = {begin, record->time, cost,
			      in_call ? (uint32_t)record->number + 1 : HELD_WITHOUT_CPU,
			      record->waker};
	int err = 0;

	if (record->waker && holder)
		err = add_span(holders, &holders->threads[*holder - 1], cost, begin, end);
	else if (record->waker)
		err = add_holder(holders, record->waker);
	add_doing(holders, record->thread, doing);
	return err;
}

int lock_holders_record(struct lock_holders *holders, const struct event *event, uint32_t cost)
{
	const struct record *record = event->record;
	const struct record_cpu *cpu = &record->cpu;

	if (record->kind == RECORD_wait)
		return record->wait.reason == WAIT_CALL || record->wait.reason == WAIT_PREEMPTED
			       ? add_wait(holders, &record->wait, cost)
			       : 0;
	add_doing(holders, cpu->thread,
		  (struct doing){cpu->time > cpu->ns ? cpu->time - cpu->ns : 0, cpu->time, cost, 0,
				 false});
	return 0;
}

static bool is_lock(const struct spot *spot)
{
	return spot->pattern &&
	       (spot->pattern->class == PATTERN_LOCK || spot->pattern->class == PATTERN_GIL);
}

/* What holders did that has functions in common. */
struct item_key {
	uint32_t lock, function, callee, call;
};

/* `items` has room. 0 or -ENOMEM. */
static int add_item(struct lock_holders *holders, struct map *index, struct item_key key, double ns)
{
	uint64_t *number = map_put(index, &key, NULL);

	if (!number)
		return -ENOMEM;
	if (!*number) {
		*number = ++holders->count;
		holders->items[*number - 1] =
			(struct lock_held){key.lock, key.function, key.callee, key.call, 0};
	}
	holders->items[*number - 1].ns += ns;
	return 0;
}

int lock_holders_finish(struct lock_holders *holders, const struct world *world,
			struct spot_walk *walk)
{
	const struct cost *costs = world->tree.costs;
	struct map *index = map_create(sizeof(struct item_key));
	int err = 0;

	holders->items = calloc(holders->n_stacks, sizeof(*holders->items));
	if (!holders->items || !index)
		err = -ENOMEM;
	for (size_t i = 1; i < holders->n_stacks && !err; i++) {
		const struct held_stacks *stacks = &holders->stacks[i];
		struct spot lock = spot_walk_to(walk, costs[stacks->key.waiter].stack);
		struct spot holder = spot_walk_to(walk, costs[stacks->key.holder].stack);

		/* Waiting for the lock is not holding it. */
		if (is_lock(&lock) && !(stacks->key.call && is_lock(&holder)))
			err = add_item(holders, index,
				       (struct item_key){lock.function, holder.function,
							 stacks->key.call ? holder.callee : 0,
							 stacks->key.call},
				       stacks->ns);
	}
	map_free(index);
	return err;
}
