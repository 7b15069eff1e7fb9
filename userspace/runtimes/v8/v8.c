/* SPDX-License-Identifier: BSD-2-Clause */
/* v8.c: the JavaScript engine V8, in node or in libnode. */
/*
 * Its internal functions are exported, because add-ons may use them. PerformGarbageCollection() has
 * the collector and the reason. Each collection ends its pause with StopObservablePause(). By then
 * GCTracer has the sizes of the heap before and after, as in --trace-gc; the code that writes them
 * shows their location.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../gc/provider/probe_args.h"
#include "../find.h"
#include "../../symbols/elf_file.h"
#include "../../../bpf/v8.h"

/* --- layouts of V8 objects, from the constants that its file exports for debuggers ---------- */

/*
 * V8 exports constants for post-mortem debuggers (v8dbg_*): offsets of fields, with the field's
 * type in the name, and types of objects. Names have changed with the types.
 */

#define NAMES_MAX  3
#define NAME_BYTES 128

/* The names of an item's constant, and what is added to its value. */
static const struct row {
	enum v8_item item;
	uint16_t add;
	const char *names[NAMES_MAX]; /* the first one present is used */
} rows[] = {
	{V8_MAP_TYPE, 0, {"class_Map__instance_type__uint16_t"}},
	{V8_FUNCTION_SHARED, 0, {"class_JSFunction__shared__SharedFunctionInfo"}},
	{V8_SHARED_NAME,
	 0,
	 {"class_SharedFunctionInfo__name_or_scope_info__Object",
	  "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
	  "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"}},
	{V8_SHARED_SCRIPT,
	 0,
	 {"class_SharedFunctionInfo__script_or_debug_info__HeapObject",
	  "class_SharedFunctionInfo__script_or_debug_info__Object",
	  "class_SharedFunctionInfo__raw_script__Tagged_Object_"}},
	{V8_SHARED_LENGTH, 0, {"class_SharedFunctionInfo__length__uint16_t"}},
	{V8_SCRIPT_SOURCE, 0, {"class_Script__source__Object"}},
	{V8_SCRIPT_NAME, 0, {"class_Script__name__Object"}},
	{V8_SCRIPT_ID, V8_WORD, {"class_Script__line_ends__Object"}}, /* after that */
	{V8_SCOPE_LOCALS, V8_WORD, {"scopeinfo_idx_ncontextlocals"}},
	{V8_SCOPE_FIRST, V8_WORD, {"scopeinfo_idx_first_vars"}},
	{V8_STRING_LENGTH, 0, {"class_String__length__int32_t"}},
	{V8_STRING_CHARS, 0, {"class_SeqOneByteString__chars__char"}},
	{V8_STRING_OTHER, 0, {"class_ConsString__first__String"}},
	{V8_STRING_OFFSET, 0, {"class_SlicedString__offset__SMI"}},
	{V8_STRING_OUTSIDE, V8_WORD, {"class_ExternalString__resource__Object"}}, /* after that */
	{V8_TYPE_SHARED, 0, {"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"}},
	{V8_TYPE_SCRIPT, 0, {"type_Script__SCRIPT_TYPE"}},
	{V8_TYPE_SCOPE, 0, {"type_ScopeInfo__SCOPE_INFO_TYPE"}},
	{V8_TYPE_NO_STRING, 0, {"FirstNonstringType"}},
};

/* What the walker assumes (v8.h). */
static const struct {
	const char *name;
	int32_t value;
} same[] = {
	{"TaggedSize", V8_WORD},
	{"HeapObjectTag", V8_TAG},
	{"HeapObjectTagMask", V8_TAG_BITS},
	{"SmiShiftSize", V8_SMI_SHIFT - 1},
	{"class_ThinString__actual__String", 16},
	{"class_ConsString__first__String", 16},
	{"class_SlicedString__parent__String", 16},
	{"ConsStringTag", V8_JOINED},
	{"ExternalStringTag", V8_OUTSIDE},
	{"SlicedStringTag", V8_SLICED},
	{"ThinStringTag", V8_THIN},
	{"OneByteStringTag", V8_STRING_ONE_BYTE},
	{"StringRepresentationMask", V8_STRING_FORM},
	{"off_fp_context", -8},
	{"off_fp_function", -V8_FRAME_BYTES},
};

