/* SPDX-License-Identifier: BSD-2-Clause */
/* plan.c: selects the tracks, and what is left out so that the file can be opened. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/plural.h"
#include "firefox.h"

/* Maximum bytes of JSON per row, without times and stacks; must agree with the writers. */
enum {
	CPU_BYTES = 26,
	FAULT_BYTES = 25,
	ALLOC_BYTES = 30,
	IDLE_BYTES = 3,  /* stack and weight have one digit */
	GC_BYTES = 1240, /* including its points on the graphs */
	MARK_BYTES = 700,
	CYCLE_BYTES = 1900, /* including its points on the graphs */
	RATE_BYTES = 8000,  /* of a process: a counter of its allocations */
	STACK_BYTES = 24,
	FRAME_BYTES = 70,
	FUNCTION_BYTES = 80,
	TRACK_BYTES = 1200,
	FIXED_BYTES = 32 << 10,
};

static int by_place(const void *a, const void *b)
{
	const struct ff_track *x = a, *y = b;

	/* The process with most CPU time comes first. */
	if (x->process_ns != y->process_ns)
		return x->process_ns > y->process_ns ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	/* The threads of a process come first, its first thread before the others. */
	if (x->kind != y->kind)
		return (int)x->kind - (int)y->kind;
	if (x->main != y->main)
		return x->main ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Counts threads of a process that have the same name. */
static int count_name(struct firefox *firefox, const struct ff_track *track)
{
	const struct thread *thread = tasks_find_thread(&firefox->world->tasks, track->thread);
	struct name_key key;
	uint64_t *count;

	if (!thread)
		return 0;
	key = firefox_name_key(track->process, thread->name ? thread->name : NO_NAME);
	count = map_put(firefox->thread_names, key.words, NULL);
	if (!count)
		return -ENOMEM;
	++*count;
	return 0;
}

static int add_track(struct firefox *firefox, size_t *capacity, const struct ff_track *track)
{
	if (array_reserve(&firefox->tracks, capacity, firefox->n_tracks, sizeof(*track)) < 0)
		return -ENOMEM;
	firefox->tracks[firefox->n_tracks++] = *track;
	return count_name(firefox, track);
}

/* Orders the tracks; each process knows its first one. */
static void order_tracks(struct firefox *firefox)
{
	const struct tasks *tasks = &firefox->world->tasks;
	struct ff_track *tracks = firefox->tracks;

	for (uint64_t id = 1; id < tasks->threads.limit; id++) {
		const struct thread *thread = tasks_find_thread(tasks, id);

		if (thread)
			firefox->processes[thread->process].cpu_ns += tasks_cpu_ns(thread);
	}
	for (size_t i = 0; i < firefox->n_tracks; i++)
		tracks[i].process_ns = firefox->processes[tracks[i].process].cpu_ns;
	qsort(tracks, firefox->n_tracks, sizeof(*tracks), by_place);
	for (size_t i = firefox->n_tracks; i--;)
		firefox->processes[tracks[i].process].first_track = i;
}

static uint64_t rows_of(const struct firefox *firefox, uint64_t id)
{
	const struct ff_thread *thread;

	if (id >= firefox->threads_capacity)
		return 0;
	thread = &firefox->threads[id];
	return thread->cpu.rows + thread->waits.rows + thread->allocs.rows + thread->calls.rows +
	       (thread->first_gc || thread->first_mark);
}

/* Links marks and collections by thread and process. */
static void chain(struct firefox *firefox)
{
	const struct tasks *tasks = &firefox->world->tasks;

	for (uint32_t i = 1; i < firefox->n_gcs; i++) {
		struct gc_mark *gc = &firefox->gcs[i];

		gc->next = firefox->threads[gc->end.thread].first_gc;
		firefox->threads[gc->end.thread].first_gc = i;
		gc->next_of_process = firefox->processes[gc->process].first_gc;
		firefox->processes[gc->process].first_gc = i;
	}
	for (uint32_t i = 1; i < firefox->n_marks; i++) {
		struct mark *mark = &firefox->marks[i];

		if (!mark->thread || !tasks_find_thread(tasks, mark->thread))
			mark->thread = 0;
		mark->next = firefox->threads[mark->thread].first_mark;
		firefox->threads[mark->thread].first_mark = i;
	}
}

static int add_process(struct firefox *firefox, size_t *capacity, uint64_t id)
{
	const struct ff_process *process = &firefox->processes[id];
	struct ff_track tracks[] = {
		{.kind = TRACK_ALLOCATIONS, .process = id, .rows = process->allocs.rows},
		{.kind = TRACK_FAULTS, .process = id, .rows = process->faults.rows},
	};

	for (size_t i = 0; i < sizeof(tracks) / sizeof(*tracks); i++)
		if (tracks[i].rows && add_track(firefox, capacity, &tracks[i]) < 0)
			return -ENOMEM;
	return 0;
}

int firefox_plan_tracks(struct firefox *firefox)
{
	const struct tasks *tasks = &firefox->world->tasks;
	size_t capacity = 0;

	if (array_reserve(&firefox->threads, &firefox->threads_capacity, tasks->threads.limit,
			  sizeof(*firefox->threads)) < 0 ||
	    array_reserve(&firefox->processes, &firefox->processes_capacity, tasks->processes.limit,
			  sizeof(*firefox->processes)) < 0)
		return -ENOMEM;
	chain(firefox);
	for (uint64_t id = 1; id < tasks->threads.limit; id++) {
		const struct thread *thread = tasks_find_thread(tasks, id);
		struct ff_track track = {.thread = id, .rows = rows_of(firefox, id)};

		/* A profile without any thread cannot be opened. */
		if (!thread || (!track.rows && id != 1))
			continue;
		track.process = thread->process;
		track.main = thread->tid == tasks_find_process(tasks, thread->process)->pid;
		if (add_track(firefox, &capacity, &track) < 0)
			return -ENOMEM;
	}
	for (uint64_t id = 1; id < tasks->processes.limit; id++)
		if (add_process(firefox, &capacity, id) < 0)
			return -ENOMEM;
	if (!firefox->n_tracks && add_track(firefox, &capacity, &(struct ff_track){0}) < 0)
		return -ENOMEM;
	order_tracks(firefox);
	return 0;
}

size_t firefox_main_track(const struct firefox *firefox, uint64_t process)
{
	return firefox->processes[process].first_track;
}

static uint64_t names_size(const struct firefox *firefox)
{
	const struct functions *functions = &firefox->world->functions;
	uint64_t size = 0;

	for (size_t i = 0; i < functions->n_rows; i++) {
		const struct model_function *row = &functions->rows[i];

		size += 2 * strlen(row->name) + 8;
		size += row->module ? strlen(row->module) : 0;
		size += row->file ? strlen(row->file) : 0;
	}
	for (uint32_t i = 0; i < firefox->layout.n_types; i++)
		size += 2 * strlen(firefox->layout.type_names[i]) + 8;
	return size;
}

static uint64_t tables_size(const struct firefox *firefox)
{
	const struct layout *layout = &firefox->layout;
	const struct tasks *tasks = &firefox->world->tasks;
	uint64_t rates = 0;

	for (size_t i = 0; i < firefox->processes_capacity && rates < COUNTED_MAX; i++)
		rates += firefox->processes[i].allocs.rows > 0;
	return FIXED_BYTES + names_size(firefox) + firefox->sources.size +
	       layout->n_stacks * (uint64_t)STACK_BYTES + layout->n_frames * (uint64_t)FRAME_BYTES +
	       firefox->world->functions.n_rows * (uint64_t)FUNCTION_BYTES +
	       (tasks->threads.limit + tasks->processes.limit) * TRACK_BYTES + rates * RATE_BYTES;
}

/* Divides the room among the needs: the smallest needs are satisfied first. */
static void share_out(const uint64_t *needs, uint64_t *shares, size_t count, uint64_t room)
{
	bool settled[8] = {false};

	for (size_t left = count; left; left--) {
		size_t least = count;

		for (size_t i = 0; i < count; i++)
			if (!settled[i] && (least == count || needs[i] < needs[least]))
				least = i;
		shares[least] = needs[least] < room / left ? needs[least] : room / left;
		room -= shares[least];
		settled[least] = true;
	}
}

static uint64_t keep_of(uint64_t need, uint64_t share)
{
	if (need <= share)
		return 1;
	return share ? (need + share - 1) / share : UINT64_MAX;
}

enum { EDGE_ROOM = 1024 }; /* for the last call, which may be larger than the others */

/* Selects the longest calls that fit. */
static void choose_calls(struct firefox *firefox, uint64_t share)
{
	struct thinning *thin = &firefox->thin;
	uint32_t bucket = SYSCALL_BUCKETS;

	while (bucket && firefox->call_bytes[bucket - 1] <= share) {
		share -= firefox->call_bytes[--bucket];
		thin->calls_kept += firefox->calls_by_duration[bucket];
	}
	thin->call_min_ns = bucket == SYSCALL_BUCKETS ? UINT64_MAX : syscall_bucket_floor(bucket);
	thin->edge_min_ns = thin->call_min_ns;
	/* Adds some of the slightly shorter calls if there is room. */
	if (!bucket || share < EDGE_ROOM)
		return;
	thin->edge_min_ns = syscall_bucket_floor(bucket - 1);
	thin->edge_keep = firefox->call_bytes[bucket - 1] / (share - EDGE_ROOM / 2) + 1;
	thin->calls_kept += (firefox->calls_by_duration[bucket - 1] - 1) / thin->edge_keep + 1;
}

static int by_pause(const void *a, const void *b)
{
	const struct gc_mark *x = a, *y = b;

	if (x->closed.pause_ns != y->closed.pause_ns)
		return x->closed.pause_ns < y->closed.pause_ns ? 1 : -1;
	return x->end.time < y->end.time ? -1 : x->end.time > y->end.time;
}

/* How many of the first marks take at most `room` bytes, which are in *size. */
static size_t fitting_marks(const struct firefox *firefox, uint64_t room, uint64_t *size)
{
	*size = 0;
	for (size_t i = 1; i < firefox->n_marks; i++) {
		uint64_t bytes = firefox->marks[i].kind == MARK_CYCLE ? CYCLE_BYTES : MARK_BYTES;

		if (bytes > room - *size)
			return i - 1;
		*size += bytes;
	}
	return firefox->n_marks - 1;
}

/* Collections and marks come first: normally there are few. Returns their bytes. */
static uint64_t choose_marks(struct firefox *firefox, uint64_t room)
{
	uint64_t gcs = room / 2 / GC_BYTES, size;
	size_t marks = fitting_marks(firefox, room / 4, &size);

	if (firefox->n_gcs - 1 > gcs) {
		qsort(firefox->gcs + 1, firefox->n_gcs - 1, sizeof(*firefox->gcs), by_pause);
		firefox->gcs_dropped += firefox->n_gcs - 1 - gcs;
		firefox->n_gcs = gcs + 1;
	}
	if (firefox->n_marks - 1 > marks) {
		firefox->marks_dropped += firefox->n_marks - 1 - marks;
		firefox->n_marks = marks + 1;
	}
	return (firefox->n_gcs - 1) * GC_BYTES + size;
}

static void tell(struct firefox *firefox)
{
	const struct thinning *thin = &firefox->thin;
	char *note = firefox->job.note;
	size_t size = sizeof(firefox->job.note), used = 0;

	if (thin->cpu_keep > 1)
		used += (size_t)snprintf(note + used, size - used,
					 "one of %llu timer samples is shown; ",
					 (unsigned long long)thin->cpu_keep);
	if (thin->wait_keep > 1)
		used += (size_t)snprintf(note + used, size - used, "one of %llu waits is shown; ",
					 (unsigned long long)thin->wait_keep);
	if (thin->alloc_keep > 1)
		used += (size_t)snprintf(note + used, size - used,
					 "one of %llu sampled allocations is shown; ",
					 (unsigned long long)thin->alloc_keep);
	if (thin->fault_keep > 1)
		used += (size_t)snprintf(note + used, size - used,
					 "one of %llu page faults is shown; ",
					 (unsigned long long)thin->fault_keep);
	if (thin->calls_kept < firefox->n_calls)
		used += (size_t)snprintf(
			note + used, size - used,
			"%llu of %llu system calls are shown, mostly the longest; ",
			(unsigned long long)thin->calls_kept, (unsigned long long)firefox->n_calls);
	if (firefox->gcs_dropped)
		used += (size_t)snprintf(note + used, size - used,
					 "%llu of the shortest collections %s left out; ",
					 (unsigned long long)firefox->gcs_dropped,
					 plural(firefox->gcs_dropped, "[is|are]").text);
	if (firefox->marks_dropped)
		used += (size_t)snprintf(note + used, size - used, "%llu other event%s left out; ",
					 (unsigned long long)firefox->marks_dropped,
					 plural(firefox->marks_dropped, "[ is|s are]").text);
	if (used)
		snprintf(
			note + used, size - used,
			"the complete file would be too large to open (weights compensate for it)");
}

static uint64_t digits(uint64_t number)
{
	uint64_t count = 1;

	for (; number >= 10; number /= 10)
		count++;
	return count;
}

/* Maximum bytes of a time and a stack, including separators. */
static uint64_t place_bytes(const struct firefox *firefox)
{
	uint64_t milliseconds = firefox->world->model->run.duration / 1000000;

	return digits(milliseconds) + sizeof(".000000,") + digits(firefox->layout.n_stacks) + 1;
}

int firefox_plan_size(struct firefox *firefox)
{
	struct thinning *thin = &firefox->thin;
	uint64_t limit = firefox->job.options.limit, used = tables_size(firefox);
	uint64_t place = place_bytes(firefox), needs[5], shares[5];
	uint64_t idle = place - digits(firefox->layout.n_stacks) + IDLE_BYTES;

	if (used > limit)
		return -EFBIG;
	used += choose_marks(firefox, limit - used);
	/*
	 * Each allocation is listed for its thread and for its process; there, it and each page
	 * fault have two idle rows before them.
	 */
	needs[0] = firefox->n_cpu * (place + CPU_BYTES);
	needs[1] = (firefox->n_allocs * 2 + firefox->n_deaths) * (place + ALLOC_BYTES) +
		   firefox->n_allocs * 2 * idle;
	needs[2] = 0;
	for (int i = 0; i < SYSCALL_BUCKETS; i++)
		needs[2] += firefox->call_bytes[i];
	/* A wait takes two rows. */
	needs[3] = firefox->n_waits * 2 * (place + CPU_BYTES);
	needs[4] = firefox->n_faults * (place + FAULT_BYTES + 2 * idle);
	share_out(needs, shares, 5, limit - used);
	thin->cpu_keep = keep_of(needs[0], shares[0]);
	thin->wait_keep = keep_of(needs[3], shares[3]);
	thin->fault_keep = keep_of(needs[4], shares[4]);
	thin->alloc_keep = keep_of(needs[1], shares[1]);
	choose_calls(firefox, shares[2]);
	tell(firefox);
	return 0;
}

/* Hashes the number, so that the selection does not depend on patterns in the program. */
bool firefox_keeps_object(const struct firefox *firefox, uint64_t number)
{
	uint64_t keep = firefox->thin.alloc_keep, mixed = number;

	if (keep <= 1)
		return true;
	mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
	return (mixed ^ mixed >> 31) % keep == 0;
}
