/* SPDX-License-Identifier: BSD-2-Clause */
/* hotspot.c: the Java virtual machine HotSpot, in its libjvm.so. */
/*
 * Its SystemTap notes (provider hotspot) have no semaphores and are in all distribution builds.
 * gc__begin and gc__end are pauses, also of concurrent collectors. mem__pool__* come in between
 * with the heap pools or, with ZGC and Shenandoah, at the ends of a cycle. No note has the cause of
 * a collection; it is an argument of GCMemoryManager::gc_end().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/hotspot.h"
#include "../../../gc/provider/probe_args.h"
#include "../find.h"
#include "outcomes.h"
#include "names.h"
#include "tables.h"
#include "../code.h"
#include "../../reader/notes.h"
#include "../../symbols/elf_file.h"

enum { HEAP_OBJECTS = 1, HEAP_THREADS = 2 }; /* HEAP_THREADS: stops without a collection */

/* Words of struct pt_regs. */
enum { R9 = 8, RSI = 13, RDI = 14 };

/* The collector's name and length, the part's, then its bytes at first, used, committed, at most.
 */
#define POOL_ARGUMENTS                                                                 \
	{                                                                              \
		NOTE(VALUE_NONE, 0), NOTE(VALUE_NONE, 1), NOTE(VALUE_NONE, 2),         \
			NOTE(VALUE_NONE, 3), NOTE(VALUE_USED, 5), NOTE(VALUE_SIZE, 6), \
			NOTE(VALUE_LIMIT, 7), NUMBER(VALUE_HEAP, HEAP_OBJECTS)         \
	}
#define POOL_TEXTS                             \
	{                                      \
		{0, 1, PLACE_NO_TEXT, 0},      \
		{                              \
			2, 3, PLACE_NO_TEXT, 0 \
		}                              \
	}

#define INTERVAL "_ZN17ThreadHeapSampler18_sampling_intervalE"
enum { INTERVAL_DEFAULT = 512 << 10 }; /* if no agent of the program sets one */

/* What an object of a class is, and its position in the thread's buffer: see hotspot_convert(). */
enum {
	/* Up to release 24. */
	OBJECT = 0,
	BUFFER = 1,
	REFILLS = 2,
	/* Later ones. */
	COMPACT = 0, /* UseCompactObjectHeaders */
	AWAY = 1,    /* with it: makes a shift one that is 0 or more than a pointer has bits */
	AT = 2,      /* offset of the class pointer */
	/* All. */
	SHIFT = 3,
	BASE = 4,
	KLASS = 5,
	LAYOUT = 6,
	LENGTH = 7,
	PERIOD = 8,
	NAME = 9,
	NAME_LENGTH = 10,
	/* Up to release 24. */
	OUTSIDE = 11,
	LIMIT = 12,
	ALLOCATED = 13,
	/* Later ones. */
	MOVING = 11
};

/*
 * A compact header is one word, with the class pointer, unshifted, in its upper 22 bits; the others
 * of its upper half belong to the hash code, which a new object does not have. If pointers are
 * shifted by 10, as they usually are then, that half is the distance of the class from the base.
 */
enum { AWAY_BITS = 16, COMPACT_SHIFT = 10 };

#define SAMPLED "_ZN11JvmtiExport25post_sampled_object_allocEP10JavaThreadP7oopDesc"

/* Of the class. */
#define CLASS_ARGUMENTS                                                                          \
	[BASE] = GLOBAL(VALUE_NONE, "CompressedKlassPointers._base", {STEP_READ, 8}),            \
	[LAYOUT] = ARGUMENT(VALUE_MORE, KLASS, {STEP_READ, 4, .field = "Klass._layout_helper"}), \
	[PERIOD] = GLOBAL(VALUE_PERIOD, INTERVAL, {STEP_READ, 4}),                               \
	[NAME] = ARGUMENT(VALUE_NONE, KLASS, {STEP_READ, 8, .field = "Klass._name"},             \
			  {STEP_PLUS, .field = "Symbol._body"}),                                 \
	[NAME_LENGTH] = ARGUMENT(VALUE_NONE, KLASS, {STEP_READ, 8, .field = "Klass._name"},      \
				 {STEP_READ, 2, .field = "Symbol._length"})

