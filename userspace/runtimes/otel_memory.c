/* SPDX-License-Identifier: BSD-2-Clause */
/* otel_memory.c: allocators with the probes of OpenTelemetry's contract for heap profiles. */
/*
 * otel_memory:alloc(pointer, size, weight) reports a sampled block, otel_memory:free(pointer) its
 * release. Blocks are sampled at random points in the stream of allocated bytes; the weight is the
 * mean distance of points times the number of points in the block. (Design document 00003 of the
 * OpenTelemetry eBPF profiler, "Memory profiling", 2026.)
 *
 * A file that also has gcprof probes is recorded by those only: each block would be reported twice.
 */
#include <string.h>

#include "../../gc/provider/probe_args.h"
#include "../reader/notes.h"
#include "find.h"

static const struct runtime_place places[] = {
	{.report = PLACE_SAMPLE,
	 .where = PLACE_AT_NOTE,
	 .name = "otel_memory:alloc",
	 .flags = PLACE_STACK,
	 .arguments = {{.value = VALUE_ADDRESS, .from = FROM_NOTE, .number = 0},
		       {.value = VALUE_BYTES, .from = FROM_NOTE, .number = 1},
		       {.value = VALUE_WEIGHT, .from = FROM_NOTE, .number = 2},
		       {.value = VALUE_KIND, .from = FROM_NUMBER, .number = GCPROF_SAMPLE_MANUAL}}},
	{.report = PLACE_FREED,
	 .where = PLACE_AT_NOTE,
	 .name = "otel_memory:free",
	 .optional = true,
	 .arguments = {{.value = VALUE_ADDRESS, .from = FROM_NOTE, .number = 0}}},
};

struct providers {
	bool otel_memory, gcprof;
};

static void meet_note(void *context, const struct probe_note *note)
{
	struct providers *found = context;

	found->otel_memory |= !strcmp(note->provider, "otel_memory") &&
			      !strcmp(note->name, "alloc");
	found->gcprof |= !strcmp(note->provider, "gcprof");
}

static bool otel_memory_recognise(struct runtime_file *file, struct runtime_facts *out)
{
	struct providers found = {false, false};

	(void)out;
	notes_visit(file->elf, meet_note, &found);
	return found.otel_memory && !found.gcprof;
}

static const char *note(const struct runtime_facts *facts)
{
	(void)facts;
	return "blocks have no type; which are sampled, and how often, decides the allocator";
}

const struct runtime runtime_otel_memory = {
	.id = RUNTIME_OTEL_MEMORY,
	.name = "otel_memory",
	.places = places,
	.n_places = sizeof(places) / sizeof(places[0]),
	.recognise = otel_memory_recognise,
	.note = note,
};
