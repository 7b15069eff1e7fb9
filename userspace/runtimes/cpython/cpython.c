/* SPDX-License-Identifier: BSD-2-Clause */
/* cpython.c: the Python interpreter, in its own program or in libpython. */
/*
 * Distributions build it with SystemTap notes (provider python), behind semaphores. gc__start has
 * the collected generation, gc__done the number of unreachable objects. They fire between the two
 * calls of gc.callbacks, once each.
 *
 * Most other builds have no notes. There, the function that collects is found as the one that
 * PyGC_Collect() calls, or ends with a jump to, for generation 2, its second argument. It returns
 * the number of unreachable objects. Depending on the version and the compiler, gc.callbacks are
 * called by it or by its callers.
 */
#include <stdio.h>
#include <string.h>

#include "../../../gc/provider/probe_args.h"
#include "../../reader/notes.h"
#include "../code.h"
#include "layout.h"

enum { RAX = 10, RSI = 13 };
enum { HEAP = 1 };
enum { GENERATIONS = 3 };

/* What the collecting function of 3.13 gets, unless the program asks: it chooses the generation. */
#define AUTOMATIC UINT32_MAX

/* Values of `number` in the facts. */
enum { WITH_NOTES, WITHOUT_NOTES };

#define COLLECTS "the function that collects"

#define BEGIN .report = PLACE_PAUSE_BEGIN, .flags = PLACE_COLLECTOR | PLACE_PAUSES
#define END   .report = PLACE_PAUSE_END, .flags = PLACE_COLLECTOR | PLACE_RESUMES
#define ONLY_HEAP                                                        \
	{                                                                \
		.value = VALUE_HEAP, .from = FROM_NUMBER, .number = HEAP \
	}

static const struct runtime_place places[] = {
	{BEGIN, .where = PLACE_AT_NOTE, .name = "python:gc__start", .until = WITHOUT_NOTES,
	 .arguments = {ONLY_HEAP, {.value = VALUE_KIND, .from = FROM_NOTE, .number = 0}}},
	{END, .where = PLACE_AT_NOTE, .name = "python:gc__done", .until = WITHOUT_NOTES,
	 .arguments = {ONLY_HEAP, {.value = VALUE_UNREACHABLE, .from = FROM_NOTE, .number = 0}}},

	{BEGIN, .where = PLACE_AT_ENTRY, .name = COLLECTS, .since = WITHOUT_NOTES,
	 .arguments = {ONLY_HEAP,
		       {.value = VALUE_KIND, .from = FROM_REGISTER, .number = RSI, .size = 4}}},
	{END, .where = PLACE_AT_RETURN, .name = COLLECTS, .since = WITHOUT_NOTES,
	 .arguments = {ONLY_HEAP,
		       {.value = VALUE_UNREACHABLE, .from = FROM_REGISTER, .number = RAX}}},
};

/* --- builds without notes ----------------------------------------------------------------- */

#define SEARCH_MAX (64u << 20) /* bytes of code */

/* Does the current instruction call a function, or jump to one? */
static bool leaves(const struct code *code, uint64_t begin, uint64_t end)
{
	uint64_t target = code_target(code);

	return code->insn.mnemonic == ZYDIS_MNEMONIC_CALL ||
	       (code->insn.mnemonic == ZYDIS_MNEMONIC_JMP && (target < begin || target >= end));
}

/* The function that PyGC_Collect() calls for generation 2; false: none, or several. */
static bool find_collecting(struct runtime_file *file, uint64_t *function)
{
	uint8_t room[CODE_BYTES_MAX];
	struct code code;
	uint64_t begin, end;
	bool full = false;

	*function = 0;
	if (!code_open_function(file, "PyGC_Collect", room, &code))
		return false;
	begin = code.next;
	end = begin + code.left;
	while (code_step(&code)) {
		if (code_is_register(&code, 0, ZYDIS_REGISTER_ESI) ||
		    code_is_register(&code, 0, ZYDIS_REGISTER_RSI))
			full = code.insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
			       code.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			       code.operands[1].imm.value.u == GENERATIONS - 1;
		if (!leaves(&code, begin, end))
			continue;
		if (full && *function)
			return false;
		if (full)
			*function = code_target(&code);
		full = false;
	}
	return *function != 0;
}

