/* SPDX-License-Identifier: BSD-2-Clause */
/* newcomers.c: mappings that come before their process, or that no record reports. */
#include "newcomers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/buffer.h"

#define CHILDREN_MAX ((size_t)1 << 20) /* bytes, while files are read */
#define WAITING_MAX  (4u << 20)        /* bytes */
#define EXECS_MAX    4                 /* while what is mapped is read */

struct newcomer {
	uint32_t proc_pid, process;
	uint64_t time;
};

struct newcomers {
	struct world_sources sources;
	newcomers_map *map;
	void *context;
	struct buffer found;    /* struct newcomer[]: they ran before */
	struct buffer children; /* the same: forked since mappings were read */
	struct buffer waiting;  /* mappings of unknown processes: struct event_mmap, path, zeroes */
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
	*out = newcomers;
	return 0;
}

void newcomers_free(struct newcomers *newcomers)
{
	if (!newcomers)
		return;
	buffer_free(&newcomers->found);
	buffer_free(&newcomers->children);
	buffer_free(&newcomers->waiting);
	free(newcomers);
}

static int add(struct buffer *list, const struct process *process)
{
	struct newcomer newcomer = {process->proc_pid, (uint32_t)process->id, process->begin};

	return buffer_append(list, &newcomer, sizeof(newcomer));
}

int newcomers_add(struct newcomers *newcomers, const struct process *process)
{
	return add(&newcomers->found, process);
}

int newcomers_add_child(struct newcomers *newcomers, const struct process *child)
{
	return add(&newcomers->children, child);
}

/* An event's size is a multiple of 8; zeroes behind it end the path. */
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

static void take(void *context, struct event_mmap *event, const char *path)
{
	const struct newcomers *newcomers = context;

	newcomers->map(newcomers->context, event, path);
}

static uint64_t program_since(const struct newcomers *newcomers, uint32_t process)
{
	return newcomers->sources.program_since(newcomers->sources.context, process);
}

/*
 * What it has mapped it has had since it was found, or since it runs another program than then:
 * what it had before is not known any more. Of a process that is gone by now nothing is read.
 */
static void read_mappings(struct newcomers *newcomers, const struct newcomer *newcomer)
{
	uint64_t since = program_since(newcomers, newcomer->process), before;

	for (int tries = 0; tries < EXECS_MAX; tries++) {
		before = since;
		newcomers->sources.mappings(newcomer->proc_pid,
					    since > newcomer->time ? since : newcomer->time, take,
					    newcomers);
		/* Did it execute a program at the same time? */
		since = program_since(newcomers, newcomer->process);
		if (since == before)
			return;
	}
}

/* Reads what those have mapped that began before `end`, and forgets all. */
static void read_list(struct newcomers *newcomers, struct buffer *list, uint64_t end)
{
	const struct newcomer *all = (const void *)list->data;

	for (size_t i = 0; i < list->size / sizeof(*all); i++)
		if (all[i].time < end)
			read_mappings(newcomers, &all[i]);
	list->size = 0;
}

void newcomers_read_children(struct newcomers *newcomers, uint64_t latest)
{
	read_list(newcomers, &newcomers->children, latest);
}

bool newcomers_children_crowd(const struct newcomers *newcomers)
{
	return newcomers->children.size >= CHILDREN_MAX;
}

/* A young one stays: a process whose begin was lost may not be known before the next round. */
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
