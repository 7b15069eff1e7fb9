/* SPDX-License-Identifier: BSD-2-Clause */
/* events.c: writes a profile of as many events as are asked for, to measure readers with. */
/*
 *	events FILE EVENTS [STACKS]
 *
 * It looks like one of a server under load: 16 threads, 20000 distinct stacks (or
 * so many as are asked for) up to 40 frames deep, 300 types; of 100 events 36 are
 * allocation samples, 36 their fates, 16 timer samples, 10 system calls and 2
 * collections. One object in eight is promoted, half of those die old, so that there
 * are always some alive. Of up to 100000 stacks 500 are frequent; more are all alike,
 * so that most events have a stack of their own.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/sink.h"
#include "profile/writer.h"

enum {
	THREADS = 16,
	STACKS = 20000,
	FREQUENT = 500,
	MANY_STACKS = 100000,
	TYPES = 300,
	FUNCTIONS = 3000,
	CYCLE = 36,
	OLD = 200000
};

struct maker {
	struct profile_writer *writer;
	uint64_t random, time, sample, cycle, events;
	uint64_t frames[FUNCTIONS];
	uint64_t *stacks, n_stacks;
	uint64_t old[OLD]; /* promoted and alive: a ring, 0 is free */
	size_t next_old;
};

/* splitmix64 */
static uint64_t draw(struct maker *maker, uint64_t below)
{
	uint64_t z = maker->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % below;
}

#define PUT(maker, record_kind, ...)                                    \
	do {                                                            \
		struct record record_ = {.kind = RECORD_##record_kind,  \
					 .record_kind = {__VA_ARGS__}}; \
		if (profile_writer_put((maker)->writer, &record_))      \
			exit(1);                                        \
	} while (0)

static uint64_t text(struct maker *maker, const char *format, unsigned number)
{
	char buffer[64];
	int size = snprintf(buffer, sizeof(buffer), format, number);

	return profile_writer_string(maker->writer, buffer, (size_t)size);
}

static void define(struct maker *maker)
{
	static const char *const streams[] = {"alloc", "gc", "cpu", "syscall", "sched", "process"};
	uint64_t module = profile_writer_module(maker->writer, "/usr/bin/server", NULL, 0, NULL);

	PUT(maker, argument, .text = {"server", 6});
	PUT(maker, recording, .start = maker->time, .frequency = 999, .period = 524288);
	for (uint64_t i = 0; i < 6; i++)
		PUT(maker, stream, .stream = i + 1, .name = {streams[i], strlen(streams[i])},
		    .attached = i != 4);
	PUT(maker, process, .id = 1, .pid = 1000, .time = maker->time);
	for (uint64_t i = 1; i <= THREADS; i++)
		PUT(maker, thread, .id = i, .process = 1, .tid = 999 + i);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		maker->frames[i] = profile_writer_native(maker->writer, module, i * 64 + 1);
		PUT(maker, symbol, .frame = maker->frames[i],
		    .name = text(maker, "function_%u", i));
	}
	for (unsigned i = 1; i <= TYPES; i++)
		PUT(maker, type, .process = 1, .type = i, .name = text(maker, "type_%u", i));
	for (uint64_t i = 0; i < maker->n_stacks; i++) {
		/* Most share their beginnings, as calls do. */
		uint64_t stack = i >= 100 && draw(maker, 8) ? maker->stacks[draw(maker, i)] : 0;
		uint64_t depth = 1 + (stack ? draw(maker, 3) : 8 + draw(maker, 30));

		while (depth--)
			stack = profile_writer_stack(maker->writer, stack,
						     maker->frames[draw(maker, FUNCTIONS)]);
		maker->stacks[i] = stack;
	}
}

static uint64_t any_stack(struct maker *maker)
{
	/* A few are frequent. */
	bool frequent = maker->n_stacks <= MANY_STACKS && draw(maker, 4);

	return maker->stacks[draw(maker, frequent ? FREQUENT : maker->n_stacks)];
}

static void promote(struct maker *maker, uint64_t sample)
{
	uint64_t *place = &maker->old[maker->next_old++ % OLD];

	if (*place && draw(maker, 2)) {
		PUT(maker, fate, .time = maker->time, .process = 1, .sample = *place, .outcome = 4,
		    .age = 1 << draw(maker, 30), .collections = 3);
		maker->events++;
	}
	*place = sample;
}

static void collect(struct maker *maker, uint64_t first)
{
	uint64_t promoted = 100000 + draw(maker, 900000);

	PUT(maker, gc_begin, .time = maker->time, .thread = 1, .heap = 1, .cycle = ++maker->cycle,
	    .kind = 1, .reason = 1);
	maker->time += 50000 + promoted / 4;
	for (uint64_t sample = first; sample <= maker->sample; sample++) {
		bool lives = draw(maker, 8) == 0;

		PUT(maker, fate, .time = maker->time, .process = 1, .sample = sample,
		    .outcome = lives ? 2 : 1, .age = draw(maker, 4 << 20));
		if (lives)
			promote(maker, sample);
	}
	PUT(maker, gc_end, .time = maker->time, .thread = 1, .heap = 1, .cycle = maker->cycle,
	    .kind = 1, .has_stats = 1, .promoted_bytes = promoted, .arena_bytes = 400 << 20,
	    .nursery_used = 4 << 20, .live_bytes = 300 << 20, .rss_bytes = 500 << 20);
	maker->events += 2 + maker->sample + 1 - first;
}

static void cycle(struct maker *maker)
{
	uint64_t first = maker->sample + 1;

	for (int i = 0; i < CYCLE; i++) {
		uint64_t thread = 1 + draw(maker, THREADS);

		maker->time += 20000 + draw(maker, 20000);
		PUT(maker, alloc, .time = maker->time, .thread = thread, .stack = any_stack(maker),
		    .sample = ++maker->sample, .type = 1 + draw(maker, TYPES),
		    .size = 16 << draw(maker, 10), .period = 524288, .kind = 1);
		maker->events++;
		if (i % 9 < 4) {
			PUT(maker, cpu, .time = maker->time + 100, .thread = thread,
			    .stack = any_stack(maker), .mode = 1 + draw(maker, 2));
			maker->events++;
		}
		if (i % 18 < 5) {
			PUT(maker, syscall, .time = maker->time + 200, .thread = thread,
			    .number = draw(maker, 40), .duration = 200 + draw(maker, 100000),
			    .result = 1);
			maker->events++;
		}
	}
	collect(maker, first);
}

int main(int argc, char **argv)
{
	struct maker *maker = calloc(1, sizeof(*maker));
	uint64_t wanted = argc >= 3 ? strtoull(argv[2], NULL, 10) : 0;
	struct sink *sink = NULL;

	if (!maker || !wanted || argc > 4) {
		fputs("Usage: events FILE EVENTS [STACKS]\n", stderr);
		return 2;
	}
	maker->n_stacks = argc == 4 ? strtoull(argv[3], NULL, 10) : STACKS;
	maker->stacks = calloc(maker->n_stacks, sizeof(*maker->stacks));
	if (maker->n_stacks < FREQUENT || !maker->stacks)
		return 1;
	if (sink_file_adopt(open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600), &sink) ||
	    profile_writer_create(sink, &maker->writer))
		return 1;
	maker->time = UINT64_C(1000000000);
	define(maker);
	while (maker->events < wanted)
		cycle(maker);
	PUT(maker, end, .time = maker->time, .reason = 1);
	if (profile_writer_close(maker->writer))
		return 1;
	printf("%llu events\n", (unsigned long long)maker->events);
	free(maker->stacks);
	free(maker);
	return 0;
}