/* Of struct runtime_facts: 1 if unused rests of buffers are not counted. */
enum { COUNTS_EXACTLY = 0 };

/* A field of the allocating thread's buffer. */
#define OF_BUFFER(name, size)                                                                   \
	{                                                                                       \
		VALUE_MORE, FROM_REGISTER, .number = RDI, .steps = {                            \
			{STEP_READ, size, .field = "Thread._tlab+ThreadLocalAllocBuffer." name} \
		}                                                                               \
	}

static const struct runtime_place
	places[] =
		{
			{PLACE_SAMPLE, PLACE_AT_ENTRY, SAMPLED, PLACE_STACK | PLACE_FOLLOWS,
			 .until = 25, .texts = {{NAME, NAME_LENGTH, KLASS, 0}},
			 .arguments =
				 {
					 CLASS_ARGUMENTS,
					 [SHIFT] = GLOBAL(VALUE_NONE,
							  "CompressedKlassPointers._shift",
							  {STEP_READ, 4}),
					 [KLASS] = {VALUE_TYPE, FROM_REGISTER, .number = RSI,
						    .steps = {{STEP_READ, 4, .field = POINTER},
							      {STEP_SHIFT, .other = SHIFT},
							      {STEP_ADD, .other = BASE}}},
					 [LENGTH] = {VALUE_MORE, FROM_REGISTER, .number = RSI,
						     .steps = {{STEP_READ, 4,
								.offset = 4, .field = POINTER}}},
					 [OBJECT] = REGISTER(VALUE_OBJECT, RSI),
					 [BUFFER] = OF_BUFFER("_start", 8),
					 [REFILLS] = OF_BUFFER("_number_of_refills", 4),
					 [OUTSIDE] = OF_BUFFER("_slow_allocations", 4),
					 [LIMIT] = OF_BUFFER("_refill_waste_limit", 8),
					 [ALLOCATED] =
						 {VALUE_COUNTED, FROM_REGISTER, .number = RDI,
						  .steps = {{STEP_READ, 8,
							     .field = "Thread._allocated_"
								      "bytes"}}},
				 }},
			{PLACE_SAMPLE, PLACE_AT_ENTRY, SAMPLED, PLACE_STACK | PLACE_FOLLOWS,
			 .since = 25, .texts = {{NAME, NAME_LENGTH, KLASS, 0}},
			 .arguments =
				 {
					 CLASS_ARGUMENTS,
					 [COMPACT] = GLOBAL(VALUE_NONE, "UseCompactObjectHeaders",
							    {STEP_READ, 1}),
					 [AWAY] = {VALUE_NONE, FROM_NUMBER, .number = AWAY_BITS,
						   .steps = {{STEP_SHIFT, .other = COMPACT},
							     {STEP_PLUS, .offset = -AWAY_BITS}}},
					 [AT] = {VALUE_NONE, FROM_NUMBER, .number = -4,
						 .steps = {{STEP_SHIFT, .other = COMPACT},
							   {STEP_PLUS, .offset = 4,
							    .field = POINTER}}},
					 [SHIFT] = GLOBAL(VALUE_NONE,
							  "CompressedKlassPointers._shift",
							  {STEP_READ, 4},
							  {STEP_SHIFT, .other = AWAY}),
					 [KLASS] = {VALUE_TYPE, FROM_REGISTER, .number = RSI,
						    .steps = {{STEP_ADD, .other = AT},
							      {STEP_READ, 4},
							      {STEP_SHIFT, .other = SHIFT},
							      {STEP_ADD, .other = BASE}}},
					 [LENGTH] = {VALUE_MORE, FROM_REGISTER, .number = RSI,
						     .steps = {{STEP_ADD, .other = AT},
							       {STEP_READ, 4, .offset = 4}}},
					 [MOVING] = REGISTER(VALUE_OBJECT, RSI),
				 }},
			{PLACE_PAUSE_BEGIN, PLACE_AT_NOTE, "hotspot:gc__begin",
			 PLACE_COLLECTOR | PLACE_PAUSES,
			 .arguments = {NUMBER(VALUE_HEAP, HEAP_OBJECTS), NOTE(VALUE_KIND, 0)}},
			{PLACE_PAUSE_END, PLACE_AT_NOTE, "hotspot:gc__end",
			 PLACE_COLLECTOR | PLACE_RESUMES,
			 .arguments = {NUMBER(VALUE_HEAP, HEAP_OBJECTS)}},
			{PLACE_POOL_BEFORE, PLACE_AT_NOTE, "hotspot:mem__pool__gc__begin",
			 PLACE_COLLECTOR | PLACE_COLLECTS, .texts = POOL_TEXTS,
			 .arguments = POOL_ARGUMENTS},
			{PLACE_POOL_AFTER, PLACE_AT_NOTE, "hotspot:mem__pool__gc__end",
			 PLACE_COLLECTOR | PLACE_COLLECTED, .texts = POOL_TEXTS,
			 .arguments = POOL_ARGUMENTS},
			{PLACE_REASON, PLACE_AT_ENTRY,
			 "_ZN15GCMemoryManager6gc_endEbbbbN7GCCause5CauseEbPKc", PLACE_COLLECTOR,
			 .optional = true,
			 .arguments = {NUMBER(VALUE_HEAP, HEAP_OBJECTS),
				       REGISTER_32(VALUE_REASON, R9)}},
			{PLACE_PAUSE_BEGIN, PLACE_AT_NOTE, "hs_private:safepoint__begin",
			 PLACE_COLLECTOR, .optional = true,
			 .arguments = {NUMBER(VALUE_HEAP, HEAP_THREADS)}},
			{PLACE_PAUSE_END, PLACE_AT_NOTE, "hs_private:safepoint__end",
			 PLACE_COLLECTOR, .optional = true,
			 .arguments = {NUMBER(VALUE_HEAP, HEAP_THREADS)}},
			/* The kernel keeps 15 bytes of names. */
			{PLACE_THREAD, PLACE_AT_ENTRY, "_ZN2os22set_native_thread_nameEPKc",
			 PLACE_COLLECTOR, .optional = true,
			 .texts = {{0, PLACE_NO_TEXT, PLACE_NO_TEXT, 0}},
			 .arguments = {REGISTER(VALUE_MORE, RDI)}},
			/* Concurrent cycles. */
			{PLACE_CYCLE_DECIDED, PLACE_AT_ENTRY,
			 "_ZN16G1ConcurrentMark20pre_concurrent_startEN7GCCause5CauseE",
			 PLACE_COLLECTOR, .optional = true,
			 .arguments = {NUMBER(VALUE_HEAP, HEAP_OBJECTS),
				       REGISTER_32(VALUE_REASON, RSI)}},
			{PLACE_CYCLE_BEGIN, PLACE_AT_ENTRY,
			 "_ZN16G1ConcurrentMark22concurrent_cycle_startEv", PLACE_COLLECTOR,
			 .optional = true, .title = "G1 concurrent mark",
			 .arguments = {NUMBER(VALUE_HEAP, HEAP_OBJECTS)}},
			{PLACE_CYCLE_END, PLACE_AT_ENTRY,
			 "_ZN16G1ConcurrentMark20concurrent_cycle_endEv", PLACE_COLLECTOR,
			 .optional = true, .arguments = {NUMBER(VALUE_HEAP, HEAP_OBJECTS)}},
			{PLACE_CYCLE_END, PLACE_AT_ENTRY,
			 "_ZN16G1ConcurrentMark20concurrent_cycle_endEb", PLACE_COLLECTOR,
			 .optional = true, .arguments = {NUMBER(VALUE_HEAP, HEAP_OBJECTS)}},
			/* Outcomes: of young collections; */
			{PLACE_OUTCOMES, PLACE_AT_NOTE, "hotspot:mem__pool__gc__end", OUTCOMES,
			 .optional = true, .fates = {FATES_COPIED, FATES_RANGE, FORWARDED},
			 .arguments =
				 {OF_MANAGER(LETTERS('C', 'o', 'p', 'y')), CLASS_CHECK,
				  SERIAL_YOUNG, [FATE_TOP] = SERIAL_EDEN("ContiguousSpace._top"),
				  [FATE_BOTTOM] =
					  SERIAL_EDEN("Space._bottom|ContiguousSpace._bottom")}},
			{PLACE_OUTCOMES, PLACE_AT_NOTE, "hotspot:mem__pool__gc__end", OUTCOMES,
			 .optional = true, .fates = {FATES_COPIED, FATES_RANGE, FORWARDED},
			 .arguments = {OF_MANAGER(LETTERS('P', 'S', ' ', 'S')),
				       CLASS_CHECK, [FATE_WORD] = NUMBER(VALUE_NONE, 3),
				       [FATE_LOW] = PARALLEL_PART(
					       "PSYoungGen._reserved+MemRegion._start"),
				       [FATE_SIZE] = PARALLEL_PART(
					       "PSYoungGen._reserved+MemRegion._word_size"),
				       [FATE_TOP] = PARALLEL_EDEN("MutableSpace._top"),
				       [FATE_BOTTOM] = PARALLEL_EDEN("MutableSpace._bottom")}},
			/* This one needs the next place, or old objects would move unnoticed. */
			{PLACE_OUTCOMES, PLACE_AT_NOTE, "hotspot:mem__pool__gc__end", OUTCOMES,
			 .optional = true, .fates = {FATES_COPIED, FATES_REGIONS, FORWARDED},
			 .arguments =
				 {OF_MANAGER(LETTERS('G', '1', ' ', 'Y')), CLASS_CHECK,
				  G1_REGIONS, [FATE_ARGUMENTS] = GLOBAL(VALUE_NONE, CHOOSES_OLD)}},
			{PLACE_OUTCOMES, PLACE_AT_ENTRY, CHOOSES_OLD, OUTCOMES, .optional = true,
			 .fates = {FATES_MIXED}, .arguments = {ANYWHERE}},
			/* of full ones, in which objects move later; */
			{PLACE_OUTCOMES, PLACE_AT_RETURN,
			 "_ZN12GenMarkSweep17mark_sweep_phase1Eb|_ZN12SerialFullGC11phase1_markEb",
			 OUTCOMES, .optional = true,
			 .fates = {FATES_MARKED, FATES_RANGE, FORWARDED},
			 .arguments = {ANYWHERE, CLASS_CHECK, SERIAL_YOUNG}},
			{PLACE_OUTCOMES, PLACE_AT_ENTRY, "_ZN12GenMarkSweep17mark_sweep_phase4Ev",
			 OUTCOMES, .optional = true, .fates = {FATES_MOVED, FATES_RANGE, FORWARDED},
			 .arguments = {ANYWHERE, CLASS_CHECK, SERIAL_YOUNG}},
			{PLACE_OUTCOMES, PLACE_AT_ENTRY,
			 "_ZN15G1FullCollector20phase4_do_compactionEv", OUTCOMES, .optional = true,
			 .fates = {FATES_MOVED, FATES_REGIONS, FORWARDED},
			 .arguments = {ANYWHERE, CLASS_CHECK, G1_REGIONS}},
			/* The bitmap is in no table: it is used if it begins where the heap does.
			 */
			{PLACE_OUTCOMES, PLACE_AT_ENTRY, "_ZN17PSParallelCompact12adjust_rootsEv",
			 OUTCOMES, .optional = true, .fates = {FATES_BITMAP},
			 .arguments = {[FATE_IS] = GLOBAL(VALUE_NONE, MARK_BITMAP, {STEP_READ, 8}),
				       [FATE_WANTED] =
					       GLOBAL(VALUE_NONE, "Universe._collectedHeap",
						      {STEP_READ, 8},
						      {STEP_READ, 8,
						       .field = "CollectedHeap._reserved+MemRegion."
								"_start"}),
				       CLASS_CHECK,
				       [FATE_FIRST] =
					       GLOBAL(VALUE_NONE, MARK_BITMAP, {STEP_READ, 8}),
				       [FATE_BITS] = GLOBAL(VALUE_NONE, MARK_BITMAP,
							    {STEP_READ, 8, .offset = 16})}},
			/* and of marking, which frees regions; since 21 it is a collection of its
			   own. */
			{PLACE_OUTCOMES, PLACE_AT_RETURN, "_ZN16G1ConcurrentMark6remarkEv",
			 OUTCOMES, .optional = true, .fates = {FATES_FREED, FATES_REGIONS},
			 .arguments = {ANYWHERE, CLASS_CHECK, G1_REGIONS}},
			{PLACE_OUTCOMES, PLACE_AT_NOTE, "hotspot:mem__pool__gc__end", OUTCOMES,
			 .optional = true, .fates = {FATES_FREED, FATES_REGIONS},
			 .arguments = {OF_MANAGER(LETTERS('G', '1', ' ', 'C')), CLASS_CHECK,
				       G1_REGIONS}},
			{PLACE_OUTCOMES, PLACE_AT_RETURN, "_ZN16G1ConcurrentMark7cleanupEv",
			 OUTCOMES, .optional = true, .fates = {FATES_FREED, FATES_REGIONS},
			 .arguments = {ANYWHERE, CLASS_CHECK, G1_REGIONS}},
			/* Operations of the machine; those of G1 have their names since 21. */
			{PLACE_OPERATION, PLACE_AT_NOTE, "hotspot:vmops__begin", PLACE_COLLECTOR,
			 .optional = true, .texts = {{1, 2, PLACE_NO_TEXT, 0}},
			 .arguments = {NUMBER(VALUE_HEAP, HEAP_THREADS), NOTE(VALUE_NONE, 0),
				       NOTE(VALUE_NONE, 1)}},
			{PLACE_OPERATION, PLACE_AT_ENTRY, "_ZN16G1ConcurrentMark6remarkEv",
			 PLACE_COLLECTOR, .optional = true, .title = "G1PauseRemark", .until = 21,
			 .arguments = {NUMBER(VALUE_HEAP, HEAP_THREADS)}},
			{PLACE_OPERATION, PLACE_AT_ENTRY, "_ZN16G1ConcurrentMark7cleanupEv",
			 PLACE_COLLECTOR, .optional = true, .title = "G1PauseCleanup", .until = 21,
			 .arguments = {NUMBER(VALUE_HEAP, HEAP_THREADS)}},
};

