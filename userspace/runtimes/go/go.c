/* SPDX-License-Identifier: BSD-2-Clause */
/* go.c: programs built by the Go compiler, 1.19 and later, stripped or not. */
/*
 * A Go program is contained in its file, with a table of all functions. Arguments are in registers
 * (rax, rbx, rcx, rdi, rsi), the goroutine in r14. A function begins with a stack check that may
 * make it run twice, so probe sites lie behind the check.
 *
 * The sampler is Go's own. Distances between samples are exponential with the mean MemProfileRate;
 * linkers switch it off if the program does not read the profile. Each processor (P) counts down
 * the bytes to its next sample. It draws the distance with the rate at its last sample. If that
 * rate was 0, its first allocation is reported whatever its size, and is not a valid sample. Since
 * 1.24 a processor takes such a sample after each change of the rate, and draws anew. The sweep
 * reports freed objects; it ends before the next cycle begins.
 *
 * An object's type is the second argument of the allocating function, which keeps it in its
 * argument slots. There are many such functions, for sizes and kinds, and more in newer versions.
 * For each sample, the calling function determines where the type is read. If a function keeps it
 * elsewhere, the type is unknown; it is never guessed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../gc/provider/probe_args.h"
#include "../find.h"
#include "file.h"
#include "../../util/period_mark.h"

/* Words of struct pt_regs. */
enum { R14 = 1, RBP = 4, RBX = 5, RAX = 10, RCX = 11, RDI = 14, RIP = 16, RSP = 19 };

enum { HEAP = 1 };
enum { RATE = 512 << 10 }; /* of programs that do not set one */

/* runtime_facts.number: the layout. */
enum {
	LAYOUT_119 = 1, /* texts are the reasons of stops */
	LAYOUT_121 = 2, /* numbers are */
	LAYOUT_124 = 3, /* mallocgc is split, and a change of the rate forces a sample */
};

/* runtime_facts.constants */
enum {
	CONSTANT_SPECIAL,
	CONSTANT_SYSTEMSTACK,
	CONSTANT_TYPES,      /* from the site that reports samples to the first type */
	CONSTANT_TYPES_SIZE, /* to the last; 0: not known */
	CONSTANT_CALLERS,    /* number of struct go_caller that follow */
	CONSTANT_CALLER,     /* each: begin, end, relative to the site, and `place` */
};

#define CALLER_WORDS 3
#define CALLERS_MAX  ((RUNTIME_CONSTANTS_MAX - CONSTANT_CALLER) / CALLER_WORDS)

#define READ(bytes, at)                                            \
	{                                                          \
		.kind = STEP_READ, .size = (bytes), .offset = (at) \
	}
#define READ_FIELD(bytes, name)                                     \
	{                                                           \
		.kind = STEP_READ, .size = (bytes), .field = (name) \
	}
enum { PROCESSOR = 0xd0 };   /* in runtime.m: its current P */
enum { SECOND_SLOT = 0x18 }; /* after saved rbp, return address and first argument */
enum { SAMPLE_CODE = 4, SAMPLE_CALLER = 5, SAMPLE_NEAR = 6, SAMPLE_FAR = 7 }; /* arguments */
enum { CYCLE_PERCENT = 2, CYCLE_LIMIT = 3, CYCLE_LEAST = 4 };
enum { STOP_CALLER = 1, STOP_SYSTEMSTACK = 2, STOP_TEXT = 3, STOP_LENGTH = 4 };

