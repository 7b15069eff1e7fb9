/* SPDX-License-Identifier: BSD-2-Clause */
/* own_places.c: what the program's own functions cost, by what they call. */
#include "own_places.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/map.h"
#include "../world/call_part.h"
#include "../world/syscall_text.h"
#include "../world/world.h"
#include "spots.h"

/* FAULT_NUMBER: waits for pages, in place of a call; no machine has so many calls. */
enum { STACK_CALLS_MAX = 1 << 16, FAULT_NUMBER = 1 << 20 };

struct call_key {
	uint64_t cost, process, number;
	uint64_t end; /* enum far_end */
};

struct stack_call {
	struct call_key key;
	double ns, variance, count, errors, bytes, messages, cpu_ns;
	uint64_t longest;
	const char *path;
};

struct last_wait {
	struct call_key key;
	uint64_t end;
	double ns; /* 0: a call has come that says what the thread waited for */
};

#define ANSWER_NS     1000000             /* in which a thread reads what it waited for */
#define PROCESS_WAITS (UINT64_C(1) << 63) /* beyond the number of any thread */

struct place_key {
	uint64_t pattern;
	uint32_t function, call, class, unused;
};

int own_places_init(struct own_places *places)
{
	*places = (struct own_places){.count = 1, .n_calls = 1};
	places->index = map_create(sizeof(struct place_key));
	places->call_index = map_create(sizeof(struct call_key));
	places->wait_index = map_create(sizeof(uint64_t));
	places->files = map_create(sizeof(struct call_key));
	if (!places->index || !places->call_index || !places->wait_index || !places->files)
		return -ENOMEM;
	if (lock_holders_init(&places->holders) < 0)
		return -ENOMEM;
	return call_kinds_init(&places->kinds);
}

void own_places_free(struct own_places *places)
{
	free(places->items);
	free(places->calls);
	map_free(places->index);
	map_free(places->call_index);
	free(places->waits);
	map_free(places->wait_index);
	map_free(places->files);
	lock_holders_free(&places->holders);
	call_kinds_free(&places->kinds);
}

/*
 * NULL: no memory. Where most calls have a stack of their own, those of later stacks count as if
 * they had none.
 */
static struct stack_call *get_call(struct own_places *places, struct call_key *key)
{
	uint64_t *item = map_get(places->call_index, key);

	if (!item && places->n_calls >= STACK_CALLS_MAX)
		key->cost = 0;
	item = item ? item : map_put(places->call_index, key, NULL);

	if (!item || array_reserve(&places->calls, &places->calls_capacity, places->n_calls,
				   sizeof(*places->calls)) < 0)
		return NULL;
	if (!*item) {
		*item = places->n_calls++;
		places->calls[*item] = (struct stack_call){.key = *key};
	}
	return &places->calls[*item];
}

/* Of a thread, or with PROCESS_WAITS of any thread of a process. NULL: no memory. */
static struct last_wait *get_wait(struct own_places *places, uint64_t of)
{
	uint64_t *item = map_put(places->wait_index, &of, NULL);

	if (!item || array_reserve(&places->waits, &places->waits_capacity, places->n_waits + 1,
				   sizeof(*places->waits)) < 0)
		return NULL;
	if (!*item) {
		*item = ++places->n_waits;
		places->waits[*item] = (struct last_wait){0};
	}
	return &places->waits[*item];
}

static bool is_answer(const struct last_wait *wait, const struct record_syscall *record)
{
	return wait->ns > 0 && record->time - record->duration <= wait->end + ANSWER_NS;
}

static int move_wait(struct own_places *places, struct last_wait *wait)
{
	struct call_key moved = wait->key;
	struct stack_call *call;

	moved.end = END_SERVER;
	for (int to = 0; to < 2; to++) {
		call = get_call(places, to ? &moved : &wait->key);
		if (!call)
			return -ENOMEM;
		call->ns += to ? wait->ns : -wait->ns;
		call->count += to ? 1 : -1;
	}
	return 0;
}