static bool number_of(struct runtime_file *file, const char *name, int32_t *out)
{
	char symbol[NAME_BYTES];
	uint64_t at;

	snprintf(symbol, sizeof(symbol), "v8dbg_%s", name);
	return runtime_exported(file, symbol, &at) && runtime_read(file, at, out, sizeof(*out));
}

static bool item_of(struct runtime_file *file, const struct row *row, uint16_t *out)
{
	int32_t number;

	for (size_t i = 0; i < NAMES_MAX && row->names[i]; i++) {
		if (!number_of(file, row->names[i], &number))
			continue;
		if (number < 0 || number > INT16_MAX)
			return false;
		*out = (uint16_t)number;
		if (row->item == V8_SCOPE_LOCALS || row->item == V8_SCOPE_FIRST)
			*out = (uint16_t)(number % INT8_MAX * V8_WORD);
		*out = (uint16_t)(*out + row->add);
		return true;
	}
	return false;
}

/* Does it fit into what the walker reads of a shared function at once? */
static bool is_within(const struct v8_layout *layout)
{
	static const enum v8_item items[] = {V8_SHARED_NAME, V8_SHARED_SCRIPT, V8_SHARED_LENGTH};

	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		if (layout->at[items[i]] % V8_WORD ||
		    layout->at[items[i]] >= V8_SHARED_WORDS * V8_WORD)
			return false;
	return true;
}

/* The layout for the walker. False, and all 0: no engine, missing constants, or objects of another
 * form. */
static bool v8_layout_of(struct runtime_file *file, struct v8_layout *out)
{
	struct v8_layout layout = {0};
	int32_t number;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (!number_of(file, same[i].name, &number) || number != same[i].value)
			return false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!item_of(file, &rows[i], &layout.at[rows[i].item]))
			return false;
	if (!is_within(&layout))
		return false;
	*out = layout;
	return true;
}

/* --- places of the engine ------------------------------------------------------------------- */

/* Words of struct pt_regs. */
enum { RCX = 11, RDX = 12, RSI = 13, RDI = 14 };
/* Values of `number` in the facts. */
enum { WITHOUT_SIZES, WITH_SIZES };
/* Offsets in a sample (SamplingHeapProfiler::Sample) and in what its weak callback gets. */
enum { SAMPLE_SIZE = 0, SAMPLE_PROFILER = 24, PROFILER_HEAP = 8, WEAK_PARAMETER = 8 };

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

#define SAMPLER "_ZN2v88internal20SamplingHeapProfiler"
/* The call by which SampleObject() makes the handle of a sampled object weak. */
#define SAMPLED       "SamplingHeapProfiler::SampleObject: call of MakeWeak"
#define SAMPLE_OBJECT SAMPLER "12SampleObjectEmm"
#define SAMPLE_DIED   SAMPLER "14OnWeakCallbackERKNS_16WeakCallbackInfoINS1_6SampleEEE"
#define BUILTINS      "v8_Default_embedded_blob_code_"
#define BUILTINS_SIZE "v8_Default_embedded_blob_code_size_"
#define NEW_SAMPLER \
	SAMPLER "C1EPNS0_4HeapEPNS0_14StringsStorageEmiNS_12HeapProfiler13SamplingFlagsE"