/*
 * The interval that get_sampling_interval() reads when a thread draws its next distance, and the
 * switch of the sampler, which makes it call post_sampled_object_alloc(). The first compilation
 * reads the flag DebugNonSafepoints; later ones keep to what it was then.
 */
static const struct runtime_write writes[] = {
	{INTERVAL, "ThreadHeapSampler::_sampling_interval", 4, WRITE_ALWAYS,
	 .expected = INTERVAL_DEFAULT, .is_period = true},
	{"_ZN11JvmtiExport33_should_post_sampled_object_allocE",
	 "JvmtiExport::_should_post_sampled_object_alloc", 1, WRITE_ALWAYS, .expected = 0,
	 .wanted = 1},
	{"DebugNonSafepoints", NULL, 1, WRITE_AT_MAP, .expected = 0, .wanted = 1},
};

static void meet_note(void *context, const struct probe_note *note)
{
	if (!strcmp(note->provider, "hotspot") && !strcmp(note->name, "gc__begin"))
		*(bool *)context = true;
}

/* The target of `lea distance(%rip), register` at `at`; its bytes are 48 8d `register` 4. */
static bool takes_address(const unsigned char *code, uint64_t at, unsigned char operand,
			  uint64_t *target)
{
	int32_t distance;

	if (code[0] != 0x48 || code[1] != 0x8d || code[2] != operand)
		return false;
	memcpy(&distance, code + 3, sizeof(distance));
	*target = at + 7 + (uint64_t)(int64_t)distance;
	return true;
}

