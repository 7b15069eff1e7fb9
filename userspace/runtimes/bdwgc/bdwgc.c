/* SPDX-License-Identifier: BSD-2-Clause */
/* bdwgc.c: the Boehm-Demers-Weiser collector (libgc.so.1), used by Guile and others. */
/*
 * It has no notes, and no symbols for internal functions. But GC_stop_world_external() calls the
 * function that stops all threads, and GC_start_world_external() the one that resumes them. Each
 * collection marks in between; it sweeps later, during allocation. Small exported functions show
 * where the sizes of the heap are stored.
 */
#include <stdio.h>
#include <string.h>

#include "../../../gc/provider/probe_args.h"
#include "../find.h"

enum { HEAP = 1 };
enum { HEAP_SIZE = 1, UNMAPPED, FREE }; /* arguments at the end of a pause */

#define OF_ARRAYS(value_, ...)                                                            \
	{                                                                                 \
		.value = (value_), .from = FROM_GLOBAL, .global = "GC_arrays", .steps = { \
			__VA_ARGS__                                                       \
		}                                                                         \
	}

static const struct runtime_place places[] = {
	{.report = PLACE_PAUSE_BEGIN,
	 .where = PLACE_AT_ENTRY,
	 .name = "GC_stop_world",
	 .flags = PLACE_COLLECTOR | PLACE_PAUSES,
	 .arguments = {{.value = VALUE_HEAP, .from = FROM_NUMBER, .number = HEAP}}},
	{.report = PLACE_PAUSE_END,
	 .where = PLACE_AT_ENTRY,
	 .name = "GC_start_world",
	 .flags = PLACE_COLLECTOR | PLACE_RESUMES,
	 .arguments = {{.value = VALUE_HEAP, .from = FROM_NUMBER, .number = HEAP},
		       [HEAP_SIZE] = OF_ARRAYS(VALUE_SIZE, {STEP_READ, 8}),
		       [UNMAPPED] = OF_ARRAYS(VALUE_MORE, {STEP_READ, 8, .field = "unmapped"}),
		       [FREE] = OF_ARRAYS(VALUE_BEFORE, {STEP_READ, 8, .field = "free"})}},
};

/* --- the file ----------------------------------------------------------------------------- */

/* Code to compare with; ANY matches any byte. */
#define ANY 0x100