#define TEAR_DOWN    "_ZN2v88internal4Heap8TearDownEv"
#define SCALE_SAMPLE "_ZNK2v88internal20SamplingHeapProfiler11ScaleSampleEmj"
#define MAKE_WEAK                                                                          \
	"_ZN2v812api_internal8MakeWeakEPmPvPFvRKNS_16WeakCallbackInfoIvEEENS_16WeakCallba" \
	"ckTypeE"

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
	{.report = PLACE_SAMPLE,
	 .where = PLACE_AT_ENTRY,
	 .name = SAMPLED,
	 .flags = PLACE_STACK,
	 .arguments = {{.value = VALUE_ADDRESS, .from = FROM_REGISTER, .number = RSI},
		       {.value = VALUE_BYTES,
			.from = FROM_REGISTER,
			.number = RSI,
			.steps = {{STEP_READ, 8, .offset = SAMPLE_SIZE}}},
		       {.value = VALUE_PERIOD,
			.from = FROM_REGISTER,
			.number = RSI,
			.steps = {{STEP_READ, 8, .offset = SAMPLE_PROFILER},
				  {STEP_READ, 8, .field = "rate"}}},
		       {.value = VALUE_HEAP,
			.from = FROM_REGISTER,
			.number = RSI,
			.steps = {{STEP_READ, 8, .offset = SAMPLE_PROFILER},
				  {STEP_READ, 8, .offset = PROFILER_HEAP}}}}},
	{.report = PLACE_FREED,
	 .where = PLACE_AT_ENTRY,
	 .name = SAMPLE_DIED,
	 .optional = true,
	 .arguments = {{.value = VALUE_ADDRESS,
			.from = FROM_REGISTER,
			.number = RDI,
			.steps = {{STEP_READ, 8, .offset = WEAK_PARAMETER}}}}},
	{.report = PLACE_SAMPLER,
	 .where = PLACE_AT_ENTRY,
	 .name = NEW_SAMPLER,
	 .optional = true,
	 .arguments = {{.value = VALUE_PERIOD, .from = FROM_REGISTER, .number = RCX}}},
	{.report = PLACE_HEAP_END,
	 .where = PLACE_AT_ENTRY,
	 .name = TEAR_DOWN,
	 .optional = true,
	 .arguments = {{.value = VALUE_HEAP, .from = FROM_REGISTER, .number = RDI}}},
	/* Each collection stops it, whether or not it was running. */
	{.report = PLACE_CYCLE_END,
	 .where = PLACE_AT_ENTRY,
	 .name = STOP_MARKING,
	 .optional = true,
	 .arguments = {HEAP_OF_OBJECT}},
};

/* --- the file ----------------------------------------------------------------------------- */

/* Finds a call in the first bytes of a function. */
static bool call_in(struct runtime_file *file, const char *function, const char *called,
		    uint64_t *address)
{
	enum { CODE_BYTES = 512, CALL_BYTES = 5 };
	uint8_t code[CODE_BYTES];
	uint64_t begin, target;
	int32_t distance;

	if (!runtime_symbol(file, function, &begin) || !runtime_symbol(file, called, &target) ||
	    !runtime_read(file, begin, code, sizeof(code)))
		return false;
	for (size_t at = 0; at + CALL_BYTES <= sizeof(code); at++) {
		memcpy(&distance, code + at + 1, sizeof(distance));
		*address = begin + at;
		if (code[at] == 0xe8 &&
		    *address + CALL_BYTES + (uint64_t)(int64_t)distance == target)
			return true;
	}
	return false;
}