/* This function only returns a text; the version is the part before the build: "17.0.15+6-Debian"
 * is 17.0.15. */
#define VM_RELEASE "_ZN19Abstract_VM_Version10vm_releaseEv"

static bool hotspot_recognise(struct runtime_file *file, struct runtime_facts *out)
{
	unsigned char code[7];
	uint64_t at, text;
	bool found = false;

	notes_visit(file->elf, meet_note, &found);
	if (!found)
		return false;
	if (runtime_symbol(file, VM_RELEASE, &at) && runtime_read(file, at, code, sizeof(code)) &&
	    takes_address(code, at, 0x05, &text) &&
	    runtime_text(file, text, out->version, sizeof(out->version)))
		out->version[strcspn(out->version, "+- ")] = '\0';
	out->number = (uint32_t)strtoul(out->version, NULL, 10);
	return true;
}

/* Variables without symbols, by their names in the tables: current and former ones. */
static bool hotspot_locate(struct runtime_file *file, const char *name, uint64_t *address)
{
	static const char *const before[][2] = {
		{"CompressedKlassPointers._base", "CompressedKlassPointers._narrow_klass._base"},
		{"CompressedKlassPointers._shift", "CompressedKlassPointers._narrow_klass._shift"},
	};

	if (hotspot_entry(file, name, address))
		return true;
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		if (!strcmp(name, before[i][0]))
			return hotspot_entry(file, before[i][1], address);
	return false;
}

