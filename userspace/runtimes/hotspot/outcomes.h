/* SPDX-License-Identifier: BSD-2-Clause */
/* outcomes.h: private to hotspot.c: arguments of its places, and usual names. */
#ifndef GCPROF_HOTSPOT_OUTCOMES_H
#define GCPROF_HOTSPOT_OUTCOMES_H

#include <stddef.h>
#include <stdint.h>

#include "../runtime.h"

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

#define GLOBAL(value, name, ...)                                               \
	{                                                                      \
		value, FROM_GLOBAL, .global = (name), .steps = { __VA_ARGS__ } \
	}
/* What argument number `n` is, and then these steps. */
#define ARGUMENT(value, n, ...)                             \
	{                                                   \
		value, FROM_NUMBER, .number = 0, .steps = { \
			{STEP_ADD, .other = (n)},           \
			__VA_ARGS__                         \
		}                                           \
	}

#define POINTER "oopDesc._metadata._compressed_klass"

/*
 * Outcomes of sampled objects. Until mutators run again the old copies stay as they are, but for
 * their headers: the two lowest bits are 1 in one that says where the new copy is. A young
 * collection is over at the first report on a part of the heap after it: gc__end may come only
 * after a full one in the same pause. Managers differ in the first 4 letters of their
 * names.
 */
#define FORWARDED           .header_mask = 3, .header_value = 3, .target_mask = ~UINT64_C(7)
#define LETTERS(a, b, c, d) ((a) | (b) << 8 | (c) << 16 | (d) << 24)

#define OF_MANAGER(letters)                                                          \
	[FATE_IS] = {VALUE_NONE, FROM_NOTE, .number = 0, .steps = {{STEP_READ, 4}}}, \
	[FATE_WANTED] = NUMBER(VALUE_NONE, letters)
#define ANYWHERE [FATE_IS] = NUMBER(VALUE_NONE, 0), [FATE_WANTED] = NUMBER(VALUE_NONE, 0)
#define CLASS_CHECK                                                                          \
	[FATE_CLASS] = {VALUE_NONE, FROM_NUMBER, .steps = {{STEP_PLUS, .field = POINTER}}},  \
	[FATE_SHIFT] = GLOBAL(VALUE_NONE, "CompressedKlassPointers._shift", {STEP_READ, 4}), \
	[FATE_BASE] = GLOBAL(VALUE_NONE, "CompressedKlassPointers._base", {STEP_READ, 8})

/* The young generation: a MemRegion, of words. */
#define SERIAL_YOUNG                                                       \
	[FATE_WORD] = NUMBER(VALUE_NONE, 3),                               \
	[FATE_LOW] = SERIAL_PART("Generation._reserved+MemRegion._start"), \
	[FATE_SIZE] = SERIAL_PART("Generation._reserved+MemRegion._word_size")
#define SERIAL_PART(part)                                                                    \
	GLOBAL(VALUE_NONE, "Universe._collectedHeap", {STEP_READ, 8},                        \
	       {STEP_READ, 8, .field = "GenCollectedHeap._young_gen|SerialHeap._young_gen"}, \
	       {STEP_READ, 8, .field = part})
#define PARALLEL_PART(part)                                                   \
	GLOBAL(VALUE_NONE, "ParallelScavengeHeap._young_gen", {STEP_READ, 8}, \
	       {STEP_READ, 8, .field = part})

/* The space where objects begin: empty after a collection that had room for the others. */
#define SERIAL_EDEN(part)                                                                    \
	GLOBAL(VALUE_NONE, "Universe._collectedHeap", {STEP_READ, 8},                        \
	       {STEP_READ, 8, .field = "GenCollectedHeap._young_gen|SerialHeap._young_gen"}, \
	       {STEP_READ, 8, .field = "DefNewGeneration._eden_space"},                      \
	       {STEP_READ, 8, .field = part})
#define PARALLEL_EDEN(part)                                                   \
	GLOBAL(VALUE_NONE, "ParallelScavengeHeap._young_gen", {STEP_READ, 8}, \
	       {STEP_READ, 8, .field = "PSYoungGen._eden_space"}, {STEP_READ, 8, .field = part})

/* Regions, by the upper part of addresses. */
#define TABLE(part)                                                               \
	"G1CollectedHeap._hrm+HeapRegionManager._regions+G1HeapRegionTable." part \
	"|G1CollectedHeap._hrm+G1HeapRegionManager._regions+G1HeapRegionTable." part
#define IN_TABLE(part, size)                                          \
	GLOBAL(VALUE_NONE, "Universe._collectedHeap", {STEP_READ, 8}, \
	       {STEP_READ, size, .field = TABLE(part)})
#define FIELD_NUMBER(name)                                                         \
	{                                                                          \
		VALUE_NONE, FROM_NUMBER, .steps = { {STEP_PLUS, .field = (name)} } \
	}
#define G1_REGIONS                                                                            \
	[FATE_TABLE] = IN_TABLE("_biased_base", 8), [FATE_REGION] = IN_TABLE("_shift_by", 4), \
	[FATE_TAG] = FIELD_NUMBER("HeapRegion._type+HeapRegionType._tag|"                     \
				  "G1HeapRegion._type+G1HeapRegionType._tag"),                \
	[FATE_NEW] = FIELD_NUMBER("HeapRegionType::EdenTag|G1HeapRegionType::EdenTag"),       \
	[FATE_OLD] = FIELD_NUMBER("HeapRegionType::OldMask|G1HeapRegionType::OldMask"),       \
	[FATE_HUGE] =                                                                         \
		FIELD_NUMBER("HeapRegionType::HumongousMask|G1HeapRegionType::HumongousMask")

#define MARK_BITMAP "_ZN17PSParallelCompact12_mark_bitmapE"
#define OUTCOMES    (PLACE_COLLECTOR | PLACE_FATES)

/* Called only for collections of old regions, too. */
#define CHOOSES_OLD                                                                              \
	"_ZN8G1Policy36calculate_old_collection_set_regionsEP25G1CollectionSetCandidatesdRjS2_|" \
	"_ZN15G1CollectionSet30select_candidates_from_markingEd"

/* Each function is the one of struct runtime with that job. */

struct runtime_facts;

void hotspot_operation(const char *operation, char *out, size_t room);
const char *hotspot_kind(const struct runtime_facts *facts, uint64_t full, const char *collector,
			 uint32_t *kind);
void hotspot_type(const char *text, char *out, size_t room);

#endif
