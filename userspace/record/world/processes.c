// SPDX-License-Identifier: BSD-2-Clause
/* processes.c: the processes and threads of a recording. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "processes.h"
#include "../../util/quota.h"

/*
 * Sweeps after an end, because records may be late and totals are read each second. A last record
 * that is not stored after SWEEPS_LOST never will be.
 */
enum { SWEEPS_FORGET = 2, SWEEPS_DROP = 5, SWEEPS_LOST = 12 };

/* Sweeps per check of a process, and the failed checks after which it counts as ended. */
enum { TURNS = 16, MISSED_MAX = 2 };

/* Ended processes, and their last records, that are kept; beyond that they are dropped at once. */
enum { ENDED_MAX = 16384 };

/* If a process has more threads, those not seen for this many sweeps are dropped: the ends of most
 * were lost. */
enum { THREADS_MAX = 32768, THREAD_AGE_MAX = 16 };

/* Cache of the last ones, so that most events need no hash lookup. */
enum { RECENT = 256 };

#define THREAD_ENDED (UINT64_C(1) << 63)
#define THREAD_SWEPT (UINT64_C(1) << 62) /* per sweep since it ended */
#define THREAD_OLDER (UINT64_C(1) << 56) /* per sweep in which it was not seen */
#define THREAD_ID    (THREAD_OLDER - 1)
#define THREAD_AGE   (THREAD_SWEPT - THREAD_OLDER)

/* Bytes that a reference to a name takes. */
#define REFERENCE_BYTES 48

enum { REFERENCED = 1, WRITTEN = 2 };

struct thread_key {
	uint32_t process;
	uint32_t tid;
};

struct recent_thread {
	struct thread_key key;
	uint64_t id; /* 0: empty; never of an ended thread */
};

struct processes {
	struct profile_writer *writer;
	struct map *by_index; /* uint32_t to struct process * */
	struct map *by_proc;  /* proc_pid to its latest process */
	struct map *threads;  /* struct thread_key to id, with THREAD_ENDED */
	uint64_t last_thread; /* id */
	struct map *shares;   /* user to struct names_share * */
	size_t names_used;    /* bytes */
	struct mappings_pool mappings;
	uint64_t unnamed;
	size_t ended; /* processes ended in the last sweep */
	unsigned turn;
	struct process *recent[RECENT];              /* by index */
	struct recent_thread recent_threads[RECENT]; /* by tid */
};

int processes_create(struct profile_writer *writer, struct processes **out)
{
	struct processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	processes->writer = writer;
	processes->by_index = map_create(sizeof(uint32_t));
	processes->by_proc = map_create(sizeof(uint32_t));
	processes->threads = map_create(sizeof(struct thread_key));
	processes->shares = map_create(sizeof(uint32_t));
	if (!processes->by_index || !processes->by_proc || !processes->threads ||
	    !processes->shares) {
		processes_free(processes);
		return -ENOMEM;
	}
	*out = processes;
	return 0;
}

/* Bytes that its references take of the budget of names. */
static size_t references(const struct process *process)
{
	return process->referenced ? map_count(process->referenced) * REFERENCE_BYTES : 0;
}

/* Where the names of a process count, as its user's; NULL: no memory. */
static struct names_share *share_of(struct processes *processes, struct process *process)
{
	struct names_share *share =
		names_share_of(processes->shares, &processes->names_used, process->user);

	if (share && share != process->share) {
		if (process->share)
			process->share->used -= references(process);
		share->used += references(process);
		process->share = share;
	}
	return process->share;
}

static void forget_names(struct processes *processes, struct process *process)
{
	processes->names_used -= references(process);
	if (process->share)
		process->share->used -= references(process);
	process->share = NULL;
	names_release(process->names);
	map_free(process->referenced);
	process->names = NULL;
	process->referenced = NULL;
	process->changes++;
}

/* Drops all that is known about the process. */
static void processes_forget(struct processes *processes, struct process *process)
{
	size_t n;

	mappings_release(process->mappings);
	process->mappings = NULL;
	process_ahead(process, &n);
	processes->mappings.used -= n;
	buffer_free(&process->ahead);
	process->reached = 0;
	forget_names(processes, process);
}

void processes_free(struct processes *processes)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	if (!processes)
		return;
	while (processes->by_index && map_next(processes->by_index, &cursor, &key, &value)) {
		if (!*value)
			continue;
		processes_forget(processes, process_value(value));
		free(process_value(value));
	}
	map_free(processes->by_index);
	map_free(processes->by_proc);
	map_free(processes->threads);
	map_free_all(processes->shares, free);
	free(processes);
}