/* "A.b+C.d" is the offset of field d of the C that is field b of an A; and so on. The name of a
 * constant is its value. */
static bool hotspot_field(struct runtime_file *file, const char *name, int32_t *offset)
{
	char part[64];
	uint64_t value;

	*offset = 0;
	for (size_t length; *name; name += length + (name[length] == '+')) {
		length = strcspn(name, "+");
		snprintf(part, sizeof(part), "%.*s", (int)length, name);
		if (!hotspot_entry(file, part, &value) || value > INT16_MAX)
			return false;
		*offset += (int32_t)value;
	}
	return true;
}

/* --- causes of collections ---------------------------------------------------------------- */

/*
 * GCCause::to_string() is a switch: a table of distances from its own start to pieces of code, each
 * of which loads the address of a text. The numbers differ between versions, so the texts are taken
 * from there. Code of another form has no text.
 */
#define TO_STRING    "_ZN7GCCause9to_stringENS_5CauseE"
#define SWITCH_BYTES 64

static bool reads_table(const unsigned char *code)
{
	static const unsigned char movslq[] = {0x48, 0x63, 0x04, 0xba}; /* (%rdx,%rdi,4),%rax */

	for (size_t i = 7; i + sizeof(movslq) <= SWITCH_BYTES; i++)
		if (!memcmp(code + i, movslq, sizeof(movslq)))
			return true;
	return false;
}