/*
 * A thread that waits for one of several descriptors, and then reads from a connection to a server,
 * waited for that: the wait is moved to a key of its own. Runtimes whose threads wait for each
 * other (Go, Java's HttpClient) read in another thread. Whoever reads from a client first waited
 * for that.
 */
static int note_answer(struct own_places *places, const struct model *model,
		       const struct record_syscall *record, const struct call_key *key)
{
	uint64_t ids[2] = {record->thread, key->process | PROCESS_WAITS};
	bool waits = call_kinds_waits(&places->kinds, model, record->number);
	uint64_t answered = 0;

	if (!waits && (record->result < 0 || key->end == END_UNKNOWN))
		return 0;
	for (int i = 0; i < 2; i++) {
		struct last_wait *last = get_wait(places, ids[i]);

		if (!last)
			return -ENOMEM;
		if (waits) {
			*last = (struct last_wait){*key, record->time,
						   (double)call_stands_ns(record)};
			continue;
		}
		if (key->end == END_SERVER && !answered && is_answer(last, record)) {
			answered = last->end;
			if (move_wait(places, last) < 0)
				return -ENOMEM;
		}
		if (key->end == END_CLIENT || last->end == answered)
			last->ns = 0;
	}
	return 0;
}

static int take_call(struct own_places *places, struct world *world, const struct event *event)
{
	const struct record_syscall *record = &event->record->syscall;
	const struct thread *thread = tasks_find_thread(&world->tasks, record->thread);
	int64_t cost = record->stack ? tree_cost(&world->tree, record->stack) : 0;
	struct call_key key = {.number = record->number & UINT32_MAX};
	double stands = (double)call_stands(record);
	struct stack_call *call;
	int end, message;

	if (!thread || !event->selected)
		return 0;
	end = call_kinds_note(&places->kinds, world->model, thread->process, record);
	message = world->arguments ? call_kinds_message(&places->kinds, world->model,
							thread->process, record)
				   : 0;
	if (cost < 0 || end < 0 || message < 0)
		return -ENOMEM;
	key.end = (uint64_t)end;
	if (record->flags & SYSCALL_COMPAT)
		key.number |= SYSCALL_NUMBER_COMPAT;
	key.cost = (uint64_t)cost;
	key.process = thread->process;
	call = get_call(places, &key);
	if (!call)
		return -ENOMEM;
	call->ns += (double)call_stands_ns(record);
	call->variance +=
		(double)call_stands_ns(record) * (double)record->duration * fmax(stands - 1, 0);
	call->count += stands;
	call->messages += message ? stands : 0;
	if (record->result < 0)
		call->errors += stands;
	else
		call->bytes += stands * (double)record->result;
	if (record->duration >= call->longest) {
		call->longest = record->duration;
		call->path = record->path ? tree_text(&world->tree, record->path) : NULL;
	}
	return note_answer(places, world->model, record, &key);
}

static int note_file(struct own_places *places, const struct record_wait *record, uint64_t process,
		     uint64_t cost)
{
	struct call_key key = {.cost = cost, .process = process, .number = record->number};
	uint64_t *files = map_put(places->files, &key, NULL);

	if (files)
		*files |= UINT64_C(1) << record->file;
	return files ? 0 : -ENOMEM;
}

static int take_wait(struct own_places *places, struct world *world, const struct event *event)
{
	const struct record_wait *record = &event->record->wait;
	const struct thread *thread = tasks_find_thread(&world->tasks, record->thread);
	int64_t cost = record->stack ? tree_cost(&world->tree, record->stack) : 0;
	struct call_key key = {.number = FAULT_NUMBER};
	struct stack_call *call;

	if (!thread || !event->selected)
		return 0;
	if (cost < 0)
		return -ENOMEM;
	if (record->reason == WAIT_CALL && record->file && record->file < WAIT_FILES &&
	    !(record->flags & WAIT_COMPAT) &&
	    note_file(places, record, thread->process, (uint64_t)cost) < 0)
		return -ENOMEM;
	if (record->reason != WAIT_FAULT)
		return lock_holders_record(&places->holders, event, (uint32_t)cost);
	key.process = thread->process;
	key.cost = (uint64_t)cost;
	call = get_call(places, &key);
	if (!call)
		return -ENOMEM;
	call->ns += (double)record->duration + (double)record->held_ns;
	call->count += 1 + (double)record->held;
	return 0;
}

