// SPDX-License-Identifier: BSD-2-Clause
/* unwinder.c: keeps the kernel's unwind tables in step with the mappings of traced processes. */
#include "unwinder.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/buffer.h"
#include "../../util/priority.h"
#include "../../util/quota.h"
#include "../../util/turns.h"
#include "../machine/capabilities.h"
#include "../machine/clock.h"
#include "../world/ahead.h"

#define NOTES_MAX  ((size_t)8 << 20)     /* bytes of mappings queued for the thread, by users */
#define CROWDED_NS UINT64_C(500000000)   /* ... if there are many */
#define UNUSED_NS  UINT64_C(10000000000) /* time that unused rows are kept */
#define SWEEP_NS   UINT64_C(100000000)   /* between two searches for unused rows */
#define RESTS      64 /* times what collecting a user's mappings took, until the next time ... */
#define REST_NS    UINT64_C(1000000000) /* ... beyond so much of rest */

enum note_kind { NOTE_EXPECT, NOTE_MAP, NOTE_FORK, NOTE_EXIT };

struct note {
	struct turn turn;
	enum note_kind kind;
	uint32_t pid, parent;
	uint32_t file; /* for NOTE_EXPECT */
	uint64_t time;
	uint64_t since;      /* this and the next for NOTE_MAP: when the program was executed */
	struct mapping *all; /* of files that the process maps; owned */
	size_t n;
};

/* A user whose mappings were collected a moment ago. */
struct resting {
	uint32_t user;
	uint64_t next; /* they are not collected before; ns */
};

struct unwinder {
	struct unwind_maps *maps; /* from unwinder_connect() on, like the spaces */
	struct unwind_modules *modules;
	struct unwind_spaces *spaces;
	struct processes *processes;
	struct files *files;
	uint64_t swept; /* by the thread; ns */
	/* Maps, borrowed; -1: not connected yet. */
	int interpreters, divided;
	struct buffer changed; /* uint32_t[]: processes whose mappings changed */
	struct buffer resting; /* struct resting[] */
	pthread_t thread;
	bool running;

	pthread_mutex_t lock; /* protects the following */
	pthread_cond_t wakeup, settled;
	struct turns notes;       /* struct note */
	struct quota notes_bytes; /* of their mappings */
	bool flush;
	bool connects; /* the thread gets the maps, before the notes of any user */
	bool busy;     /* the thread is working */
	bool calm;     /* there is no hurry any more */
	bool stop;

	atomic_uint_least64_t lost;
	atomic_uint_least64_t refused; /* by the thread */
};

/* --- the thread ------------------------------------------------------------------------ */

static void note_free(struct note *note)
{
	if (note)
		free(note->all);
	free(note);
}

static size_t note_bytes(const struct note *note)
{
	return note->n * sizeof(*note->all);
}

static int act(struct unwinder *unwinder, const struct note *note)
{
	switch (note->kind) {
	case NOTE_EXPECT:
		unwind_modules_expect(unwinder->modules, note->file);
		return 0;
	case NOTE_MAP:
		return unwind_spaces_map(unwinder->spaces, note->time, note->pid, note->since,
					 note->all, note->n);
	case NOTE_FORK:
		return unwind_spaces_fork(unwinder->spaces, note->time, note->pid, note->parent);
	case NOTE_EXIT:
		unwind_spaces_exit(unwinder->spaces, note->time, note->pid);
		return 0;
	}
	return 0;
}

static void sweep(struct unwinder *unwinder, uint64_t now)
{
	if (now < unwinder->swept + SWEEP_NS)
		return;
	unwinder->swept = now;
	unwind_modules_sweep(
		unwinder->modules,
		now - (unwind_modules_crowded(unwinder->modules) ? CROWDED_NS : UNUSED_NS));
}

static bool connect_next(struct unwinder *unwinder)
{
	if (!unwinder->connects)
		return false;
	unwinder->connects = false;
	pthread_mutex_unlock(&unwinder->lock);
	unwind_modules_connect(unwinder->modules, unwinder->maps);
	pthread_mutex_lock(&unwinder->lock);
	return true;
}

