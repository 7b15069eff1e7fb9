/* SPDX-License-Identifier: BSD-2-Clause */
/* hotspot.c: the Java virtual machine HotSpot, from its libjvm.so. */
/*
 * Its SystemTap notes (provider hotspot) have no semaphores and are in all builds of
 * distributions. gc__begin and gc__end are pauses, of concurrent collectors as well; mem__pool__*
 * come in between with the parts of the heap, or, with ZGC and Shenandoah, around a cycle. The
 * cause of a collection is in no note, but an argument of GCMemoryManager::gc_end().
 */
#include <stdio.h>
#include <string.h>

#include "../../gc/probe_args.h"
#include "find.h"
#include "../reader/notes.h"
#include "../symbols/elf_file.h"

enum { HEAP_OBJECTS = 1, HEAP_THREADS = 2 }; /* of which threads are only stopped */

/* Words of struct pt_regs. */
enum { R9 = 8, RSI = 13, RDI = 14 };

#define NUMBER(value, n)                          \
	{                                         \
		value, FROM_NUMBER, .number = (n) \
	}
#define NOTE(value, n)                          \
	{                                       \
		value, FROM_NOTE, .number = (n) \
	}
#define REGISTER(value, n)                          \
	{                                           \
		value, FROM_REGISTER, .number = (n) \
	}
#define REGISTER_32(value, n)                                  \
	{                                                      \
		value, FROM_REGISTER, .size = 4, .number = (n) \
	}

/* The collector's name and length, the part's, then its bytes at first, used, committed, at most.
 */
#define POOL_ARGUMENTS                                                                 \
	{                                                                              \
		NOTE(VALUE_NONE, 0), NOTE(VALUE_NONE, 1), NOTE(VALUE_NONE, 2),         \
			NOTE(VALUE_NONE, 3), NOTE(VALUE_USED, 5), NOTE(VALUE_SIZE, 6), \
			NUMBER(VALUE_HEAP, HEAP_OBJECTS)                               \
	}
#define POOL_TEXTS                             \
	{                                      \
		{0, 1, PLACE_NO_TEXT, 0},      \
		{                              \
			2, 3, PLACE_NO_TEXT, 0 \
		}                              \
	}

static const struct runtime_place places[] = {
	{PLACE_PAUSE_BEGIN, PLACE_AT_NOTE, "hotspot:gc__begin", PLACE_COLLECTOR | PLACE_PAUSES,
	 .arguments = {NUMBER(VALUE_HEAP, HEAP_OBJECTS), NOTE(VALUE_KIND, 0)}},
	{PLACE_PAUSE_END, PLACE_AT_NOTE, "hotspot:gc__end", PLACE_COLLECTOR | PLACE_RESUMES,
	 .arguments = {NUMBER(VALUE_HEAP, HEAP_OBJECTS)}},
	{PLACE_POOL_BEFORE, PLACE_AT_NOTE, "hotspot:mem__pool__gc__begin", PLACE_COLLECTOR,
	 .texts = POOL_TEXTS, .arguments = POOL_ARGUMENTS},
	{PLACE_POOL_AFTER, PLACE_AT_NOTE, "hotspot:mem__pool__gc__end", PLACE_COLLECTOR,
	 .texts = POOL_TEXTS, .arguments = POOL_ARGUMENTS},
	{PLACE_REASON, PLACE_AT_ENTRY, "_ZN15GCMemoryManager6gc_endEbbbbN7GCCause5CauseEbPKc",
	 PLACE_COLLECTOR, .optional = true,
	 .arguments = {NUMBER(VALUE_HEAP, HEAP_OBJECTS), REGISTER_32(VALUE_REASON, R9)}},
	{PLACE_PAUSE_BEGIN, PLACE_AT_NOTE, "hs_private:safepoint__begin", PLACE_COLLECTOR,
	 .optional = true, .arguments = {NUMBER(VALUE_HEAP, HEAP_THREADS)}},
	{PLACE_PAUSE_END, PLACE_AT_NOTE, "hs_private:safepoint__end", PLACE_COLLECTOR,
	 .optional = true, .arguments = {NUMBER(VALUE_HEAP, HEAP_THREADS)}},
};

static void meet_note(void *context, const struct probe_note *note)
{
	if (!strcmp(note->provider, "hotspot") && !strcmp(note->name, "gc__begin"))
		*(bool *)context = true;
}

static bool recognise(struct runtime_file *file, struct runtime_facts *out)
{
	bool found = false;

	(void)out;
	notes_visit(file->elf, meet_note, &found);
	return found;
}

static const char *kind_name(const struct runtime_facts *facts, uint64_t full,
			     const char *collector, uint32_t *kind)
{
	(void)facts;
	*kind = full ? GCPROF_GC_FULL : GCPROF_GC_MINOR;
	if (!collector)
		*kind = GCPROF_GC_STOP;
	return collector ? collector : "safepoint";
}

static bool is_heap(const char *part)
{
	static const char *const others[] = {"CodeHeap", "Code Cache", "CodeCache", "Metaspace",
					     "Compressed Class"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(part, others[i], strlen(others[i])))
			return false;
	return true;
}

const struct runtime runtime_hotspot = {
	.name = "hotspot",
	.note = "HotSpot's own sampler sees too few of the objects between 20 KB and 1 MB where "
		"the "
		"collector is G1 or Serial",
	.places = places,
	.n_places = sizeof(places) / sizeof(places[0]),
	.recognise = recognise,
	.kind_name = kind_name,
	.is_heap = is_heap,
};