static const struct runtime_place places[] = {
	{PLACE_SAMPLE, PLACE_BEHIND_CHECK, "runtime.profilealloc", PLACE_STACK,
	 .arguments = {{VALUE_ADDRESS, FROM_REGISTER, .number = RBX},
		       {VALUE_BYTES, FROM_REGISTER, .number = RCX},
		       {VALUE_PERIOD, FROM_GLOBAL, .global = "runtime.MemProfileRate",
			.steps = {READ(8, 0)}},
		       {VALUE_COUNTER, FROM_REGISTER, .number = RAX, .steps = {READ(8, PROCESSOR)}},
		       {VALUE_CODE, FROM_REGISTER, .number = RIP},
		       {VALUE_MORE, FROM_REGISTER, .number = RSP, .steps = {READ(8, 0)}},
		       {VALUE_TYPE, FROM_REGISTER, .number = RBP, .steps = {READ(8, SECOND_SLOT)}},
		       {VALUE_MORE, FROM_REGISTER, .number = RBP,
			.steps = {READ(8, 0), READ(8, SECOND_SLOT)}}}},
	{PLACE_FREED, PLACE_BEHIND_CHECK, "runtime.freeSpecial", 0,
	 .arguments = {{VALUE_ADDRESS, FROM_REGISTER, .number = RBX},
		       {VALUE_WANTED, FROM_REGISTER, .number = RAX,
			.steps = {READ_FIELD(1, "special.kind")}}}},
	{PLACE_CYCLE_BEGIN, PLACE_BEHIND_CHECK, "runtime.(*gcControllerState).startCycle",
	 PLACE_COLLECTOR,
	 .arguments = {{VALUE_HEAP, FROM_NUMBER, .number = HEAP},
		       {VALUE_REASON, FROM_REGISTER, .size = 4, .number = RDI},
		       {VALUE_USED, FROM_REGISTER, .number = RAX,
			.steps = {READ_FIELD(8, "heap.used")}}}},
	/* What is in use: behind it, only what is reachable counts. */
	{PLACE_CYCLE_USED, PLACE_BEHIND_CHECK, "runtime.(*gcControllerState).endCycle",
	 PLACE_COLLECTOR,
	 .arguments = {{VALUE_HEAP, FROM_NUMBER, .number = HEAP},
		       {VALUE_USED, FROM_REGISTER, .number = RAX,
			.steps = {READ_FIELD(8, "heap.used")}}}},
	{PLACE_CYCLE_END, PLACE_BEHIND_CHECK, "runtime.gcSweep", PLACE_COLLECTOR,
	 .arguments = {{VALUE_HEAP, FROM_NUMBER, .number = HEAP},
		       {VALUE_LIVE, FROM_GLOBAL, .global = "runtime.gcController",
			.steps = {READ_FIELD(8, "heap.live")}},
		       {VALUE_MORE, FROM_GLOBAL, .global = "runtime.gcController",
			.steps = {READ(4, 0)}},
		       {VALUE_MORE, FROM_GLOBAL, .global = "runtime.gcController",
			.steps = {READ(8, 8)}},
		       {VALUE_MORE, FROM_GLOBAL, .global = "runtime.gcController",
			.steps = {READ(8, 16)}}}},
	{PLACE_PAUSE_BEGIN, PLACE_BEHIND_CHECK, "runtime.stopTheWorldWithSema",
	 PLACE_COLLECTOR | PLACE_PAUSES, .since = LAYOUT_119, .until = LAYOUT_121,
	 .arguments = {{VALUE_HEAP, FROM_NUMBER, .number = HEAP},
		       {VALUE_KIND, FROM_REGISTER, .number = RSP, .steps = {READ(8, 0)}},
		       {VALUE_MORE, FROM_GLOBAL, .global = "runtime.systemstack"},
		       {VALUE_MORE, FROM_REGISTER, .number = R14,
			.steps = {READ_FIELD(8, "g.m"), READ_FIELD(8, "m.preemptoff")}},
		       {VALUE_MORE, FROM_REGISTER, .number = R14,
			.steps = {READ_FIELD(8, "g.m"), READ_FIELD(8, "m.preemptoff length")}}},
	 .texts = {{STOP_TEXT, STOP_LENGTH, PLACE_NO_TEXT, 0}}},
	{PLACE_PAUSE_BEGIN, PLACE_BEHIND_CHECK, "runtime.stopTheWorldWithSema",
	 PLACE_COLLECTOR | PLACE_PAUSES, .since = LAYOUT_121,
	 .arguments = {{VALUE_HEAP, FROM_NUMBER, .number = HEAP},
		       {VALUE_KIND, FROM_REGISTER, .size = 1, .number = RAX}}},
	{PLACE_PAUSE_END, PLACE_AT_RETURN, "runtime.startTheWorldWithSema",
	 PLACE_COLLECTOR | PLACE_RESUMES,
	 .arguments = {{VALUE_HEAP, FROM_NUMBER, .number = HEAP},
		       {VALUE_TIME, FROM_REGISTER, .number = RAX}}},
};

static const struct runtime_write writes[] = {
	{"runtime.disableMemoryProfiling", NULL, 1, WRITE_AT_START, .expected = 1, .wanted = 0},
	{"runtime.MemProfileRate", NULL, 8, WRITE_ALWAYS, .expected = 0, .wanted = RATE,
	 .is_period = true, .started = RATE},
};

/* --- in the reader ------------------------------------------------------------------------ */

/* Facts found in a file by decoding its code. */
struct found {
	struct go_file *file;
	struct go_sampler sampler;
	struct go_special special;
	struct go_heap heap;
	struct go_stop stop;
	bool has_sampler, has_special, has_heap, has_stop;
};