static bool find_table(struct runtime_file *file, uint64_t *table)
{
	unsigned char code[SWITCH_BYTES];
	uint64_t at;

	if (!runtime_symbol(file, TO_STRING, &at) || !runtime_read(file, at, code, sizeof(code)) ||
	    !reads_table(code))
		return false;
	for (size_t i = 0; i + 7 <= sizeof(code); i++)
		if (takes_address(code + i, at + i, 0x15, table))
			return true;
	return false;
}

static void read_reason(struct runtime_file *file, uint64_t table, size_t number, char *out)
{
	unsigned char code[8];
	int32_t distance;
	uint64_t piece, text;

	if (!runtime_read(file, table + 4 * number, &distance, sizeof(distance)))
		return;
	piece = table + (uint64_t)(int64_t)distance;
	if (!runtime_read(file, piece, code, sizeof(code)) ||
	    !takes_address(code, piece, 0x05, &text) || code[7] != 0xc3)
		return;
	runtime_text(file, text, out, RUNTIME_REASON_BYTES);
}

/* Since release 25; before, there was a function check_for_sampling() instead. */
#define EXACT_SAMPLER "_ZN17ThreadHeapSampler6sampleEP7oopDescPP12HeapWordImpl"

static void hotspot_constants(struct runtime_file *file, struct runtime_facts *out)
{
	uint64_t table, address;
	GElf_Phdr header;

	out->constants[COUNTS_EXACTLY] = runtime_symbol(file, EXACT_SAMPLER, &address);
	for (size_t i = 0; elf_segment(file->elf, i, &header); i++)
		if (header.p_type == PT_LOAD && header.p_flags & PF_X)
			runtime_own_code(out, header.p_vaddr, header.p_vaddr + header.p_memsz);
	if (!find_table(file, &table))
		return;
	for (size_t i = 0; i < RUNTIME_REASONS_MAX; i++)
		read_reason(file, table, i, out->reasons[i]);
}