/* --- the present, from the rings ---------------------------------------------------------- */

struct process *processes_find(struct processes *processes, uint32_t index)
{
	struct process **recent = &processes->recent[index % RECENT];

	if (!*recent || (*recent)->id != index) {
		struct process *process = process_value(map_get(processes->by_index, &index));

		if (!process)
			return NULL;
		*recent = process;
	}
	return *recent;
}

struct process *processes_meet(struct processes *processes, uint32_t index, uint32_t pid,
			       uint64_t time)
{
	struct process *process = processes_find(processes, index);
	uint64_t *slot;

	if (process) {
		if (!process->announced && time < process->begin)
			process->begin = time;
		return process;
	}
	process = calloc(1, sizeof(*process));
	slot = process ? map_put(processes->by_index, &index, NULL) : NULL;
	if (!slot) {
		free(process);
		return NULL;
	}
	process->id = index;
	process->pid = pid;
	process->begin = time;
	process->end = PROCESS_RUNS;
	process->user = process->unwinds_for = process->follows_for = USER_UNKNOWN;
	*slot = (uintptr_t)process;
	return process;
}

int processes_begin(struct processes *processes, uint32_t index, const struct process_ids *ids,
		    uint64_t time)
{
	struct process *process = processes_meet(processes, index, ids->pid, time);
	uint64_t *slot = NULL;

	if (process && process->announced)
		return 0;
	if (process && ids->proc_pid)
		slot = map_put(processes->by_proc, &ids->proc_pid, NULL);
	if (!process || (ids->proc_pid && !slot))
		return -ENOMEM;
	process->announced = true;
	process->begin = time;
	process->ns_pid = ids->ns_pid;
	process->proc_pid = ids->proc_pid;
	if (slot) {
		process->older = process_value(slot);
		*slot = (uintptr_t)process;
	}
	return 1;
}

struct process *processes_at(const struct processes *processes, uint32_t proc_pid, uint64_t time)
{
	struct process *process = process_value(map_get(processes->by_proc, &proc_pid));
	struct process *found = NULL;

	/* What it did right before it was found is its own, unless the pid was another process's
	 * then. */
	for (; process && process->end >= time; process = process->older) {
		found = process;
		if (process->begin <= time)
			break;
	}
	return found;
}

void processes_end(struct process *process, uint64_t time)
{
	if (process->end != PROCESS_RUNS)
		return;
	process->end = time;
	process->sweeps = 1;
}

struct mappings_pool *processes_pool(struct processes *processes)
{
	return &processes->mappings;
}

static int put_files(const struct mapping *mappings, size_t n, struct map *files)
{
	for (size_t i = 0; i < n; i++)
		if (mappings[i].file && !map_put(files, &mappings[i].file, NULL))
			return -ENOMEM;
	return 0;
}

int processes_files(const struct processes *processes, struct map *files)
{
	size_t cursor = 0, n;
	const void *key;
	uint64_t *value;
	int err = 0;

	while (!err && map_next(processes->by_index, &cursor, &key, &value)) {
		const struct process *process = process_value(value);
		const struct mapping *mappings = mappings_all(process->mappings, &n);

		if (process->end != PROCESS_RUNS)
			continue;
		err = put_files(mappings, n, files);
		mappings = process_ahead(process, &n);
		err = err ? err : put_files(mappings, n, files);
	}
	return err;
}

size_t processes_count(const struct processes *processes)
{
	return map_count(processes->by_index);
}

size_t processes_threads(const struct processes *processes)
{
	return map_count(processes->threads);
}

/* Its proc_pid no longer refers to it. */
static void forget_number(struct processes *processes, const struct process *process)
{
	uint64_t *slot = map_get(processes->by_proc, &process->proc_pid);
	struct process *at = process_value(slot);

	if (at == process) {
		*slot = (uintptr_t)process->older;
		if (!process->older)
			map_remove(processes->by_proc, &process->proc_pid);
		return;
	}
	while (at && at->older != process)
		at = at->older;
	if (at)
		at->older = process->older;
}

/* --- in order of time --------------------------------------------------------------------- */

struct process *processes_write(struct processes *processes, uint32_t index,
				const struct process_ids *ids, uint64_t parent, uint64_t time)
{
	struct process *process = processes_meet(processes, index, ids->pid, time);
	struct record record = {.kind = RECORD_process};

	if (!process || process->written)
		return process;
	process->written = true;
	record.process.id = index;
	record.process.pid = ids->pid;
	record.process.ns_pid = ids->ns_pid;
	record.process.parent = parent;
	record.process.time = time;
	profile_writer_put(processes->writer, &record);
	return process;
}

