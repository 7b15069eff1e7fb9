/* SPDX-License-Identifier: BSD-2-Clause */
/* cpython.c: the Python interpreter, in its own program or in libpython. */
/*
 * Distributions build it with SystemTap notes (provider python), behind semaphores. gc__start has
 * the collected generation, gc__done the number of unreachable objects. They fire between the two
 * calls of gc.callbacks, once each.
 */
#include <stdio.h>
#include <string.h>

#include "../../gc/provider/probe_args.h"
#include "cpython_layout.h"
#include "find.h"

enum { HEAP = 1 };
enum { GENERATIONS = 3 };

static const struct runtime_place places[] = {
	{.report = PLACE_PAUSE_BEGIN,
	 .where = PLACE_AT_NOTE,
	 .name = "python:gc__start",
	 .flags = PLACE_COLLECTOR | PLACE_PAUSES,
	 .arguments = {{.value = VALUE_HEAP, .from = FROM_NUMBER, .number = HEAP},
		       {.value = VALUE_KIND, .from = FROM_NOTE, .number = 0}}},
	{.report = PLACE_PAUSE_END,
	 .where = PLACE_AT_NOTE,
	 .name = "python:gc__done",
	 .flags = PLACE_COLLECTOR | PLACE_RESUMES,
	 .arguments = {{.value = VALUE_HEAP, .from = FROM_NUMBER, .number = HEAP},
		       {.value = VALUE_UNREACHABLE, .from = FROM_NOTE, .number = 0}}},
};

static bool recognise(struct runtime_file *file, struct runtime_facts *out)
{
	uint64_t runtime;
	uint32_t version;

	if (!runtime_exported(file, "_PyRuntime", &runtime))
		return false;
	if (!cpython_version(file, &version))
		return true;
	snprintf(out->version, sizeof(out->version), "%u.%u.%u", version >> 24,
		 version >> 16 & 0xff, version >> 8 & 0xff);
	out->number = version >> 16;
	return true;
}

#define WITH_AGENT  "allocations are sampled with --agent python"
#define NO_AGENT    "allocations cannot be sampled without a global lock"
#define VERSIONS    "its functions are known of 3.11 to 3.15 with a global lock, and of 3.13 without"
#define COLLECTIONS "collections only if it was built --with-dtrace"

static void constants(struct runtime_file *file, struct runtime_facts *out)
{
	out->has_frames = cpython_layout_of(file, &out->cpython);
	out->no_agent = cpython_is_free_threaded(file);
	if (!out->has_frames)
		snprintf(out->missing, sizeof(out->missing), VERSIONS);
}

static const char *note(const struct runtime_facts *facts)
{
	if (!facts->has_frames)
		return facts->no_agent ? NO_AGENT "; " VERSIONS : WITH_AGENT "; " VERSIONS;
	/* Some place was not found. */
	if (facts->missing[0])
		return facts->no_agent ? NO_AGENT "; " COLLECTIONS : WITH_AGENT "; " COLLECTIONS;
	return facts->no_agent ? NO_AGENT : WITH_AGENT;
}

static const char *kind_name(const struct runtime_facts *facts, uint64_t generation,
			     const char *collector, uint32_t *kind)
{
	static const char *const names[GENERATIONS] = {"generation 0", "generation 1",
						       "generation 2"};

	(void)facts;
	(void)collector;
	*kind = generation < GENERATIONS - 1 ? GCPROF_GC_MINOR : GCPROF_GC_FULL;
	return generation < GENERATIONS ? names[generation] : NULL;
}

const struct runtime runtime_cpython = {
	.id = RUNTIME_CPYTHON,
	.name = "cpython",
	.collector = "gc_collect_main gc_collect_generations gc_collect_young gc_collect_increment "
		     "gc_collect_full gc_collect_region collect_with_callback",
	.places = places,
	.n_places = sizeof(places) / sizeof(places[0]),
	.agent = "python",
	.walks = true,
	.recognise = recognise,
	.constants = constants,
	.note = note,
	.kind_name = kind_name,
};