/* --- arguments ---------------------------------------------------------------------------- */

static const char *reason_name(const struct runtime_facts *facts, uint64_t number)
{
	if (number >= RUNTIME_REASONS_MAX || !strcmp(facts->reasons[number], "No GC"))
		return NULL;
	return facts->reasons[number];
}

/* From the layout helper of its class. An instance has its size there; an array has the bytes
 * before its elements, and the logarithm of the element size. */
static uint64_t object_bytes(int32_t layout, uint64_t length)
{
	if (layout > 0)
		return (uint64_t)layout & ~UINT64_C(7);
	return (((uint64_t)layout >> 16 & 0xff) + (length << (layout & 63)) + 7) & ~UINT64_C(7);
}

/*
 * Up to release 24 the sampler also counts the unused rest of a thread's last buffer (TLAB). A
 * sample caused by it goes to the first object of the next buffer, which did not fit into the last:
 * on average half of it would have, or half of the greatest permitted rest. If a collection has
 * retired the buffer, or larger objects were allocated outside of it, an unknown amount up to
 * nearly a whole buffer may have been counted. Then a small object stands for itself alone. A large
 * one also stands for those outside, which the sampler undersamples.
 */
static uint64_t sampled_span(const uint64_t *read, const struct place_values *values)
{
	uint64_t bytes = values->of[VALUE_BYTES], limit = read[LIMIT] * sizeof(uint64_t);

	if (read[OBJECT] != read[BUFFER])
		return 0;
	if (read[REFILLS] > 1 && !read[OUTSIDE])
		return bytes + (bytes < limit ? bytes : limit) / 2;
	return bytes <= limit ? bytes * values->of[VALUE_PERIOD] : 0;
}

static void hotspot_convert(const struct runtime_facts *facts, const struct runtime_place *place,
			    const uint64_t *read, struct place_values *values)
{
	if (place->report != PLACE_SAMPLE)
		return;
	values->of[VALUE_BYTES] = object_bytes((int32_t)read[LAYOUT], read[LENGTH]);
	if (!facts->constants[COUNTS_EXACTLY])
		values->of[VALUE_SPAN] = sampled_span(read, values);
}

#define SAMPLES                                                                         \
	"its own sampler takes too few of the objects that do not fit into a thread's " \
	"buffer (from 2 KB on, most of all 20 KB to 1 MB): the total is right, their share low"
#define INLINED                                                                          \
	"the CPU time of methods inlined in loops without safepoints may be charged to " \
	"their callers, unless it was started by gcprof record or with "                 \
	"-XX:+DebugNonSafepoints"

static const char *note(const struct runtime_facts *facts)
{
	if (facts->is_unprepared)
		return facts->constants[COUNTS_EXACTLY] ? INLINED : SAMPLES "; " INLINED;
	return facts->constants[COUNTS_EXACTLY] ? NULL : SAMPLES;
}

/*
 * Without compressed class pointers an object header has two words rather than one and a half, and
 * the base and shift of compressed pointers stay 0, or -1 since release 25. With compressed
 * pointers both are 0 only if all classes lie below 4 GiB, which the machine's choice of addresses
 * does not produce. Other pointers are shifted by 3 at most.
 */
static enum unsampled unreadable(const uint64_t *read)
{
	if ((!read[SHIFT] && !read[BASE]) || read[BASE] == UINT64_MAX)
		return UNSAMPLED_CLASS_POINTERS;
	if (read[SHIFT] > 3 && read[SHIFT] != (uint64_t)COMPACT_SHIFT << AWAY_BITS)
		return UNSAMPLED_COMPACT_HEADERS;
	return 0;
}

/* Is it a stub or adapter, without a method? */
static bool is_own_frame(uint64_t ip)
{
	return hotspot_is_frame(ip) && hotspot_code(ip, 0) == ip;
}