static int take_cpu(struct own_places *places, struct world *world, const struct event *event)
{
	const struct record_cpu *record = &event->record->cpu;
	const struct thread *thread = tasks_find_thread(&world->tasks, record->thread);
	int64_t cost = record->stack ? tree_cost(&world->tree, record->stack) : 0;
	struct call_key key = {.number = record->call - 1};
	struct stack_call *call;

	if (!thread || !event->selected || record->recording)
		return 0;
	if (cost < 0)
		return -ENOMEM;
	if (cost)
		places->last_costs[places->n_last++ % LAST_COSTS] = (uint32_t)cost;
	if (lock_holders_record(&places->holders, event, (uint32_t)cost) < 0)
		return -ENOMEM;
	if (!record->call)
		return 0;
	key.cost = (uint64_t)cost;
	key.process = thread->process;
	call = get_call(places, &key);
	if (!call)
		return -ENOMEM;
	call->cpu_ns += (double)record->ns;
	return 0;
}

int own_places_record(struct own_places *places, struct world *world, const struct event *event)
{
	const struct record *record = event->record;

	switch (record->kind) {
	case RECORD_syscall:
		return take_call(places, world, event);
	case RECORD_wait:
		return take_wait(places, world, event);
	case RECORD_cpu:
		return take_cpu(places, world, event);
	case RECORD_syscall_total:
		return call_kinds_total(&places->kinds, world->model, record->syscall_total.process,
					record->syscall_total.number);
	default:
		return 0;
	}
}

/* NULL: no memory. */
static struct place *get_place(struct own_places *places, const struct spot *spot, uint32_t call,
			       enum call_class class)
{
	struct place_key key = {(uintptr_t)spot->pattern, spot->function, call, class, 0};
	uint64_t *item = map_put(places->index, &key, NULL);

	if (!item || array_reserve(&places->items, &places->capacity, places->count,
				   sizeof(*places->items)) < 0)
		return NULL;
	if (!*item) {
		*item = places->count++;
		places->items[*item] = (struct place){.function = spot->function,
						      .pattern = spot->pattern,
						      .call = call,
						      .class = class};
	}
	return &places->items[*item];
}

/*
 * Callers are not kept apart, as there may be many: they vote with their ns or bytes, and one with
 * more than half of them wins.
 */
static void vote(struct place *place, uint32_t caller, double weight)
{
	if (place->caller == caller) {
		place->caller_votes += weight;
	} else if (weight > place->caller_votes) {
		place->caller = caller;
		place->caller_votes = weight - place->caller_votes;
	} else {
		place->caller_votes -= weight;
	}
}

static int add_cost(struct own_places *places, const struct world *world, struct spot_walk *walk,
		    uint32_t index)
{
	const struct cost *cost = &world->tree.costs[index];
	const struct stack_life *life = tree_life_of(&world->tree, cost);
	struct spot spot = spot_walk_to(walk, cost->stack);
	double gc_ns = (double)tree_rest_of(&world->tree, cost)->gc_cpu_ns;
	struct place *place;

	/* A compiler works for the program, but nothing of it is the program's to change. */
	if (spot.compiler && !spot.pattern)
		spot = (struct spot){0};
	place = get_place(places, &spot, 0, CALL_OTHER);
	if (!place)
		return -ENOMEM;
	gc_ns = spot.collector ? (double)cost->cpu_ns : gc_ns;
	vote(place, spot.caller, (double)cost->cpu_ns + life->bytes.value / 100);
	place->cpu_samples += cost->cpu_samples;
	place->cpu_ns += (double)cost->cpu_ns - gc_ns;
	place->collector_ns += gc_ns;
	if (!cost->life)
		return 0;
	caused_add(&place->caused, &world->tree.lives, cost->life);
	tally_merge(&place->bytes, &life->bytes);
	place->samples += life->samples;
	share_merge(&place->survived, &life->survived);
	return 0;
}