static void found_free(void *own)
{
	struct found *found = own;

	go_file_free(found->file);
	free(found);
}

static bool has_function(const struct found *found, const char *name)
{
	struct go_function function;

	return go_table_named(go_file_table(found->file), name, &function);
}

/* Reasons came with tracing of stops; the split of mallocgc came later. */
static uint32_t layout_of(const struct found *found)
{
	struct go_caller callers[CALLERS_MAX];
	int n = go_file_callers(found->file, callers, CALLERS_MAX);

	if (n != 1 || callers[0].place != GO_TYPE_OF_CALLER)
		return LAYOUT_124;
	return has_function(found, "runtime.traceLocker.STWStart") ||
			       has_function(found, "runtime.traceSTWStart")
		       ? LAYOUT_121
		       : LAYOUT_119;
}

static bool go_recognise(struct runtime_file *file, struct runtime_facts *out)
{
	struct problem problem = {""};
	struct found *found = calloc(1, sizeof(*found));

	if (!found || go_file_open(file->elf, &found->file, &problem)) {
		free(found);
		return false;
	}
	found->has_sampler = !go_file_sampler(found->file, &found->sampler);
	found->has_special = !go_file_special(found->file, &found->special);
	found->has_heap = !go_file_heap(found->file, &found->heap);
	found->has_stop = !go_file_stop(found->file, &found->stop);
	out->number = layout_of(found);
	snprintf(out->version, sizeof(out->version), "%s",
		 go_table_version(go_file_table(found->file)));
	file->own = found;
	file->own_free = found_free;
	return true;
}

static bool go_locate(struct runtime_file *file, const char *name, uint64_t *address)
{
	const struct found *found = file->own;
	struct go_function function;
	struct {
		const char *name;
		bool found;
		uint64_t address;
	} globals[] = {
		{"runtime.MemProfileRate", found->has_sampler, found->sampler.rate},
		{"runtime.disableMemoryProfiling", found->has_sampler, found->sampler.off},
		{"runtime.gcController", found->has_heap, found->heap.controller},
	};

	for (size_t i = 0; i < sizeof(globals) / sizeof(globals[0]); i++) {
		if (strcmp(globals[i].name, name) != 0)
			continue;
		*address = globals[i].address;
		return globals[i].found;
	}
	*address = 0;
	if (go_table_named(go_file_table(found->file), name, &function))
		*address = function.address;
	return *address;
}

static bool behind_check(struct runtime_file *file, uint64_t address, uint64_t *behind)
{
	const struct found *found = file->own;

	return !go_file_behind_check(found->file, address, behind);
}

static int returns(struct runtime_file *file, uint64_t address, uint64_t *out, size_t max)
{
	const struct found *found = file->own;

	return go_file_returns(found->file, address, out, max);
}

static bool go_field(struct runtime_file *file, const char *name, int32_t *offset)
{
	const struct found *found = file->own;

	const struct {
		const char *name;
		bool found;
		uint32_t offset;
	} fields[] = {
		{"special.kind", found->has_special, found->special.offset},
		{"heap.used", found->has_heap, found->heap.in_use},
		{"heap.live", found->has_heap, found->heap.reachable},
		{"g.m", found->has_stop, found->stop.thread},
		{"m.preemptoff", found->has_stop, found->stop.reason},
		{"m.preemptoff length", found->has_stop, found->stop.reason + 8},
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(fields[i].name, name) != 0)
			continue;
		*offset = (int32_t)fields[i].offset;
		return fields[i].found;
	}
	return false;
}

static bool is_runtime(const char *name)
{
	return (!strncmp(name, "runtime.", 8) && strcmp(name, "runtime.main")) ||
	       !strncmp(name, "internal/runtime/", 17);
}

/*
 * The runtime has functions under names of other packages (reflect.unsafe_New), which lie between
 * those of its own name. Generic functions lie in the package that instantiates them.
 */
static void add_own_code(const struct found *found, struct runtime_facts *out)
{
	enum { FOREIGN_MAX = 4096 };
	struct go_function function;
	uint64_t end = 0; /* of the one before it in the package; 0: none */

	for (size_t i = 0; go_table_function(go_file_table(found->file), i, &function); i++) {
		uint64_t begin = function.address;

		if (strchr(function.name, '[') || !strcmp(function.name, "runtime.main"))
			end = 0;
		if (!is_runtime(function.name))
			continue;
		if (end && begin >= end && begin - end < FOREIGN_MAX)
			begin = end;
		runtime_own_code(out, begin, function.address + function.size);
		end = strchr(function.name, '[') ? 0 : function.address + function.size;
	}
}