struct calls {
	uint64_t function;
	unsigned n;
};

static void count_calls(void *context, uint64_t address, const uint8_t *bytes, size_t size)
{
	enum { CALL = 0xe8, JUMP = 0xe9, CALL_BYTES = 5 };
	struct calls *calls = context;
	int32_t distance;

	for (size_t i = 0; i + CALL_BYTES <= size; i++) {
		if (bytes[i] != CALL && bytes[i] != JUMP)
			continue;
		memcpy(&distance, bytes + i + 1, sizeof(distance));
		calls->n += address + i + CALL_BYTES + (uint64_t)(int64_t)distance ==
			    calls->function;
	}
}

/* If nothing else calls the function, the compiler has made another one for other collections. */
static bool cpython_locate(struct runtime_file *file, const char *name, uint64_t *address)
{
	struct calls calls = {0};
	uint64_t left = SEARCH_MAX;

	if (strcmp(name, COLLECTS) != 0 || !find_collecting(file, address))
		return false;
	calls.function = *address;
	code_visit_all(file, SHF_ALLOC | SHF_EXECINSTR, 5, &left, count_calls, &calls);
	return calls.n > 1;
}

static void note_begin(void *context, const struct probe_note *note)
{
	bool *found = context;

	*found |= strcmp(note->provider, "python") == 0 && strcmp(note->name, "gc__start") == 0;
}

/* ------------------------------------------------------------------------------------------ */

static bool cpython_recognise(struct runtime_file *file, struct runtime_facts *out)
{
	uint64_t runtime;
	uint32_t version;
	bool notes = false;

	if (!runtime_exported(file, "_PyRuntime", &runtime))
		return false;
	notes_visit(file->elf, note_begin, &notes);
	out->number = notes ? WITH_NOTES : WITHOUT_NOTES;
	if (!cpython_version(file, &version))
		return true;
	snprintf(out->version, sizeof(out->version), "%u.%u.%u", version >> 24,
		 version >> 16 & 0xff, version >> 8 & 0xff);
	return true;
}

#define WITH_AGENT  "allocations are sampled with --agent python"
#define NO_AGENT    "allocations cannot be sampled without a global lock"
#define VERSIONS    "its functions are known of 3.11 to 3.15 with a global lock, and of 3.13 without"
#define COLLECTIONS "where it collects was not found"

static void cpython_constants(struct runtime_file *file, struct runtime_facts *out)
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

static const char *cpython_kind_name(const struct runtime_facts *facts, uint64_t generation,
				     const char *collector, uint32_t *kind)
{
	static const char *const names[GENERATIONS] = {"generation 0", "generation 1",
						       "generation 2"};

	(void)facts;
	(void)collector;
	*kind = generation == GENERATIONS - 1 ? GCPROF_GC_FULL : GCPROF_GC_MINOR;
	if (generation == AUTOMATIC)
		return "automatic";
	return generation < GENERATIONS ? names[generation] : NULL;
}

const struct runtime runtime_cpython = {
	.id = RUNTIME_CPYTHON,
	.name = "cpython",
	/* A condition or event acquires a lock that only its waiter knows. */
	.locks = "take_gil PyEval_RestoreThread PyEval_AcquireThread "
		 "?PyThread_acquire_lock_timed ?PyThread_acquire_lock ?lock_PyThread_acquire_lock "
		 "?_PyMutex_LockTimed ?_PyParkingLot_Park",
	.rests = "Condition.wait* Thread.join Thread._wait_for_tstate_lock",
	.collector = "gc_collect_main gc_collect_generations gc_collect_young gc_collect_increment "
		     "gc_collect_full gc_collect_region collect_with_callback",
	.pacing = GC_PACING_GROWTH,
	.plain = "buffer int float complex bool str bytes bytearray code range",
	.places = places,
	.n_places = sizeof(places) / sizeof(places[0]),
	.agent = "python",
	.walks = true,
	.recognise = cpython_recognise,
	.locate = cpython_locate,
	.returns = runtime_returns,
	.constants = cpython_constants,
	.note = note,
	.kind_name = cpython_kind_name,
};
