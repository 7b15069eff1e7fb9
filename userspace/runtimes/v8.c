/* SPDX-License-Identifier: BSD-2-Clause */
/* v8.c: the JavaScript engine V8, in node or in libnode. */
/*
 * Its internal functions are exported, because add-ons may use them. PerformGarbageCollection() has
 * the collector and the reason. Each collection ends its pause with StopObservablePause(). By then
 * GCTracer has the sizes of the heap before and after, as in --trace-gc; the code that writes them
 * shows their location.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../gc/provider/probe_args.h"
#include "find.h"
#include "v8_layout.h"

/* Words of struct pt_regs. */
enum { RDX = 12, RSI = 13, RDI = 14 };
/* Values of `number` in the facts. */
enum { WITHOUT_SIZES, WITH_SIZES };

#define PERFORM                                                                               \
	"_ZN2v88internal4Heap24PerformGarbageCollectionENS0_16GarbageCollectorENS0_23Garbage" \
	"CollectionReasonEPKc"
#define STOP_PAUSE "_ZN2v88internal8GCTracer19StopObservablePauseEv"
#define STOP_PAUSE_SINCE_12 \
	"_ZN2v88internal8GCTracer19StopObservablePauseENS0_16GarbageCollectorENS_4base9TimeTicksE"
#define STOP_SAFEPOINT          "_ZN2v88internal8GCTracer15StopInSafepointEv"
#define STOP_SAFEPOINT_SINCE_12 "_ZN2v88internal8GCTracer15StopInSafepointENS_4base9TimeTicksE"

#define START_MARKING                                                                    \
	"_ZN2v88internal18IncrementalMarking5StartENS0_16GarbageCollectorENS0_23Garbage" \
	"CollectionReasonE"
#define STOP_MARKING "_ZN2v88internal18IncrementalMarking4StopEv"

#define END_PLACE                                                               \
	.report = PLACE_PAUSE_END, .where = PLACE_AT_ENTRY, .name = STOP_PAUSE, \
	.flags = PLACE_COLLECTOR | PLACE_RESUMES
#define OF_TRACER(value_, field_)                                                   \
	{                                                                           \
		.value = (value_), .from = FROM_REGISTER, .number = RDI, .steps = { \
			{STEP_READ, 8, .field = (field_)}                           \
		}                                                                   \
	}
/* A tracer begins with the address of its heap, and so does the incremental marker. */
#define HEAP_OF_OBJECT                                                                \
	{                                                                             \
		.value = VALUE_HEAP, .from = FROM_REGISTER, .number = RDI, .steps = { \
			{STEP_READ, 8}                                                \
		}                                                                     \
	}

static const struct runtime_place places[] = {
	{.report = PLACE_PAUSE_BEGIN,
	 .where = PLACE_AT_ENTRY,
	 .name = PERFORM,
	 .flags = PLACE_COLLECTOR | PLACE_PAUSES,
	 .arguments = {{.value = VALUE_HEAP, .from = FROM_REGISTER, .number = RDI},
		       {.value = VALUE_KIND, .from = FROM_REGISTER, .size = 4, .number = RSI},
		       {.value = VALUE_REASON, .from = FROM_REGISTER, .size = 4, .number = RDX}}},
	{END_PLACE, .since = WITH_SIZES,
	 .arguments = {HEAP_OF_OBJECT, OF_TRACER(VALUE_BEFORE, "start_object_size"),
		       OF_TRACER(VALUE_USED, "end_object_size"),
		       OF_TRACER(VALUE_SIZE, "end_memory_size")}},
	{END_PLACE, .until = WITH_SIZES, .arguments = {HEAP_OF_OBJECT}},
	{.report = PLACE_CYCLE_BEGIN,
	 .where = PLACE_AT_ENTRY,
	 .name = START_MARKING,
	 .optional = true,
	 .title = "incremental marking",
	 .arguments = {HEAP_OF_OBJECT,
		       {.value = VALUE_REASON, .from = FROM_REGISTER, .size = 4, .number = RDX}}},
	/* Each collection stops it, whether or not it was running. */
	{.report = PLACE_CYCLE_END,
	 .where = PLACE_AT_ENTRY,
	 .name = STOP_MARKING,
	 .optional = true,
	 .arguments = {HEAP_OF_OBJECT}},
};

/* --- the file ----------------------------------------------------------------------------- */

/* Names of functions in other versions. */
static bool locate(struct runtime_file *file, const char *name, uint64_t *address)
{
	static const char *const before[][2] = {
		{PERFORM, PERFORM "NS_15GCCallbackFlagsE"}, /* up to version 10 */
		{STOP_PAUSE, STOP_PAUSE_SINCE_12},
	};

	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		if (!strcmp(name, before[i][0]))
			return runtime_symbol(file, before[i][1], address);
	return false;
}

/* The offset n in `mov %rax,n(register)`, with n of one byte; 0: another instruction. */
static uint8_t written_at(const uint8_t *code)
{
	bool is_store = (code[0] & 0xfe) == 0x48 && code[1] == 0x89 && (code[2] & 0xf8) == 0x40;

	if (!is_store || (code[2] & 7) != 4)
		return is_store ? code[3] : 0;
	return code[0] == 0x49 && code[3] == 0x24 ? code[4] : 0; /* r12 */
}

/*
 * StopInSafepoint() calls Heap::SizeOfObjects() of the heap at the start of the tracer and writes
 * its result to end_object_size; the memory size follows two words later. Each is preceded by its
 * value at the start. Returns 0 if the code differs.
 */