struct process *processes_written(struct processes *processes, uint32_t index)
{
	struct process *process = processes_find(processes, index);

	return process && process->written ? process : NULL;
}

static struct recent_thread *recent_thread(struct processes *processes, uint32_t tid)
{
	return &processes->recent_threads[tid % RECENT];
}

static uint64_t thread_add(struct processes *processes, struct process *process, uint32_t tid,
			   uint32_t ns_tid, bool begins)
{
	struct thread_key key = {(uint32_t)process->id, tid};
	uint64_t *slot = map_put(processes->threads, &key, NULL);
	struct record record = {.kind = RECORD_thread};

	if (!slot)
		return 0;
	*slot &= ~THREAD_AGE;
	if (*slot && !(begins && (*slot & THREAD_ENDED)))
		return *slot & THREAD_ID;
	process->threads += !*slot;
	*slot = ++processes->last_thread;
	record.thread.id = *slot;
	record.thread.process = process->id;
	record.thread.tid = tid;
	record.thread.ns_tid = ns_tid;
	profile_writer_put(processes->writer, &record);
	return record.thread.id;
}

uint64_t processes_thread(struct processes *processes, struct process *process, uint32_t tid)
{
	const struct thread_key key = {(uint32_t)process->id, tid};
	struct recent_thread *recent = recent_thread(processes, tid);

	if (!recent->id || recent->key.process != key.process || recent->key.tid != tid)
		*recent =
			(struct recent_thread){key, thread_add(processes, process, tid, 0, false)};
	return recent->id;
}

uint64_t processes_thread_known(const struct processes *processes, uint32_t index, uint32_t tid)
{
	const struct thread_key key = {index, tid};
	const uint64_t *slot = map_get(processes->threads, &key);

	return slot ? *slot & THREAD_ID : 0;
}

uint64_t processes_thread_begins(struct processes *processes, struct process *process, uint32_t tid,
				 uint32_t ns_tid)
{
	recent_thread(processes, tid)->id = 0;
	return thread_add(processes, process, tid, ns_tid, true);
}

void processes_thread_ended(struct processes *processes, const struct process *process,
			    uint32_t tid)
{
	struct thread_key key = {(uint32_t)process->id, tid};
	uint64_t *slot = map_get(processes->threads, &key);

	recent_thread(processes, tid)->id = 0;
	if (slot)
		*slot |= THREAD_ENDED;
}

void process_inherit(struct process *child, const struct process *parent)
{
	/* If its own events came first, their reports are newer. */
	if (!child->mappings)
		child->mappings = mappings_share(parent->mappings);
	if (!child->names)
		child->names = names_share(parent->names);
	if (!child->numbered) {
		child->programs = parent->programs;
		child->numbered = parent->numbered;
		child->n_providers = parent->n_providers;
		memcpy(child->providers, parent->providers, sizeof(child->providers));
	}
	child->changes++;
}

int process_exec(struct processes *processes, struct process *process, uint64_t time)
{
	if (process->numbered)
		process->programs++;
	process->numbered = false;
	forget_names(processes, process);
	return mappings_forget(&process->mappings, time);
}

void process_over(struct process *process, uint64_t time)
{
	processes_end(process, time);
	if (!process->over)
		process->sweeps = 1;
	process->over = true;
}

struct sweep {
	struct processes *processes;
	const struct processes_watch *watch;
	size_t ended;
};

/* Is this the process's turn to be checked, and did it fail enough checks? */
static bool is_missed(const struct sweep *sweep, struct process *process)
{
	const struct processes_watch *watch = sweep->watch;

	if (!watch || (process->id ^ sweep->processes->turn) % TURNS)
		return false;
	process->missed = watch->is_there(watch->context, process) ? 0 : process->missed + 1;
	return process->missed == MISSED_MAX;
}

static bool sweep_process(void *context, const void *key, uint64_t *value)
{
	struct sweep *sweep = context;
	struct process *process = process_value(value);

	(void)key;
	if (process->end == PROCESS_RUNS && is_missed(sweep, process)) {
		sweep->watch->gone(sweep->watch->context, process);
		process->over = true;
	}
	if (process->end == PROCESS_RUNS)
		return true;
	sweep->ended++;
	process->sweeps++;
	if (!process->over && process->sweeps <= SWEEPS_LOST)
		return true;
	if (process->sweeps == SWEEPS_FORGET + 1)
		processes_forget(sweep->processes, process);
	if (process->sweeps <= SWEEPS_DROP && sweep->processes->ended <= ENDED_MAX)
		return true;
	if (sweep->watch)
		sweep->watch->dropped(sweep->watch->context, process);
	processes_forget(sweep->processes, process);
	forget_number(sweep->processes, process);
	sweep->processes->recent[process->id % RECENT] = NULL;
	free(process);
	return false;
}