/* The data that go_convert() needs to find the type of a sample. */
static void add_types(const struct found *found, struct runtime_facts *out)
{
	int32_t *to = &out->constants[CONSTANT_CALLER];
	struct go_caller callers[CALLERS_MAX];
	int n = go_file_callers(found->file, callers, CALLERS_MAX);
	uint64_t begin, end;

	go_table_types(go_file_table(found->file), &begin, &end);
	if (!out->sampled || end - begin > INT32_MAX ||
	    (int64_t)(begin - out->sampled) != (int32_t)(begin - out->sampled))
		return;
	out->constants[CONSTANT_TYPES] = (int32_t)(begin - out->sampled);
	out->constants[CONSTANT_TYPES_SIZE] = (int32_t)(end - begin);
	out->constants[CONSTANT_CALLERS] = n > 0 ? n : 0;
	for (int i = 0; i < n; i++, to += CALLER_WORDS) {
		to[0] = (int32_t)(callers[i].begin - out->sampled);
		to[1] = (int32_t)(callers[i].end - out->sampled);
		to[2] = (int32_t)callers[i].place;
	}
}

static void go_constants(struct runtime_file *file, struct runtime_facts *out)
{
	const struct found *found = file->own;
	struct go_function function = {0};

	add_own_code(found, out);
	add_types(found, out);
	if (go_file_fiber(found->file, &out->fiber))
		out->fiber = (struct fiber_path){0};
	if (found->has_sampler && !go_file_buckets(found->file, &out->heap_list))
		out->heap_rate = found->sampler.rate;
	out->constants[CONSTANT_SPECIAL] = (int32_t)found->special.value;
	if (go_table_named(go_file_table(found->file), "runtime.systemstack", &function))
		out->constants[CONSTANT_SYSTEMSTACK] = (int32_t)function.size;
}

/* --- in the recorder ---------------------------------------------------------------------- */

/* Reasons for stopping the world: numbers of 1.21 and later. */
static const char *const reasons[] = {
	NULL,
	"mark termination",
	"sweep termination",
	"heap dump",
	"goroutine profile",
	"goroutine profile cleanup",
	"all goroutines' stacks",
	"ReadMemStats",
	"AllThreadsSyscall",
	"GOMAXPROCS",
	"start of a trace",
	"stop of a trace",
};

enum { STOP_MARK = 1, STOP_SWEEP = 2, STOP_OTHER = 255 };

/* Before 1.21: systemstack calls the function directly for the collector only, which has set the
 * text at the end of marking, and none before. */
static uint64_t old_stop(const struct runtime_facts *facts, const uint64_t *read)
{
	uint64_t size = (uint64_t)facts->constants[CONSTANT_SYSTEMSTACK];

	if (read[STOP_CALLER] - read[STOP_SYSTEMSTACK] >= size)
		return STOP_OTHER;
	return read[STOP_LENGTH] ? STOP_MARK : STOP_SWEEP;
}

/* The location of the type for this sample. */
static enum go_type_place place_of(const struct runtime_facts *facts, const uint64_t *read)
{
	const int32_t *caller = &facts->constants[CONSTANT_CALLER];
	int64_t at = (int64_t)(read[SAMPLE_CALLER] - 1 - read[SAMPLE_CODE]);

	for (int i = 0; i < facts->constants[CONSTANT_CALLERS] && i < CALLERS_MAX;
	     i++, caller += CALLER_WORDS)
		if (at >= caller[0] && at < caller[1])
			return (enum go_type_place)caller[2];
	return GO_TYPE_NOWHERE;
}

/* The offset of the type from the first one; GO_TYPE_NONE; 0: unknown. */
static uint64_t type_of(const struct runtime_facts *facts, const uint64_t *read)
{
	enum go_type_place place = place_of(facts, read);
	uint64_t first = read[SAMPLE_CODE] + (uint64_t)(int64_t)facts->constants[CONSTANT_TYPES];
	uint64_t type = read[place == GO_TYPE_ABOVE ? SAMPLE_FAR : SAMPLE_NEAR] - first;

	if (place == GO_TYPE_NOWHERE || facts->constants[CONSTANT_TYPES_SIZE] <= 0)
		return 0;
	return type < (uint64_t)facts->constants[CONSTANT_TYPES_SIZE] ? type : GO_TYPE_NONE;
}

