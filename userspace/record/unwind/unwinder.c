// SPDX-License-Identifier: BSD-2-Clause
/* unwinder.c: keeps the kernel's unwind tables in step with what the followed processes map. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/capabilities.h"
#include "unwind_spaces.h"
#include "unwinder.h"
#include "../../util/buffer.h"
#include "../../util/priority.h"

#define NOTES_MAX  ((size_t)8 << 20)     /* bytes of mappings that wait for the thread */
#define CROWDED_NS UINT64_C(500000000)   /* ... if there are many */
#define UNUSED_NS  UINT64_C(10000000000) /* unused rows are kept so long */

enum note_kind { NOTE_EXPECT, NOTE_MAP, NOTE_EXEC, NOTE_FORK, NOTE_EXIT };

struct note {
	enum note_kind kind;
	uint32_t pid, parent;
	uint64_t time;
	struct event_mmap mapping; /* of NOTE_MAP */
	char *path;                /* owned; of files only */
};

struct unwinder {
	struct unwind_maps *maps;
	struct unwind_modules *modules;
	struct unwind_spaces *spaces;
	pthread_t thread;
	bool running;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wakeup;
	struct buffer notes; /* struct note[] */
	size_t notes_bytes;  /* with their paths */
	bool flush;
	bool stop;
	uint64_t lost;
	uint64_t refused; /* by the thread */
	uint64_t cpu_ns;  /* of its readers */
};

/* --- the thread ------------------------------------------------------------------------ */

static int by_time(const void *left, const void *right)
{
	const struct note *a = left, *b = right;

	return a->time < b->time ? -1 : a->time > b->time;
}

static int act(struct unwinder *unwinder, const struct note *note)
{
	const struct module_place place = module_place_of(&note->mapping, note->path);

	switch (note->kind) {
	case NOTE_EXPECT:
		unwind_modules_expect(unwinder->modules, note->path);
		return 0;
	case NOTE_MAP:
		return unwind_spaces_map(unwinder->spaces, note->time, note->pid,
					 note->mapping.offset, &place);
	case NOTE_EXEC:
		return unwind_spaces_exec(unwinder->spaces, note->time, note->pid);
	case NOTE_FORK:
		return unwind_spaces_fork(unwinder->spaces, note->time, note->pid, note->parent);
	case NOTE_EXIT:
		unwind_spaces_exit(unwinder->spaces, note->time, note->pid);
		return 0;
	}
	return 0;
}

/* Acts upon notes in order of time and frees them; how many could not be. */
static uint64_t act_all(struct unwinder *unwinder, struct buffer *notes)
{
	struct note *all = (struct note *)(void *)notes->data;
	size_t count = notes->size / sizeof(*all);
	uint64_t now = 0, lost = 0;

	if (count)
		qsort(all, count, sizeof(*all), by_time);
	for (size_t i = 0; i < count; i++) {
		lost += act(unwinder, &all[i]) != 0;
		if (all[i].time > now)
			now = all[i].time;
		free(all[i].path);
	}
	unwind_spaces_publish(unwinder->spaces);
	if (now > UNUSED_NS)
		unwind_modules_sweep(
			unwinder->modules,
			now - (unwind_modules_crowded(unwinder->modules) ? CROWDED_NS : UNUSED_NS));
	buffer_free(notes);
	return lost;
}

static void *run(void *context)
{
	struct unwinder *unwinder = context;

	/* What it may not lose it has: a thread that cannot drop the rest works all the same. */
	(void)capabilities_drop();
	priority_restore();
	pthread_mutex_lock(&unwinder->lock);
	while (!unwinder->stop) {
		struct buffer notes = unwinder->notes;
		uint64_t lost;

		if (!unwinder->flush) {
			pthread_cond_wait(&unwinder->wakeup, &unwinder->lock);
			continue;
		}
		unwinder->notes = (struct buffer){0};
		unwinder->notes_bytes = 0;
		unwinder->flush = false;
		pthread_mutex_unlock(&unwinder->lock);
		lost = act_all(unwinder, &notes);
		pthread_mutex_lock(&unwinder->lock);
		unwinder->lost += lost;
		unwinder->cpu_ns = unwind_modules_cpu_ns(unwinder->modules);
		unwinder->refused = unwind_modules_refused(unwinder->modules) +
				    unwind_spaces_refused(unwinder->spaces);
	}
	pthread_mutex_unlock(&unwinder->lock);
	return NULL;
}

/* --- for others ------------------------------------------------------------------------ */

/* Signals are for the main thread, which waits for them. */
static int start(struct unwinder *unwinder)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&unwinder->thread, NULL, run, unwinder);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

