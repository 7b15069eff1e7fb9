/* SPDX-License-Identifier: BSD-2-Clause */
/* wakers.c: threads that ended other threads' waits for a futex, as lock holders do. */
#include "wakers.h"

#include <errno.h>
#include <stdlib.h>

#include "../../util/map.h"
#include "../world/world.h"

struct waker {
	uint64_t thread, count, total_ns, max_ns;
};

int wakers_init(struct wakers *wakers)
{
	*wakers = (struct wakers){.index = map_create(sizeof(uint64_t))};
	return wakers->index ? 0 : -ENOMEM;
}

void wakers_free(struct wakers *wakers)
{
	free(wakers->items);
	map_free(wakers->index);
}

int wakers_record(struct wakers *wakers, const struct world *world,
		  const struct record_wait *record)
{
	struct waker *waker;
	uint64_t *number;

	if (!record->waker || !tasks_find_thread(&world->tasks, record->waker))
		return 0;
	number = map_put(wakers->index, &record->waker, NULL);
	if (!number || array_reserve(&wakers->items, &wakers->capacity, wakers->count,
				     sizeof(*wakers->items)) < 0)
		return -ENOMEM;
	if (!*number) {
		wakers->items[wakers->count++] = (struct waker){.thread = record->waker};
		*number = wakers->count;
	}
	waker = &wakers->items[*number - 1];
	waker->count++;
	waker->total_ns += record->duration;
	if (record->duration > waker->max_ns)
		waker->max_ns = record->duration;
	return 0;
}

static int by_total(const void *a, const void *b)
{
	const struct model_waker *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

int wakers_finish(const struct wakers *wakers, struct world *world)
{
	struct model *model = world->model;

	model->wakers = calloc(wakers->count + 1, sizeof(*model->wakers));
	if (!model->wakers)
		return -ENOMEM;
	for (size_t i = 0; i < wakers->count; i++) {
		const struct waker *waker = &wakers->items[i];
		const struct thread *thread = tasks_find_thread(&world->tasks, waker->thread);

		model->wakers[model->n_wakers++] = (struct model_waker){
			.name = thread->name,
			.tid = thread->tid,
			.pid = tasks_find_process(&world->tasks, thread->process)->pid,
			.count = waker->count,
			.total_ns = waker->total_ns,
			.max_ns = waker->max_ns,
		};
	}
	qsort(model->wakers, model->n_wakers, sizeof(*model->wakers), by_total);
	return 0;
}