/* The controller begins with gcPercent, memoryLimit and heapMinimum. The last one is always that
 * percentage of 4 MiB (or 512 KiB, an experiment), as the runtime computes it: if not, they are
 * elsewhere. */
static void add_pacing(const uint64_t *read, uint64_t *of)
{
	uint64_t percent = (uint64_t)(int64_t)(int32_t)read[CYCLE_PERCENT];

	if (read[CYCLE_LEAST] != percent * (UINT64_C(4) << 20) / 100 &&
	    read[CYCLE_LEAST] != percent * (UINT64_C(512) << 10) / 100)
		return;
	/* GOGC=0 collects all the time, and counts as 1 %. */
	of[VALUE_GROWTH] = percent > INT32_MAX ? GC_GROWTH_NO_BOUND : percent + !percent;
	if (read[CYCLE_LIMIT] < INT64_MAX)
		of[VALUE_LIMIT] = read[CYCLE_LIMIT];
}

static void go_convert(const struct runtime_facts *facts, const struct runtime_place *place,
		       const uint64_t *read, struct place_values *values)
{
	uint64_t *of = values->of;

	switch (place->report) {
	case PLACE_SAMPLE:
		of[VALUE_TYPE] = type_of(facts, read);
		/* 1.19 sets its rate when its processors exist already. */
		if (!runtime_is_marked(of[VALUE_PERIOD]) && facts->number != LAYOUT_119)
			of[VALUE_DRAWN] = of[VALUE_PERIOD];
		of[VALUE_FORCES] = facts->number >= LAYOUT_124;
		break;
	case PLACE_FREED:
		of[VALUE_WANTED] = of[VALUE_WANTED] == (uint64_t)facts->constants[CONSTANT_SPECIAL];
		break;
	case PLACE_CYCLE_END:
		add_pacing(read, of);
		break;
	case PLACE_PAUSE_BEGIN:
		if (facts->number == LAYOUT_119)
			of[VALUE_KIND] = old_stop(facts, read);
		break;
	default:
		break;
	}
}

static const char *go_kind_name(const struct runtime_facts *facts, uint64_t number,
				const char *text, uint32_t *kind)
{
	(void)facts;
	*kind = number == STOP_MARK || number == STOP_SWEEP ? GCPROF_GC_STEP : GCPROF_GC_STOP;
	if (number == STOP_OTHER)
		return text;
	return number < sizeof(reasons) / sizeof(reasons[0]) ? reasons[number] : NULL;
}

static const char *reason_name(const struct runtime_facts *facts, uint64_t number)
{
	static const char *const triggers[] = {"heap size", "time", "runtime.GC()"};

	(void)facts;
	return number < sizeof(triggers) / sizeof(triggers[0]) ? triggers[number] : NULL;
}

static const char *go_note(const struct runtime_facts *facts)
{
	(void)facts;
	return "objects of less than 16 bytes without pointers share blocks, which count as their "
	       "first object; strings and slices that grow have no type if they have no pointers";
}

const struct runtime runtime_go = {
	.id = RUNTIME_GO,
	.name = "go",
	.collector = "runtime.gcBgMarkWorker runtime.gcAssistAlloc runtime.gcDrain "
		     "runtime.gcDrainN runtime.bgsweep runtime.bgscavenge runtime.gcStart",
	.parts = {[GC_MARKING] = "runtime.gcDrain runtime.gcDrainN",
		  [GC_ROOTS] = "runtime.markroot runtime.gcStart runtime.gcMarkDone "
			       "runtime.gcMarkTermination runtime.gcBgMarkWorker "
			       "runtime.stopTheWorldWithSema runtime.startTheWorldWithSema"},
	/* Goroutines wait without a thread: what a thread waits for is a lock of the runtime, or
	 * any goroutine. */
	.locks = "runtime.lock2 runtime.lockSlow",
	.rests = "runtime.stoplockedm runtime.startlockedm runtime.findRunnable "
		 "runtime.findrunnable "
		 "runtime.sysmon runtime.templateThread runtime.sigNoteSleep "
		 "os/signal.signal_recv",
	.pacing = GC_PACING_LIVE,
	.places = places,
	.n_places = sizeof(places) / sizeof(places[0]),
	.writes = writes,
	.n_writes = sizeof(writes) / sizeof(writes[0]),
	.recognise = go_recognise,
	.locate = go_locate,
	.behind_check = behind_check,
	.returns = returns,
	.field = go_field,
	.constants = go_constants,
	.note = go_note,
	.convert = go_convert,
	.kind_name = go_kind_name,
	.reason_name = reason_name,
};
