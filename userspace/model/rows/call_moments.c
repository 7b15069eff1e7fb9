/* SPDX-License-Identifier: BSD-2-Clause */
/* call_moments.c: the costs of a call tree, or of other rows, by window of time. */
#include "call_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "../event.h"
#include "../world/call_part.h"
#include "../world/world.h"

enum { MOMENTS_MAX = 1 << 22 };

static int by_place(const void *a, const void *b)
{
	const struct call_moment *x = a, *y = b;

	if (x->measure != y->measure)
		return x->measure < y->measure ? -1 : 1;
	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Sorts the entries and merges equal ones. */
static void merge(struct call_moments *moments)
{
	struct call_moment *items = moments->items;
	size_t kept = 0;

	if (!moments->count)
		return;
	qsort(items, moments->count, sizeof(*items), by_place);
	for (size_t i = 1; i < moments->count; i++) {
		if (by_place(&items[kept], &items[i]) != 0)
			items[++kept] = items[i];
		else if (!(moments->largest >> items[i].measure & 1))
			items[kept].value += items[i].value;
		else if (items[i].value > items[kept].value)
			items[kept].value = items[i].value;
	}
	moments->count = kept + 1;
}

static uint32_t last_window(const struct call_moments *moments)
{
	uint32_t last = 0;

	for (size_t i = 0; i < moments->count; i++)
		if (moments->items[i].window > last)
			last = moments->items[i].window;
	return last;
}

/* Doubles the length of windows. */
static void lengthen(struct call_moments *moments)
{
	for (size_t i = 0; i < moments->count; i++)
		moments->items[i].window /= 2;
	moments->step_ns *= 2;
}

void call_moments_limit(struct call_moments *moments, size_t most)
{
	while (moments->count > most && last_window(moments) > 0) {
		lengthen(moments);
		merge(moments);
	}
}

static int make_room(struct call_moments *moments)
{
	size_t most = moments->most ? moments->most : MOMENTS_MAX;

	if (moments->count >= most) {
		merge(moments);
		call_moments_limit(moments, most / 2);
		moments->lost = moments->count > most / 2;
	}
	return array_reserve(&moments->items, &moments->capacity, moments->count,
			     sizeof(*moments->items));
}

int call_moments_add(struct call_moments *moments, const struct world *world, uint64_t time,
		     uint32_t node, uint32_t measure, double value)
{
	uint64_t start = world->timeline.start, window;

	if (moments->lost || value <= 0)
		return 0;
	if (!moments->step_ns)
		moments->step_ns = world->timeline.step_ns;
	while (moments->step_ns < world->timeline.step_ns)
		lengthen(moments);
	if (make_room(moments) < 0)
		return -ENOMEM;
	window = time > start ? (time - start) / moments->step_ns : 0;
	moments->items[moments->count++] = (struct call_moment){
		.window = window < UINT32_MAX ? (uint32_t)window : UINT32_MAX,
		.node = node,
		.measure = measure,
		.value = value,
	};
	return 0;
}

int call_moments_add_stack(struct call_moments *moments, const struct world *world, uint64_t time,
			   uint64_t stack, uint32_t measure, double value)
{
	const struct stack *node = tree_node(&world->tree, stack);

	return call_moments_add(moments, world, time, node ? node->cost : 0, measure, value);
}

int call_moments_record(struct call_moments *moments, const struct world *world,
			const struct event *event)
{
	const struct record *record = event->record;
	const struct record_alloc *alloc = &record->alloc;
	const struct record_wait *wait = &record->wait;

	if (!event->selected)
		return 0;
	switch (record->kind) {
	case RECORD_cpu:
		return call_moments_add_stack(moments, world, record->cpu.time, record->cpu.stack,
					      CALLS_CPU, (double)record->cpu.ns);
	case RECORD_alloc:
		return call_moments_add_stack(
			moments, world, alloc->time, alloc->stack, CALLS_ALLOC,
			(double)alloc->size / sample_probability(alloc->size, alloc->period));
	case RECORD_syscall:
		if (!record->syscall.stack)
			return 0;
		return call_moments_add_stack(moments, world, record->syscall.time,
					      record->syscall.stack, CALLS_SYSCALLS,
					      (double)call_stands_ns(&record->syscall));
	case RECORD_wait:
		if (!wait->stack)
			return 0;
		return call_moments_add_stack(moments, world, wait->time, wait->stack,
					      CALLS_OFF_CPU,
					      (double)(wait->duration + wait->held_ns));
	default:
		return 0;
	}
}

void call_moments_settle(struct call_moments *moments, const struct world *world)
{
	if (moments->lost)
		moments->count = 0;
	while (moments->count && (moments->step_ns < world->timeline.step_ns ||
				  last_window(moments) >= TIMELINE_WINDOWS))
		lengthen(moments);
	merge(moments);
}

void call_moments_finish(struct call_moments *moments, const struct world *world,
			 const struct call_ends *ends)
{
	if (moments->lost)
		moments->count = 0;
	for (size_t i = 0; i < moments->count; i++) {
		struct call_moment *moment = &moments->items[i];

		bool memory = moment->measure == CALLS_ALLOC || moment->measure >= CALLS_MEASURES;

		moment->node = memory ? ends[moment->node].memory : ends[moment->node].time;
	}
	call_moments_settle(moments, world);
}

void call_moments_renumber(struct call_moments *moments, const uint32_t *numbers)
{
	for (size_t i = 0; i < moments->count; i++)
		moments->items[i].node = numbers[moments->items[i].node];
	merge(moments);
}

void call_moments_free(struct call_moments *moments)
{
	free(moments->items);
	*moments = (struct call_moments){0};
}