/* Names of functions in other versions. */
static bool v8_locate(struct runtime_file *file, const char *name, uint64_t *address)
{
	static const char *const before[][2] = {
		{PERFORM, PERFORM "NS_15GCCallbackFlagsE"}, /* up to version 10 */
		{STOP_PAUSE, STOP_PAUSE_SINCE_12},
	};

	if (!strcmp(name, SAMPLED))
		return call_in(file, SAMPLE_OBJECT, MAKE_WEAK, address);
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

/* ScaleSample() begins with the size of a sample by the mean distance of samples, which it reads
 * from the profiler: mov n(%rdi),%rax. */
static bool rate_of(struct runtime_file *file, int32_t *offset)
{
	enum { CODE_BYTES = 64, LOAD_BYTES = 7 };
	static const uint8_t load[] = {0x48, 0x8b, 0x87};
	uint8_t code[CODE_BYTES];
	uint64_t address;

	if (!runtime_symbol(file, SCALE_SAMPLE, &address) ||
	    !runtime_read(file, address, code, sizeof(code)))
		return false;
	for (size_t at = 0; at + LOAD_BYTES <= sizeof(code); at++) {
		if (memcmp(code + at, load, sizeof(load)) != 0)
			continue;
		memcpy(offset, code + at + sizeof(load), sizeof(*offset));
		return true;
	}
	return false;
}

static bool field(struct runtime_file *file, const char *name, int32_t *offset)
{
	static const struct {
		const char *name;
		int32_t behind;
	} fields[] = {{"start_object_size", -8}, {"end_object_size", 0}, {"end_memory_size", 16}};
	int32_t end;

	if (!strcmp(name, "rate"))
		return rate_of(file, offset);
	end = end_object_size(file);
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

static bool v8_recognise(struct runtime_file *file, struct runtime_facts *out)
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

/* V8's own code begins about with this function of its interface, behind Node's. It ends with the
 * code of its builtin functions, or with the file's if that is not known. */
static void find_own_code(struct runtime_file *file, struct runtime_facts *out)
{
	uint64_t begin, end, size_at;
	uint32_t size;
	GElf_Phdr header;

	if (!runtime_symbol(file, MAKE_WEAK, &begin))
		return;
	for (size_t i = 0; elf_segment(file->elf, i, &header); i++)
		if (header.p_type == PT_LOAD && begin - header.p_vaddr < header.p_memsz)
			out->around = (struct runtime_code){header.p_vaddr,
							    header.p_vaddr + header.p_memsz};
	if (!runtime_symbol(file, BUILTINS, &end) ||
	    !runtime_symbol(file, BUILTINS_SIZE, &size_at) ||
	    !runtime_read(file, size_at, &size, sizeof(size)) || end < begin ||
	    size > out->around.end - end)
		end = out->around.end;
	else
		end += size;
	runtime_own_code(out, begin, end);
}

static void v8_constants(struct runtime_file *file, struct runtime_facts *out)
{
	find_own_code(file, out);
	out->has_frames = v8_layout_of(file, &out->v8);
	if (!out->has_frames)
		snprintf(out->missing, sizeof(out->missing),
			 "where its objects have the names of functions is unknown");
	else if (out->number == WITHOUT_SIZES && !out->missing[0])
		snprintf(out->missing, sizeof(out->missing), "where its heap sizes are is unknown");
}

/* --- arguments ---------------------------------------------------------------------------- */

static const char *v8_kind_name(const struct runtime_facts *facts, uint64_t number,
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

#define WITH_AGENT "allocations are sampled with --agent node, without types; "

static const char *v8_note(const struct runtime_facts *facts)
{
	return facts->has_frames ? WITH_AGENT
		       "what optimised code has inlined counts as the function that "
		       "it is inlined into"
				 : "allocations are sampled with --agent node, without types";
}

const struct runtime runtime_v8 = {
	.id = RUNTIME_V8,
	.name = "v8",
	.pacing = GC_PACING_SHRINKS,
	.collector = "v8::internal::Heap::CollectGarbage "
		     "v8::internal::ConcurrentMarking::JobTaskMajor::Run "
		     "v8::internal::ConcurrentMarking::JobTaskMinor::Run "
		     "v8::internal::ConcurrentMarking::JobTask::Run "
		     "v8::internal::ScavengerCollector::JobTask::Run "
		     "v8::internal::Sweeper::SweeperJob::Run",
	.compiler = "v8::internal::OptimizingCompileDispatcher::CompileTask::RunInternal "
		    "v8::internal::BackgroundCompileTask::Run",
	.names = "Its functions get names with node --perf-basic-prof "
		 "--interpreted-frames-native-stack.",
	.keeps_frames = true,
	.agent = "node",
	.agent_samples = true,
	.copies = "--use-largepages=",
	.walks = true,
	.places = places,
	.n_places = sizeof(places) / sizeof(places[0]),
	.recognise = v8_recognise,
	.locate = v8_locate,
	.field = field,
	.constants = v8_constants,
	.note = v8_note,
	.kind_name = v8_kind_name,
	.reason_name = reason_name,
};
