/* SPDX-License-Identifier: BSD-2-Clause */
/* newcomers.c: mappings that arrive before their process, or that no record reports. */
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/buffer.h"
#include "../../util/quota.h"

#define CHILDREN_MAX ((size_t)1 << 20) /* bytes while files are read */
#define WAITING_MAX  (4u << 20)        /* bytes */
#define EXECS_MAX    4                 /* while its mappings are read */
#define AGAIN_MAX    64                /* that wait to be read again */

struct newcomer {
	uint32_t proc_pid, process, user;
	bool again; /* counts in `again` below */
	uint64_t time;
};

/* A process whose mappings are being read. */
struct reading {
	struct newcomers *newcomers; /* NULL: unused */
	struct newcomer newcomer;
	uint64_t since; /* of its program */
	int tries;
	bool again; /* it executed another program meanwhile */
};

struct newcomers {
	struct world_sources sources;
	newcomers_map *map;
	void *context;
	struct buffer found;    /* struct newcomer[]: processes that ran before */
	struct quota again;     /* of these, by user: those whose mappings were lost */
	struct buffer children; /* the same: forked since mappings were read */
	struct buffer waiting;  /* mappings of unknown processes: struct event_mmap, path, zeroes */
	struct reading readings[SNAPSHOTS_MAX];
};

int newcomers_create(const struct world_sources *sources, newcomers_map *map, void *context,
		     struct newcomers **out)
{
	struct newcomers *newcomers = calloc(1, sizeof(*newcomers));

	if (!newcomers)
		return -ENOMEM;
	newcomers->sources = *sources;
	newcomers->map = map;
	newcomers->context = context;
	newcomers->again.most = AGAIN_MAX;
	*out = newcomers;
	return 0;
}

void newcomers_free(struct newcomers *newcomers)
{
	if (!newcomers)
		return;
	buffer_free(&newcomers->found);
	quota_free(&newcomers->again);
	buffer_free(&newcomers->children);
	buffer_free(&newcomers->waiting);
	free(newcomers);
}

static int add(struct buffer *list, const struct process *process)
{
	struct newcomer newcomer = {.proc_pid = process->proc_pid,
				    .process = (uint32_t)process->id,
				    .time = process->begin};

	return buffer_append(list, &newcomer, sizeof(newcomer));
}

int newcomers_add(struct newcomers *newcomers, const struct process *process)
{
	return add(&newcomers->found, process);
}

int newcomers_read_again(struct newcomers *newcomers, const struct process *process, uint64_t time)
{
	struct newcomer newcomer = {.proc_pid = process->proc_pid,
				    .process = (uint32_t)process->id,
				    .user = process->user,
				    .again = true,
				    .time = time};

	if (!quota_allow(&newcomers->again, process->user, 1))
		return -EAGAIN;
	if (buffer_append(&newcomers->found, &newcomer, sizeof(newcomer)))
		return -ENOMEM;
	return quota_add(&newcomers->again, process->user, 1);
}

int newcomers_add_child(struct newcomers *newcomers, const struct process *child)
{
	return add(&newcomers->children, child);
}

/* An event's size is a multiple of 8; the zeroes after it terminate the path. */
int newcomers_wait(struct newcomers *newcomers, const struct event_mmap *event)
{
	static const char zeroes[8];
	struct buffer *waiting = &newcomers->waiting;

	if (waiting->size > WAITING_MAX ||
	    buffer_reserve(waiting, event->header.size + sizeof(zeroes)))
		return -ENOMEM;
	buffer_append(waiting, event, event->header.size);
	return buffer_append(waiting, zeroes, sizeof(zeroes));
}

static void newcomers_take(void *context, struct event_mmap *event, const char *path)
{
	const struct reading *reading = context;

	reading->newcomers->map(reading->newcomers->context, event, path);
}

static int newcomers_begin(struct reading *reading);