static int32_t end_object_size(struct runtime_file *file)
{
	enum { CODE_BYTES = 96, STORE_BYTES = 5, MEMORY_BEHIND = 16 };
	static const uint8_t call[] = {0x48, 0x8b, 0x3f, 0xe8}; /* mov (%rdi),%rdi; call n */
	uint8_t code[CODE_BYTES];
	size_t at = 0;
	uint64_t address;
	int32_t first = 0;

	if ((!runtime_symbol(file, STOP_SAFEPOINT, &address) &&
	     !runtime_symbol(file, STOP_SAFEPOINT_SINCE_12, &address)) ||
	    !runtime_read(file, address, code, sizeof(code)))
		return 0;
	while (at + sizeof(call) < sizeof(code) && memcmp(code + at, call, sizeof(call)) != 0)
		at++;
	for (at += sizeof(call) + 4; at + STORE_BYTES <= sizeof(code); at++) {
		uint8_t written = written_at(code + at);

		if (first && written)
			return written == first + MEMORY_BEHIND ? first : 0;
		if (written)
			first = written;
	}
	return 0;
}

static bool field(struct runtime_file *file, const char *name, int32_t *offset)
{
	static const struct {
		const char *name;
		int32_t behind;
	} fields[] = {{"start_object_size", -8}, {"end_object_size", 0}, {"end_memory_size", 16}};
	int32_t end = end_object_size(file);

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(name, fields[i].name) != 0)
			continue;
		*offset = end + fields[i].behind;
		return end != 0;
	}
	return false;
}

static uint32_t version_part(struct runtime_file *file, const char *name)
{
	uint64_t at;
	uint32_t value = 0;

	return runtime_symbol(file, name, &at) && runtime_read(file, at, &value, sizeof(value))
		       ? value
		       : 0;
}

static bool recognise(struct runtime_file *file, struct runtime_facts *out)
{
	uint64_t at;

	if (!runtime_exported(file, "_ZN2v82V810GetVersionEv", &at))
		return false;
	snprintf(out->version, sizeof(out->version), "%u.%u.%u.%u",
		 version_part(file, "_ZN2v88internal7Version6major_E"),
		 version_part(file, "_ZN2v88internal7Version6minor_E"),
		 version_part(file, "_ZN2v88internal7Version6build_E"),
		 version_part(file, "_ZN2v88internal7Version6patch_E"));
	out->number = end_object_size(file) ? WITH_SIZES : WITHOUT_SIZES;
	return true;
}

static void constants(struct runtime_file *file, struct runtime_facts *out)
{
	out->has_frames = v8_layout_of(file, &out->v8);
	if (!out->has_frames)
		snprintf(out->missing, sizeof(out->missing),
			 "where its objects have the names of functions is unknown");
	else if (out->number == WITHOUT_SIZES && !out->missing[0])
		snprintf(out->missing, sizeof(out->missing), "where its heap sizes are is unknown");
}

/* --- arguments ---------------------------------------------------------------------------- */

static const char *kind_name(const struct runtime_facts *facts, uint64_t number,
			     const char *collector, uint32_t *kind)
{
	static const char *const names[] = {"Scavenge", "Mark-Compact", "Minor Mark-Compact"};

	(void)facts;
	(void)collector;
	*kind = number == 1 ? GCPROF_GC_FULL : GCPROF_GC_MINOR;
	return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

/* Numbers are never reused, because Chrome's statistics have them. Names are those of --trace-gc.
 */
static const char *reason_name(const struct runtime_facts *facts, uint64_t number)
{
	static const char *const names[] = {"unknown",
					    "allocation failure",
					    "allocation limit",
					    "context disposal",
					    "counters extension",
					    "debugger",
					    "deserialize",
					    "external memory pressure",
					    "finalize incremental marking via stack guard",
					    "finalize incremental marking via task",
					    "full hash-table",
					    "heap profiler",
					    "task",
					    "last resort",
					    "low memory notification",
					    "make heap iterable",
					    "memory pressure",
					    "memory reducer",
					    "runtime",
					    "sampling profiler",
					    "snapshot creator",
					    "testing",
					    "external finalize",
					    "global allocation limit",
					    "measure memory",
					    "background allocation failure",
					    "finalize concurrent MinorMS",
					    "CppHeap allocation failure"};

	(void)facts;
	return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

static const char *note(const struct runtime_facts *facts)
{
	return facts->has_frames ? "no allocation samples (node --heap-prof takes its own); what "
				   "optimised code "
				   "has inlined counts as the function that it is inlined into"
				 : "no allocation samples (node --heap-prof takes its own); "
				   "functions have names "
				   "with node --perf-basic-prof --interpreted-frames-native-stack";
}

const struct runtime runtime_v8 = {
	.id = RUNTIME_V8,
	.name = "v8",
	.collector = "v8::internal::Heap::CollectGarbage "
		     "v8::internal::ConcurrentMarking::JobTaskMajor::Run "
		     "v8::internal::ConcurrentMarking::JobTaskMinor::Run "
		     "v8::internal::ConcurrentMarking::JobTask::Run "
		     "v8::internal::ScavengerCollector::JobTask::Run "
		     "v8::internal::Sweeper::SweeperJob::Run",
	.compiler = "v8::internal::OptimizingCompileDispatcher::CompileTask::RunInternal "
		    "v8::internal::BackgroundCompileTask::Run",
	.walks = true,
	.places = places,
	.n_places = sizeof(places) / sizeof(places[0]),
	.recognise = recognise,
	.locate = locate,
	.field = field,
	.constants = constants,
	.note = note,
	.kind_name = kind_name,
	.reason_name = reason_name,
};