/* Reads up to `n` bytes of an exported function, which must begin with `wanted`. */
static bool begins_with(struct runtime_file *file, const char *function, const uint16_t *wanted,
			size_t n, uint8_t *code)
{
	uint64_t at;

	if (!runtime_exported(file, function, &at) || !runtime_read(file, at, code, n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (wanted[i] != ANY && wanted[i] != code[i])
			return false;
	return true;
}

#define N(array) (sizeof(array) / sizeof((array)[0]))
#define ANY_4    ANY, ANY, ANY, ANY

/* The target of the call whose last byte is at `end` in the code of an exported function. */
static bool called(struct runtime_file *file, const char *function, const uint8_t *code, size_t end,
		   uint64_t *address)
{
	int32_t distance;
	uint64_t at;

	if (!runtime_exported(file, function, &at))
		return false;
	memcpy(&distance, code + end - sizeof(distance), sizeof(distance));
	*address = at + end + (uint64_t)(int64_t)distance;
	return true;
}

static bool bdwgc_locate(struct runtime_file *file, const char *name, uint64_t *address)
{
	/* sub $8,%rsp; mov GC_need_to_lock,%eax; test; jne; call; movl $1,GC_world_is_stopped */
	static const uint16_t stop[] = {0x48, 0x83,  0xec, 8,   0x8b, 0x05,  ANY_4,
					0x85, 0xc0,  0x75, ANY, 0xe8, ANY_4, 0xc7,
					0x05, ANY_4, 1,    0,   0,    0};
	enum { STOP_CALL_END = 19 };
	/* sub $8,%rsp; movl $0,GC_world_is_stopped; movq $0,a clock; call */
	static const uint16_t start[] = {0x48,  0x83, 0xec, 8, 0xc7, 0x05, ANY_4,
					 0,     0,    0,    0, 0x48, 0xc7, 0x05,
					 ANY_4, 0,    0,    0, 0,    0xe8, ANY_4};
	uint8_t code[N(stop) + N(start)];

	if (!strcmp(name, "GC_stop_world"))
		return begins_with(file, "GC_stop_world_external", stop, N(stop), code) &&
		       called(file, "GC_stop_world_external", code, STOP_CALL_END, address);
	if (!strcmp(name, "GC_start_world"))
		return begins_with(file, "GC_start_world_external", start, N(start), code) &&
		       called(file, "GC_start_world_external", code, N(start), address);
	return false;
}

static bool bdwgc_field(struct runtime_file *file, const char *name, int32_t *offset)
{
	/* mov GC_arrays,%rdx; mov 0x18(%rdx),%rax; sub 0xb8(%rdx),%rax; ret */
	static const uint16_t wanted[] = {0x48, 0x8b, 0x15, ANY_4, 0x48,  0x8b, 0x42,
					  ANY,  0x48, 0x2b, 0x82,  ANY_4, 0xc3};
	enum { FREE_AT = 10, UNMAPPED_AT = 14 };
	uint8_t code[N(wanted)];

	if (!begins_with(file, "GC_get_free_bytes", wanted, N(wanted), code))
		return false;
	if (!strcmp(name, "free"))
		*offset = code[FREE_AT];
	else
		memcpy(offset, code + UNMAPPED_AT, sizeof(*offset));
	return true;
}

static bool bdwgc_recognise(struct runtime_file *file, struct runtime_facts *out)
{
	static const uint16_t wanted[] = {0xb8, ANY_4, 0xc3}; /* mov $0x80202,%eax; ret */
	uint8_t code[N(wanted)];
	uint64_t at;

	if (!runtime_exported(file, "GC_arrays", &at) ||
	    !runtime_exported(file, "GC_gcollect", &at))
		return false;
	if (begins_with(file, "GC_get_version", wanted, N(wanted), code))
		snprintf(out->version, sizeof(out->version), "%u.%u.%u", code[3], code[2], code[1]);
	return true;
}

/* --- arguments ---------------------------------------------------------------------------- */

/* Both sizes include memory returned to the system. Free blocks are not in use. */
static void bdwgc_convert(const struct runtime_facts *facts, const struct runtime_place *place,
			  const uint64_t *read, struct place_values *values)
{
	(void)facts;
	if (place->report != PLACE_PAUSE_END || read[UNMAPPED] > read[HEAP_SIZE] ||
	    read[FREE] > read[HEAP_SIZE])
		return;
	values->of[VALUE_SIZE] = read[HEAP_SIZE] - read[UNMAPPED];
	values->of[VALUE_BEFORE] = read[HEAP_SIZE] - read[FREE];
}

static const char *bdwgc_kind_name(const struct runtime_facts *facts, uint64_t number,
				   const char *collector, uint32_t *kind)
{
	(void)facts;
	(void)number;
	(void)collector;
	*kind = GCPROF_GC_FULL;
	return "mark";
}

static const char *bdwgc_note(const struct runtime_facts *facts)
{
	(void)facts;
	return "no allocation samples, and not how it sweeps as the program allocates; "
	       "GC_PRINT_STATS=1 has why it collects and what it frees";
}

const struct runtime runtime_bdwgc = {
	.id = RUNTIME_BDWGC,
	.name = "bdwgc",
	.places = places,
	.n_places = sizeof(places) / sizeof(places[0]),
	.recognise = bdwgc_recognise,
	.locate = bdwgc_locate,
	.field = bdwgc_field,
	.convert = bdwgc_convert,
	.note = bdwgc_note,
	.kind_name = bdwgc_kind_name,
};