static uint64_t program_since(const struct reading *reading)
{
	const struct world_sources *sources = &reading->newcomers->sources;

	return sources->program_since(sources->context, reading->newcomer.process);
}

static bool is_current(void *context)
{
	struct reading *reading = context;

	reading->again = program_since(reading) != reading->since && ++reading->tries < EXECS_MAX;
	return !reading->again;
}

static void end(void *context)
{
	struct reading *reading = context;

	if (!reading->again || newcomers_begin(reading))
		reading->newcomers = NULL;
}

/*
 * Its mappings count from when it was found or, if it has executed a program since, from just
 * after that: earlier ones are no longer known. Nothing is read about a process that has ended.
 */
static int newcomers_begin(struct reading *reading)
{
	static const struct snapshot_reader reader = {is_current, newcomers_take, end};
	const struct world_sources *sources = &reading->newcomers->sources;
	const struct newcomer *newcomer = &reading->newcomer;

	reading->again = false;
	reading->since = program_since(reading);
	return sources->mappings(sources->snapshots, newcomer->proc_pid,
				 reading->since > newcomer->time ? reading->since + 1
								 : newcomer->time,
				 &reader, reading);
}

/* -EBUSY: too many are being read. */
static int read_mappings(struct newcomers *newcomers, const struct newcomer *newcomer)
{
	struct reading *reading = newcomers->readings;
	int err;

	while (reading < newcomers->readings + SNAPSHOTS_MAX && reading->newcomers)
		reading++;
	if (reading == newcomers->readings + SNAPSHOTS_MAX)
		return -EBUSY;
	*reading = (struct reading){.newcomers = newcomers, .newcomer = *newcomer};
	err = newcomers_begin(reading);
	if (err)
		reading->newcomers = NULL;
	return err;
}

/* Starts reading the mappings of those that began before `end`, and drops all others except those
 * still waiting for that. */
static void read_list(struct newcomers *newcomers, struct buffer *list, uint64_t end)
{
	struct newcomer *all = (struct newcomer *)(void *)list->data;
	size_t count = list->size / sizeof(*all), kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (all[i].time < end && read_mappings(newcomers, &all[i]) == -EBUSY)
			all[kept++] = all[i];
		else if (all[i].again)
			quota_return(&newcomers->again, all[i].user, 1);
	}
	list->size = kept * sizeof(*all);
}

uint64_t newcomers_pending(const struct newcomers *newcomers)
{
	const struct newcomer *found = (const void *)newcomers->found.data;
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < newcomers->found.size / sizeof(*found); i++)
		if (!found[i].again && found[i].time < first)
			first = found[i].time;
	for (int i = 0; i < SNAPSHOTS_MAX; i++)
		if (newcomers->readings[i].newcomers && !newcomers->readings[i].newcomer.again &&
		    newcomers->readings[i].newcomer.time < first)
			first = newcomers->readings[i].newcomer.time;
	return first;
}

void newcomers_read_children(struct newcomers *newcomers, uint64_t latest)
{
	read_list(newcomers, &newcomers->children, latest);
}

bool newcomers_children_crowd(const struct newcomers *newcomers)
{
	return newcomers->children.size >= CHILDREN_MAX;
}

/* Young ones stay: a process whose begin was lost may not be known before the next round. */
static void retry(struct newcomers *newcomers, uint64_t until)
{
	char *at = newcomers->waiting.data, *end = at + newcomers->waiting.size, *kept = at;

	while (at < end) {
		struct event_mmap *event = (void *)at;
		size_t size = event->header.size + 8;

		at += size;
		if (newcomers->map(newcomers->context, event, (const char *)(event + 1)) ||
		    event->header.time < until)
			continue;
		memmove(kept, event, size);
		kept += size;
	}
	newcomers->waiting.size -= (size_t)(end - kept);
}

void newcomers_settle(struct newcomers *newcomers, uint64_t until)
{
	read_list(newcomers, &newcomers->found, UINT64_MAX);
	retry(newcomers, until);
}