static int add_call(struct own_places *places, const struct world *world, struct spot_walk *walk,
		    const struct stack_call *call)
{
	const char *name = syscall_describe(world->model, call->key.number);
	struct call_key of_files = call->key;
	struct spot spot = {0};
	const uint64_t *files;
	enum call_class class;
	struct place *place;
	bool longest;

	if (!name)
		return -ENOMEM;
	if (call->key.cost)
		spot = spot_walk_to(walk, world->tree.costs[call->key.cost].stack);
	of_files.end = END_UNKNOWN;
	files = map_get(places->files, &of_files);
	if (call->key.number == FAULT_NUMBER)
		class = CALL_FAULT;
	else
		class = call_kinds_class(&places->kinds, call->key.process, name,
					 (enum far_end)call->key.end, files ? (unsigned)*files : 0,
					 spot.pattern);
	place = get_place(places, &spot, (uint32_t)call->key.number + 1, class);
	if (!place)
		return -ENOMEM;
	longest = call->ns > place->call_ns;
	vote(place, spot.caller, call->ns + call->cpu_ns);
	place->call_ns += call->ns;
	place->call_variance += call->variance;
	place->calls += call->count;
	place->errors += call->errors;
	place->moved_bytes += call->bytes;
	place->messages += call->messages;
	place->call_cpu_ns += call->cpu_ns;
	place->path = longest && call->path ? call->path : place->path;
	return 0;
}

/*
 * What records of a call say together is made equal to its total, which is exact or better known:
 * calls without records are like those with. If they took longer than that, they are waits that
 * were never over, in threads without work; no function is charged with these.
 */
static void scale_calls(struct own_places *places, const struct model_syscall *row)
{
	double ns = 0, calls = 0, stand_for, longer;

	for (size_t i = 1; i < places->count; i++) {
		const struct place *place = &places->items[i];

		ns += place->call == row->number + 1 ? place->call_ns : 0;
		calls += place->call == row->number + 1 ? place->calls : 0;
	}
	stand_for = calls > 0 ? (double)row->count / calls : 1;
	longer = ns > 0 ? fmin((double)row->total_ns / ns, fmax(stand_for, 1)) : 1;
	for (size_t i = 1; i < places->count && ns > 0 && calls > 0; i++) {
		struct place *place = &places->items[i];

		if (place->call != row->number + 1)
			continue;
		place->call_ns *= longer;
		place->call_variance *= longer * longer;
		place->calls *= stand_for;
		place->moved_bytes *= stand_for;
		place->messages *= stand_for;
	}
}

/* As a program dies, the kernel works for it. */
static int find_last(struct own_places *places, const struct world *world, struct spot_walk *walk)
{
	for (size_t i = 0; i < LAST_COSTS && i < places->n_last; i++) {
		size_t at = (places->n_last - 1 - i) % LAST_COSTS;
		struct spot spot =
			spot_walk_to(walk, world->tree.costs[places->last_costs[at]].stack);
		struct place *place = spot.function ? get_place(places, &spot, 0, CALL_OTHER)
						    : NULL;

		if (spot.function && !place)
			return -ENOMEM;
		if (place) {
			places->last = (uint32_t)(place - places->items);
			return 0;
		}
	}
	return 0;
}

int own_places_finish(struct own_places *places, const struct world *world)
{
	struct spot_walk *walk = spot_walk_create(world);
	size_t n = 0;
	uint32_t *order = tree_order(&world->tree, &n);
	int err = walk && order ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		tree_prefetch(&world->tree, order, i, n);
		err = add_cost(places, world, walk, order[i]);
	}
	for (size_t i = 1; i < places->n_calls && !err; i++)
		err = add_call(places, world, walk, &places->calls[i]);
	for (size_t i = 0; i < world->model->n_syscalls && !err; i++)
		scale_calls(places, &world->model->syscalls[i]);
	err = err ? err : find_last(places, world, walk);
	err = err ? err : lock_holders_finish(&places->holders, world, walk);
	free(order);
	spot_walk_free(walk);
	return err;
}