/* Threads of a dropped process have ended, even if no record reported it. */
static bool sweep_thread(void *context, const void *key, uint64_t *value)
{
	const struct thread_key *thread = key;
	struct processes *processes = context;
	struct process *process = processes_find(processes, thread->process);

	if (process && !(*value & THREAD_SWEPT) &&
	    (process->threads <= THREADS_MAX ||
	     (*value & THREAD_AGE) < THREAD_AGE_MAX * THREAD_OLDER)) {
		if (*value & THREAD_ENDED)
			*value |= THREAD_SWEPT;
		else if ((*value & THREAD_AGE) < THREAD_AGE)
			*value += THREAD_OLDER;
		return true;
	}
	recent_thread(processes, thread->tid)->id = 0;
	if (process)
		process->threads--;
	return false;
}

void processes_each(struct processes *processes, map_keep *visit, void *context)
{
	map_filter(processes->by_index, visit, context);
}

void processes_sweep(struct processes *processes, const struct processes_watch *watch)
{
	struct sweep sweep = {processes, watch, 0};

	processes->turn++;
	map_filter(processes->by_index, sweep_process, &sweep);
	processes->ended = sweep.ended;
	/* From now on, looking up a thread makes it young. */
	memset(processes->recent_threads, 0, sizeof(processes->recent_threads));
	map_filter(processes->threads, sweep_thread, processes);
}

/* The index of a provider among those of its process; those beyond the last share its index. */
static uint64_t place_provider(struct process *process, uint8_t provider)
{
	uint64_t place = 0;

	while (place < process->n_providers && process->providers[place] != provider)
		place++;
	if (place == PROFILE_PROVIDERS)
		place--;
	else if (place == process->n_providers)
		process->providers[process->n_providers++] = provider;
	return place << PROVIDER_SHIFT;
}

uint64_t process_number(struct process *process, uint8_t provider, uint64_t number)
{
	process->numbered = true;
	return process_heap(process, provider, number) + (process->programs << 48);
}

uint64_t process_heap(struct process *process, uint8_t provider, uint64_t heap)
{
	return heap + place_provider(process, provider);
}

int processes_reference(struct processes *processes, struct process *process,
			enum gcprof_name_kind kind, uint64_t number)
{
	struct names_share *share = share_of(processes, process);
	struct name_key key = {kind, number};
	struct name name;
	uint64_t *state;

	if (share && !process->referenced)
		process->referenced = map_create(sizeof(struct name_key));
	if (!process->referenced)
		return -ENOMEM;
	state = map_get(process->referenced, &key);
	if (state && *state == WRITTEN)
		return 0;
	if (!state && !names_allow(share, names_bytes(process->names) + references(process),
				   REFERENCE_BYTES)) {
		quota_refuse(process->user);
		processes->unnamed++;
		return 0;
	}
	if (!state) {
		state = map_put(process->referenced, &key, NULL);
		if (!state)
			return -ENOMEM;
		processes->names_used += REFERENCE_BYTES;
		share->used += REFERENCE_BYTES;
	}
	*state = REFERENCED;
	if (!names_get(process->names, key, &name))
		return 0;
	*state = WRITTEN;
	return names_write(processes->writer, process->id, key, &name);
}

int processes_name(struct processes *processes, struct process *process, enum gcprof_name_kind kind,
		   uint64_t number, const struct name *name)
{
	struct names_share *share = share_of(processes, process);
	struct name_key key = {kind, number};
	struct name known;
	uint64_t *state;
	int err;

	/* Each heap announces its names again, and for each profiler that attaches. */
	if (names_get(process->names, key, &known) && names_same(&known, name))
		return 0;
	err = share ? names_set(&process->names, share, key, name) : -ENOMEM;
	if (err == -EOVERFLOW)
		quota_refuse(process->user);
	if (err)
		return err;
	state = process->referenced ? map_get(process->referenced, &key) : NULL;
	if (!state)
		return 0;
	*state = WRITTEN;
	return names_write(processes->writer, process->id, key, name);
}

uint64_t processes_unnamed(const struct processes *processes)
{
	return processes->unnamed;
}