/* Handles the next note, with the lock held before and afterwards; false: there is none. */
static bool act_next(struct unwinder *unwinder)
{
	struct note *note = (struct note *)(void *)turns_take(&unwinder->notes);
	uint64_t began = clock_now(), now;
	bool failed;

	if (!note)
		return false;
	quota_return(&unwinder->notes_bytes, note->turn.user, note_bytes(note));
	pthread_mutex_unlock(&unwinder->lock);
	failed = act(unwinder, note) != 0;
	now = clock_now();
	sweep(unwinder, now);
	pthread_mutex_lock(&unwinder->lock);
	turns_charge(&unwinder->notes, note->turn.user, now - began);
	note_free(note);
	unwinder->lost += failed;
	return true;
}

static void *unwinder_run(void *context)
{
	struct unwinder *unwinder = context;

	/* A thread that cannot drop other rights still works. */
	(void)capabilities_drop(false);
	pthread_mutex_lock(&unwinder->lock);
	while (!unwinder->stop) {
		if (unwinder->calm)
			priority_restore();
		if (!unwinder->flush) {
			pthread_cond_wait(&unwinder->wakeup, &unwinder->lock);
			continue;
		}
		unwinder->flush = false;
		unwinder->busy = true;
		while (!unwinder->stop && (connect_next(unwinder) || act_next(unwinder)))
			;
		unwinder->busy = false;
		pthread_cond_broadcast(&unwinder->settled);
		unwinder->refused = unwind_modules_refused(unwinder->modules);
		if (unwinder->spaces)
			unwinder->refused += unwind_spaces_refused(unwinder->spaces);
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
	err = -pthread_create(&unwinder->thread, NULL, unwinder_run, unwinder);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

int unwinder_create(struct files *files, struct processes *processes, struct unwinder **out)
{
	struct unwinder *unwinder = calloc(1, sizeof(*unwinder));
	int err;

	if (!unwinder)
		return -ENOMEM;
	unwinder->processes = processes;
	unwinder->files = files;
	unwinder->interpreters = unwinder->divided = -1;
	pthread_mutex_init(&unwinder->lock, NULL);
	pthread_cond_init(&unwinder->wakeup, NULL);
	pthread_cond_init(&unwinder->settled, NULL);
	unwinder->notes_bytes.most = NOTES_MAX;
	err = unwind_modules_create(NULL, files, &unwinder->modules);
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

void unwinder_settle(struct unwinder *unwinder, uint64_t ns)
{
	uint64_t end = clock_now() + ns;
	struct timespec until = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
	int err = 0;

	if (!unwinder)
		return;
	unwinder->resting.size = 0;
	unwinder_flush(unwinder);
	pthread_mutex_lock(&unwinder->lock);
	while (!err && (unwinder->busy || unwinder->flush))
		err = pthread_cond_clockwait(&unwinder->settled, &unwinder->lock, CLOCK_MONOTONIC,
					     &until);
	pthread_mutex_unlock(&unwinder->lock);
}

void unwinder_calm(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	unwind_modules_calm(unwinder->modules);
	pthread_mutex_lock(&unwinder->lock);
	unwinder->calm = true;
	pthread_cond_signal(&unwinder->wakeup);
	pthread_mutex_unlock(&unwinder->lock);
}

void unwinder_abandon(struct unwinder *unwinder)
{
	if (unwinder)
		unwind_modules_abandon(unwinder->modules);
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
	while (unwinder->notes.waiting)
		note_free((struct note *)(void *)turns_take(&unwinder->notes));
	turns_free(&unwinder->notes);
	quota_free(&unwinder->notes_bytes);
	buffer_free(&unwinder->changed);
	buffer_free(&unwinder->resting);
	unwind_spaces_free(unwinder->spaces);
	unwind_modules_free(unwinder->modules);
	unwind_maps_free(unwinder->maps);
	pthread_cond_destroy(&unwinder->wakeup);
	pthread_cond_destroy(&unwinder->settled);
	pthread_mutex_destroy(&unwinder->lock);
	free(unwinder);
}

/* --- notes --------------------------------------------------------------------------------- */

/* Takes over its mappings. */
static void unwinder_put(struct unwinder *unwinder, const struct note *note, uint32_t user)
{
	struct note *kept = malloc(sizeof(*kept));

	if (kept)
		*kept = *note;
	pthread_mutex_lock(&unwinder->lock);
	if (!kept || quota_add(&unwinder->notes_bytes, user, note_bytes(note))) {
		unwinder->lost++;
		free(note->all);
		free(kept);
	} else if (turns_put(&unwinder->notes, &kept->turn, user)) {
		quota_return(&unwinder->notes_bytes, user, note_bytes(note));
		unwinder->lost++;
		note_free(kept);
	}
	pthread_mutex_unlock(&unwinder->lock);
}

/* In one queue for each process, even if it becomes another user's: its notes stay in order. */
static uint32_t queue_of(struct process *process)
{
	if (process->unwinds_for == USER_UNKNOWN)
		process->unwinds_for = process->user;
	return process->unwinds_for;
}

int unwinder_connect(struct unwinder *unwinder, const struct unwind_fds *fds)
{
	int err;

	unwinder->interpreters = fds->interpreters;
	unwinder->divided = fds->processes;
	pthread_mutex_lock(&unwinder->lock);
	err = unwind_maps_create(fds, &unwinder->maps);
	if (!err)
		err = unwind_spaces_create(unwinder->maps, unwinder->modules, &unwinder->spaces);
	unwinder->connects = !err;
	pthread_mutex_unlock(&unwinder->lock);
	unwinder_flush(unwinder);
	return err;
}

void unwinder_expect(struct unwinder *unwinder, uint32_t file)
{
	if (unwinder)
		unwinder_put(unwinder, &(struct note){.kind = NOTE_EXPECT, .file = file}, 0);
}

void unwinder_remap(struct unwinder *unwinder, struct process *process)
{
	uint32_t index = (uint32_t)process->id;

	if (!unwinder || process->remapped)
		return;
	process->remapped = !buffer_append(&unwinder->changed, &index, sizeof(index));
	unwinder->lost += !process->remapped;
}

static void note_exec(void *context, struct process *process, uint64_t time)
{
	(void)time;
	unwinder_remap(context, process);
}

/* Not if it has ended, or its user has too many: see table_put(). */
static bool has_tables(const struct unwinder *unwinder, const struct process *process)
{
	return unwinder->divided < 0 ||
	       unwind_maps_has_process(unwinder->divided, (uint32_t)process->id);
}

/* The kernel side gave the child its parent's table and interpreters, which may not match what the
 * parent had mapped: those of a parent that became known after the fork, before it was heard of. */
static void note_fork(void *context, struct process *child, uint32_t parent_pid)
{
	struct unwinder *unwinder = context;
	const struct process *parent = processes_find(unwinder->processes, child->parent);

	if (!has_tables(unwinder, child))
		return;
	unwinder_put(unwinder,
		     &(struct note){.kind = NOTE_FORK,
				    .pid = child->pid,
				    .parent = parent_pid,
				    .time = child->begin},
		     queue_of(child));
	if (parent && (parent->remapped || parent->interpreted >= child->begin))
		unwinder_remap(unwinder, child);
}

static void note_end(void *context, const struct process *process)
{
	unwinder_put(context,
		     &(struct note){.kind = NOTE_EXIT, .pid = process->pid, .time = process->end},
		     process->unwinds_for);
}

void unwinder_subscribe(struct unwinder *unwinder, struct world *world)
{
	const struct world_subscriber subscriber = {
		.context = unwinder,
		.forks = note_fork,
		.execs = note_exec,
		.ends = note_end,
	};

	if (unwinder)
		world_subscribe(world, &subscriber);
}

/* At once, not with the rows: a program's first functions must be known. The program's own
 * interpreter lies below that of a library, which it does not use. */
static void find_interpreters(struct unwinder *unwinder, struct process *process,
			      const struct mapping *all, size_t n)
{
	struct interpreters found = {.since = process->program};

	for (size_t i = 0; i < n; i++) {
		const struct file *file = all[i].file && all[i].file != FILE_VDSO
						  ? files_by_id(unwinder->files, all[i].file)
						  : NULL;
		const struct runtime_facts *facts = file ? &file->facts.runtime : NULL;

		if (!file || file->state != FILE_KNOWN)
			continue;
		if (!found.cpython.runtime && facts->cpython.runtime &&
		    facts_locate(&file->facts, all[i].start, all[i].offset, 0, &found.cpython_bias))
			found.cpython = facts->cpython;
		if (!found.ruby.storage && facts->ruby.storage &&
		    facts_locate(&file->facts, all[i].start, all[i].offset, 0, &found.ruby_bias))
			found.ruby = facts->ruby;
		if (!found.pypy.storage && facts->pypy.storage &&
		    facts_locate(&file->facts, all[i].start, all[i].offset, 0, &found.pypy_bias))
			found.pypy = facts->pypy;
		if (!found.v8.at[V8_FUNCTION_SHARED])
			found.v8 = facts->v8;
	}
	if (unwinder->interpreters < 0 || !(found.cpython.runtime || found.ruby.storage ||
					    found.pypy.storage || found.v8.at[V8_FUNCTION_SHARED]))
		return;
	unwinder->lost +=
		unwind_maps_put_interpreters(unwinder->interpreters, process->pid, &found) != 0;
	process->interpreted = clock_now();
}

/* The files that a process maps. */
static void note_mappings(struct unwinder *unwinder, struct process *process)
{
	struct note note = {.kind = NOTE_MAP,
			    .pid = process->pid,
			    .time = clock_now(),
			    .since = process->program};
	struct mappings *view;
	const struct mapping *all;
	size_t n;

	process->remapped = false;
	if (!has_tables(unwinder, process))
		return;
	unwinder->lost += ahead_view(unwinder->processes, process, &view) != 0;
	all = mappings_all(view, &n);
	find_interpreters(unwinder, process, all, n);
	note.all = malloc((n + 1) * sizeof(*all));
	for (size_t i = 0; i < n && note.all; i++)
		if (all[i].file)
			note.all[note.n++] = all[i];
	mappings_release(view);
	if (note.all)
		unwinder_put(unwinder, &note, queue_of(process));
	else
		unwinder->lost++;
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec time = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static struct resting *resting_of(struct unwinder *unwinder, uint32_t user)
{
	const struct resting fresh = {.user = user};
	struct resting *all = (struct resting *)(void *)unwinder->resting.data;
	size_t n = unwinder->resting.size / sizeof(*all);

	for (size_t i = 0; i < n; i++)
		if (all[i].user == user)
			return &all[i];
	if (buffer_append(&unwinder->resting, &fresh, sizeof(fresh)))
		return NULL;
	return (struct resting *)(void *)unwinder->resting.data + n;
}

static bool queue_is_full(struct unwinder *unwinder, uint32_t user)
{
	bool full;

	pthread_mutex_lock(&unwinder->lock);
	full = !quota_allow(&unwinder->notes_bytes, user, 1);
	pthread_mutex_unlock(&unwinder->lock);
	return full;
}

/*
 * A program that maps without end has a longer list of mappings each time: beyond some 16 ms, its
 * user takes a bounded share of a CPU. If too much of that user is queued for the thread, changes
 * wait as well. False: not yet.
 */
static bool note_change(struct unwinder *unwinder, struct process *process)
{
	struct resting *resting = resting_of(unwinder, queue_of(process));
	uint64_t now = clock_now(), began = thread_cpu_ns();

	if (!resting || now < resting->next || queue_is_full(unwinder, queue_of(process)))
		return false;
	note_mappings(unwinder, process);
	if (resting->next + REST_NS < now)
		resting->next = now - REST_NS;
	resting->next += RESTS * (thread_cpu_ns() - began);
	return true;
}

static void note_changed(struct unwinder *unwinder)
{
	uint32_t *all = (uint32_t *)(void *)unwinder->changed.data;
	size_t n = unwinder->changed.size / sizeof(*all), kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct process *process = processes_find(unwinder->processes, all[i]);

		if (process && process->end == PROCESS_RUNS && !note_change(unwinder, process))
			all[kept++] = all[i];
	}
	unwinder->changed.size = kept * sizeof(*all);
}

void unwinder_flush(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	note_changed(unwinder);
	pthread_mutex_lock(&unwinder->lock);
	unwinder->flush = unwinder->notes.waiting > 0 || unwinder->connects;
	if (unwinder->flush)
		pthread_cond_signal(&unwinder->wakeup);
	pthread_mutex_unlock(&unwinder->lock);
}

uint64_t unwinder_refused(struct unwinder *unwinder)
{
	return unwinder ? unwinder->refused + unwinder->lost : 0;
}