int unwinder_create(const struct unwind_fds *fds, struct unwinder **out)
{
	struct unwinder *unwinder = calloc(1, sizeof(*unwinder));
	int err;

	if (!unwinder)
		return -ENOMEM;
	pthread_mutex_init(&unwinder->lock, NULL);
	pthread_cond_init(&unwinder->wakeup, NULL);
	err = unwind_maps_create(fds, &unwinder->maps);
	if (!err)
		err = unwind_modules_create(unwinder->maps, &unwinder->modules);
	if (!err)
		err = unwind_spaces_create(unwinder->maps, unwinder->modules, &unwinder->spaces);
	if (!err)
		err = start(unwinder);
	unwinder->running = !err;
	if (err) {
		unwinder_free(unwinder);
		return err;
	}
	*out = unwinder;
	return 0;
}

void unwinder_abandon(struct unwinder *unwinder)
{
	if (unwinder)
		unwind_modules_abandon(unwinder->modules);
}

static void notes_free(struct buffer *notes)
{
	struct note *all = (struct note *)(void *)notes->data;

	for (size_t i = 0; i < notes->size / sizeof(*all); i++)
		free(all[i].path);
	buffer_free(notes);
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	if (unwinder->running) {
		unwinder_abandon(unwinder);
		pthread_mutex_lock(&unwinder->lock);
		unwinder->stop = true;
		pthread_cond_signal(&unwinder->wakeup);
		pthread_mutex_unlock(&unwinder->lock);
		pthread_join(unwinder->thread, NULL);
	}
	notes_free(&unwinder->notes);
	unwind_spaces_free(unwinder->spaces);
	unwind_modules_free(unwinder->modules);
	unwind_maps_free(unwinder->maps);
	pthread_cond_destroy(&unwinder->wakeup);
	pthread_mutex_destroy(&unwinder->lock);
	free(unwinder);
}

/* Adds a note, with a path of its own if `path` is given. */
static void put(struct unwinder *unwinder, struct note note, const char *path)
{
	pthread_mutex_lock(&unwinder->lock);
	/* Files come faster than their rows are made: those beyond get none. */
	note.path = path && unwinder->notes_bytes < NOTES_MAX ? strdup(path) : NULL;
	unwinder->notes_bytes += sizeof(note) + (note.path ? strlen(note.path) : 0);
	if ((path && !note.path) || buffer_append(&unwinder->notes, &note, sizeof(note))) {
		unwinder->lost++;
		free(note.path);
	}
	pthread_mutex_unlock(&unwinder->lock);
}

void unwinder_expect(struct unwinder *unwinder, const char *path)
{
	if (unwinder)
		put(unwinder, (struct note){.kind = NOTE_EXPECT}, path);
}

static void note_mapping(void *context, const struct event_mmap *event, const char *path)
{
	const struct note note = {
		.kind = NOTE_MAP,
		.pid = event->header.pid,
		.time = event->header.time,
		.mapping = *event,
	};

	put(context, note, path);
}

static void note_exec(void *context, const struct process *process, uint64_t time)
{
	put(context, (struct note){.kind = NOTE_EXEC, .pid = process->pid, .time = time}, NULL);
}

static void note_fork(void *context, const struct process *child, uint32_t parent_pid)
{
	struct note note = {
		.kind = NOTE_FORK, .pid = child->pid, .parent = parent_pid, .time = child->begin};

	put(context, note, NULL);
}

static void note_end(void *context, const struct process *process)
{
	put(context, (struct note){.kind = NOTE_EXIT, .pid = process->pid, .time = process->end},
	    NULL);
}

void unwinder_subscribe(struct unwinder *unwinder, struct world *world)
{
	const struct world_subscriber subscriber = {
		.context = unwinder,
		.forks = note_fork,
		.execs = note_exec,
		.ends = note_end,
		.maps = note_mapping,
	};

	if (unwinder)
		world_subscribe(world, &subscriber);
}

void unwinder_flush(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	pthread_mutex_lock(&unwinder->lock);
	if (unwinder->notes.size) {
		unwinder->flush = true;
		pthread_cond_signal(&unwinder->wakeup);
	}
	pthread_mutex_unlock(&unwinder->lock);
}

uint64_t unwinder_refused(struct unwinder *unwinder)
{
	uint64_t count;

	if (!unwinder)
		return 0;
	pthread_mutex_lock(&unwinder->lock);
	count = unwinder->refused + unwinder->lost;
	pthread_mutex_unlock(&unwinder->lock);
	return count;
}

uint64_t unwinder_cpu_ns(struct unwinder *unwinder)
{
	uint64_t ns;

	if (!unwinder)
		return 0;
	pthread_mutex_lock(&unwinder->lock);
	ns = unwinder->cpu_ns;
	pthread_mutex_unlock(&unwinder->lock);
	return ns;
}