/* Classes lie in Metaspace, which includes the compressed class space. */
static enum runtime_area area(const char *name)
{
	static const char *const others[] = {"CodeHeap", "Code Cache", "CodeCache",
					     "Compressed Class"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return AREA_OTHER;
	return strcmp(name, "Metaspace") != 0 ? AREA_HEAP : AREA_BESIDE;
}

const struct runtime runtime_hotspot = {
	.id = RUNTIME_HOTSPOT,
	.name = "hotspot",
	.name_reader = &hotspot_name_reader,
	.library = "../lib/server/libjvm.so",
	.collector = "AbstractGangWorker::run GangWorker::run WorkerThread::run "
		     "GCTaskThread::run ConcurrentGCThread::run "
		     /* Operations of the thread that stops the others. */
		     "VM_CollectFor* VM_GenCollect* VM_Serial* VM_Parallel* VM_G1* VM_Shenandoah* "
		     "VM_X* VM_Z*",
	.parts = {[GC_COPYING] = "DefNewGeneration::copy_to_survivor_space "
				 "DefNewGeneration::FastEvacuateFollowersClosure::do_void "
				 "PSPromotionManager::* steal_work G1ParScanThreadState::* "
				 "G1ParEvacuateFollowersClosure::do_void",
		  [GC_CARDS] = "CardTableRS::* ClearNoncleanCardWrapper::* PSCardTable::* "
			       "G1RemSet::* G1ScanHRForRegionClosure::* G1MergeHeapRootsTask::*",
		  [GC_ROOTS] = "DefNewGeneration::collect ScavengeRootsTask::work PSScavenge::* "
			       "G1EvacuateRegions* G1EvacuateOptionalRegions* "
			       "G1CollectedHeap::do_collection_pause_at_safepoint* "
			       "G1YoungCollector::* G1PreEvacuate* G1PostEvacuate*",
		  [GC_MARKING] = "G1CM* G1ConcurrentMark* G1RebuildRemSet* MarkFromRootsTask::work "
				 "ParCompactionManager::follow_marking_stacks "
				 "GenMarkSweep::mark_sweep_phase1 SerialFullGC::phase1_mark "
				 "G1FullGCMark*",
		  [GC_COMPACTING] = "TenuredGeneration::collect GenMarkSweep::* SerialFullGC::* "
				    "PSParallelCompact::* UpdateDensePrefixAndCompactionTask::work "
				    "PSAdjustTask::work G1Full*",
		  [GC_IDLE] = "SpinPause TaskTerminator::* ParallelTaskTerminator::*"},
	.locks = "ObjectMonitor::enter* ObjectMonitor::EnterI ObjectMonitor::ReenterI "
		 "ObjectSynchronizer::enter java.util.concurrent.locks.ReentrantLock* "
		 "java.util.concurrent.locks.ReentrantReadWriteLock* "
		 "java.util.concurrent.locks.StampedLock* "
		 "java.util.concurrent.Semaphore* "
		 "?java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire* "
		 "?java.util.concurrent.locks.AbstractQueuedLongSynchronizer.acquire*",
	.rests =
		"ObjectMonitor::wait java.lang.Object.wait* "
		"java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await* "
		"java.util.concurrent.ForkJoinPool.awaitWork "
		"java.util.concurrent.SynchronousQueue$* java.util.concurrent.CountDownLatch.await "
		"java.util.concurrent.LinkedTransferQueue* java.lang.Thread.sleep* "
		"java.lang.ref.ReferenceQueue* CompileQueue::get",
	.last_thread = "VM Periodic Tas",
	.agent = "java",
	.compiler = "CompileBroker::compiler_thread_loop",
	.places = places,
	.n_places = sizeof(places) / sizeof(places[0]),
	.writes = writes,
	.n_writes = sizeof(writes) / sizeof(writes[0]),
	.recognise = hotspot_recognise,
	.locate = hotspot_locate,
	.returns = runtime_returns,
	.field = hotspot_field,
	.constants = hotspot_constants,
	.note = note,
	.convert = hotspot_convert,
	.unreadable = unreadable,
	.reason_name = reason_name,
	.operation_name = hotspot_operation,
	.kind_name = hotspot_kind,
	.is_own_frame = is_own_frame,
	.type_name = hotspot_type,
	.cycle_collector = "G1 Concurrent GC",
	.area = area,
	.threads_count = true,
};
