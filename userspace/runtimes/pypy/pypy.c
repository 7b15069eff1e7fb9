/* SPDX-License-Identifier: BSD-2-Clause */
/* pypy.c: PyPy, by the calls that write its log. */
/*
 * Its collector has no symbols and no notes, but it can write a log (PYPYLOG=gc:FILE). Each minor
 * collection, and each step of a major one, is a section of that: it begins with a call of a
 * function that takes the name of the section, and ends with a call of another. Both are called
 * with and without a log. They are found by the instructions that load the name's address.
 *
 * gcprof does not have the log written, because a process that forks would print it: PyPy 7.3
 * writes the child's to stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../gc/provider/probe_args.h"
#include "../code.h"
#include "layout.h"
#include "names.h"

enum { HEAP_MINOR = 1, HEAP_STEP = 2 };
enum { KIND_MINOR, KIND_STEP };

#define MINOR_BEGIN "the begin of gc-minor"
#define MINOR_END   "the end of gc-minor"
#define STEP_BEGIN  "the begin of gc-collect-step"
#define STEP_END    "the end of gc-collect-step"

/* The registers that keep their value in a call, as words of struct pt_regs. */
static const ZydisRegister kept[] = {ZYDIS_REGISTER_R15, ZYDIS_REGISTER_R14, ZYDIS_REGISTER_R13,
				     ZYDIS_REGISTER_R12, ZYDIS_REGISTER_RBP, ZYDIS_REGISTER_RBX};
enum { N_KEPT = sizeof(kept) / sizeof(kept[0]) };

/* Values of `number` in the facts. */
enum { COLLECTIONS_UNKNOWN, COLLECTIONS_KNOWN };

/* Where a minor collection's end has the size of the heap, among what is read; 0: unknown. */
enum { CONSTANT_SIZE };

#define NUMBER(value_, number_)                                             \
	{                                                                   \
		.value = (value_), .from = FROM_NUMBER, .number = (number_) \
	}
#define REGISTER(number_)                                                       \
	{                                                                       \
		.value = VALUE_MORE, .from = FROM_REGISTER, .number = (number_) \
	}
#define PLACE(report_, name_, flags_)                                  \
	.report = (report_), .where = PLACE_AT_ENTRY, .name = (name_), \
	.flags = PLACE_COLLECTOR | (flags_), .since = COLLECTIONS_KNOWN

static const struct runtime_place places[] = {
	{PLACE(PLACE_PAUSE_BEGIN, MINOR_BEGIN, PLACE_PAUSES),
	 .arguments = {NUMBER(VALUE_HEAP, HEAP_MINOR), NUMBER(VALUE_KIND, KIND_MINOR)}},
	{PLACE(PLACE_PAUSE_END, MINOR_END, PLACE_RESUMES),
	 .arguments = {NUMBER(VALUE_HEAP, HEAP_MINOR), REGISTER(0), REGISTER(1), REGISTER(2),
		       REGISTER(3), REGISTER(4), REGISTER(5)}},
	{PLACE(PLACE_PAUSE_BEGIN, STEP_BEGIN, PLACE_PAUSES),
	 .arguments = {NUMBER(VALUE_HEAP, HEAP_STEP), NUMBER(VALUE_KIND, KIND_STEP)}},
	{PLACE(PLACE_PAUSE_END, STEP_END, PLACE_RESUMES),
	 .arguments = {NUMBER(VALUE_HEAP, HEAP_STEP)}},
};

/* --- the code ----------------------------------------------------------------------------- */

static ZydisRegister register_of(const struct code *code, unsigned operand)
{
	return operand < code->insn.operand_count_visible &&
			       code->operands[operand].type == ZYDIS_OPERAND_TYPE_REGISTER
		       ? ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
							  code->operands[operand].reg.value)
		       : ZYDIS_REGISTER_NONE;
}

/* A pop restores the caller's value, before a return that other code jumps over. */
static bool writes(const struct code *code, ZydisRegister to)
{
	return code->insn.mnemonic != ZYDIS_MNEMONIC_POP && register_of(code, 0) == to &&
	       code->operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
}

/* Is an operand a variable of the file? */
static bool is_variable(const struct code *code, unsigned operand)
{
	return operand < code->insn.operand_count_visible &&
	       code->operands[operand].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       code->operands[operand].mem.base == ZYDIS_REGISTER_RIP;
}

/* The number of a register in `kept`; N_KEPT: it is not among them. */
static unsigned kept_number(ZydisRegister wanted)
{
	unsigned number = 0;

	while (number < N_KEPT && kept[number] != wanted)
		number++;
	return number;
}

/* --- the file ----------------------------------------------------------------------------- */

#define CALLS_MAX  8
#define USES_MAX   8
#define SEARCH_MAX (128u << 20) /* bytes per file */

enum { SECTION_MINOR, SECTION_STEP, SECTIONS };
enum {
	REX = 0x48,
	REX_R = 0x04,
	LEA = 0x8d,
	LEA_REGISTERS = 0xc7,
	LEA_OF_RIP = 0x05,
	LEA_BYTES = 7
};

static const char section_names[SECTIONS][20] = {
	[SECTION_MINOR] = "\0gc-minor", [SECTION_STEP] = "\0gc-collect-step"};

struct found {
	struct runtime_file *file;
	uint64_t left; /* bytes that may still be searched */
	struct section {
		uint64_t name; /* its address; 0: not found */
		struct call {
			uint64_t at, target;
		} calls[CALLS_MAX]; /* with the name as their argument */
		size_t n_calls, n_uses;
		bool too_many;       /* calls or uses to know all */
		uint64_t begin, end; /* the calls that begin and end it; 0: not found */
	} sections[SECTIONS];
};

/* The names, each between zeroes. */
static void find_names(void *context, uint64_t address, const uint8_t *bytes, size_t size)
{
	struct found *found = context;

	for (size_t i = 0; i < SECTIONS; i++) {
		const uint8_t *at =
			memmem(bytes, size, section_names[i], strlen(section_names[i] + 1) + 2);

		if (at && !found->sections[i].name)
			found->sections[i].name = address + (uint64_t)(at - bytes) + 1;
	}
}

static void add_call(struct section *section, const struct code *code)
{
	uint64_t target = code_target(code);

	if (!target)
		return;
	if (section->n_calls == CALLS_MAX) {
		section->too_many = true;
		return;
	}
	section->calls[section->n_calls++] = (struct call){code->address, target};
}

/* Adds the calls whose first argument is what the instruction at `address` loads. */
static void follow(struct found *found, struct section *section, uint64_t address)
{
	ZydisRegister holder;
	uint8_t room[CODE_BYTES_MAX];
	struct code code;
	bool passed;

	if (!code_open(found->file, address, sizeof(room), room, &code) || !code_step(&code))
		return;
	holder = register_of(&code, 0);
	passed = holder == ZYDIS_REGISTER_RDI;
	while (code_step(&code) && !writes(&code, holder)) {
		if (writes(&code, ZYDIS_REGISTER_RDI))
			passed = code.insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
				 register_of(&code, 1) == holder;
		if (code.insn.mnemonic != ZYDIS_MNEMONIC_CALL)
			continue;
		if (passed)
			add_call(section, &code);
		passed = false;
		if (kept_number(holder) == N_KEPT)
			return;
	}
}

/* Instructions lea name(%rip),REGISTER. */
static void find_uses(void *context, uint64_t address, const uint8_t *bytes, size_t size)
{
	struct found *found = context;
	int32_t distance;

	for (size_t i = 0; i + LEA_BYTES <= size; i++) {
		if (bytes[i + 1] != LEA || (bytes[i] & ~REX_R) != REX ||
		    (bytes[i + 2] & LEA_REGISTERS) != LEA_OF_RIP)
			continue;
		memcpy(&distance, bytes + i + 3, sizeof(distance));
		for (size_t j = 0; j < SECTIONS; j++) {
			struct section *section = &found->sections[j];

			if (section->name != address + i + LEA_BYTES + (uint64_t)(int64_t)distance)
				continue;
			if (section->n_uses++ < USES_MAX)
				follow(found, section, address + i);
			else
				section->too_many = true;
		}
	}
}

/* The only call of `target` with a section's name; 0: there is none, or another. */
static uint64_t only_call(const struct section *section, uint64_t target)
{
	uint64_t at = 0;

	for (size_t i = 0; i < section->n_calls && !section->too_many; i++) {
		if (section->calls[i].target != target)
			continue;
		if (at)
			return 0;
		at = section->calls[i].at;
	}
	return at;
}

/*
 * The same two functions begin and end both sections, and the code begins before it ends. False:
 * the code differs. A begin without its end, or one kind of collection without the other, would
 * mislead.
 */
static bool find_calls(struct found *found)
{
	struct section *minor = &found->sections[SECTION_MINOR];
	struct section *step = &found->sections[SECTION_STEP];
	uint64_t start = minor->calls[0].target;

	minor->begin = only_call(minor, start);
	step->begin = only_call(step, start);
	for (size_t i = 0; i < minor->n_calls && !minor->end; i++) {
		uint64_t target = minor->calls[i].target;

		step->end = target == start ? 0 : only_call(step, target);
		minor->end = step->end ? only_call(minor, target) : 0;
	}
	return minor->begin && minor->end > minor->begin && step->begin && step->end > step->begin;
}

static bool pypy_recognise(struct runtime_file *file, struct runtime_facts *out)
{
	struct found *found;
	uint64_t at;

	if (!runtime_exported(file, "pypy_main_startup", &at))
		return false;
	file->own = found = calloc(1, sizeof(*found));
	if (!found)
		return false;
	found->file = file;
	found->left = SEARCH_MAX;
	code_visit_all(file, SHF_ALLOC, sizeof(section_names[0]), &found->left, find_names, found);
	if (found->sections[SECTION_MINOR].name && found->sections[SECTION_STEP].name)
		code_visit_all(file, SHF_ALLOC | SHF_EXECINSTR, LEA_BYTES, &found->left, find_uses,
			       found);
	out->number = find_calls(found) ? COLLECTIONS_KNOWN : COLLECTIONS_UNKNOWN;
	return true;
}

static bool pypy_locate(struct runtime_file *file, const char *name, uint64_t *address)
{
	const struct found *found = file->own;
	const struct section *minor = &found->sections[SECTION_MINOR];
	const struct section *step = &found->sections[SECTION_STEP];
	const struct {
		const char *name;
		uint64_t address;
	} all[] = {{MINOR_BEGIN, minor->begin},
		   {MINOR_END, minor->end},
		   {STEP_BEGIN, step->begin},
		   {STEP_END, step->end}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(all[i].name, name) != 0)
			continue;
		*address = all[i].address;
		return *address;
	}
	return false;
}

/*
 * A minor collection adds the sizes of all parts of the heap, the last of which is a variable of
 * the file, tests whether to log the sum, and passes it to gc.hooks after its end. So it stays in a
 * register. Returns the register's number; N_KEPT: unknown.
 */
static unsigned size_register(const struct found *found)
{
	const struct section *minor = &found->sections[SECTION_MINOR];
	ZydisRegister sum = ZYDIS_REGISTER_NONE, last = ZYDIS_REGISTER_NONE;
	uint8_t room[CODE_BYTES_MAX];
	struct code code;

	if (minor->end - minor->begin > sizeof(room) ||
	    !code_open(found->file, minor->begin, minor->end - minor->begin, room, &code))
		return N_KEPT;
	while (code_step(&code)) {
		if (last != ZYDIS_REGISTER_NONE && code.insn.mnemonic == ZYDIS_MNEMONIC_TEST &&
		    is_variable(&code, 0))
			sum = last;
		else if (sum != ZYDIS_REGISTER_NONE && writes(&code, sum))
			sum = ZYDIS_REGISTER_NONE;
		last = code.insn.mnemonic == ZYDIS_MNEMONIC_ADD && is_variable(&code, 1)
			       ? register_of(&code, 0)
			       : ZYDIS_REGISTER_NONE;
	}
	return code.next == minor->end ? kept_number(sum) : N_KEPT;
}

static void pypy_constants(struct runtime_file *file, struct runtime_facts *out)
{
	struct found *found = file->own;
	unsigned number = out->number == COLLECTIONS_KNOWN ? size_register(found) : N_KEPT;
	const char *missing = NULL;

	out->has_frames = pypy_layout_of(file, &found->left, &out->pypy);
	if (number < N_KEPT)
		out->constants[CONSTANT_SIZE] = 1 + (int32_t)number;
	if (out->number != COLLECTIONS_KNOWN)
		missing = "its code differs: where it collects is unknown";
	else if (number >= N_KEPT)
		missing = "where it has the size of its heap is unknown";
	else if (!out->has_frames)
		missing = "its code differs: where it lists its functions is unknown";
	if (missing)
		snprintf(out->missing, sizeof(out->missing), "%s", missing);
}

/* --- arguments ---------------------------------------------------------------------------- */

static void pypy_convert(const struct runtime_facts *facts, const struct runtime_place *place,
			 const uint64_t *read, struct place_values *values)
{
	int32_t size = facts->constants[CONSTANT_SIZE];

	if (runtime_place_has(place, VALUE_MORE) && size > 0 && size <= N_KEPT)
		values->of[VALUE_USED] = read[size];
}

static const char *pypy_kind_name(const struct runtime_facts *facts, uint64_t number,
				  const char *collector, uint32_t *kind)
{
	(void)facts;
	(void)collector;
	*kind = number == KIND_STEP ? GCPROF_GC_STEP : GCPROF_GC_MINOR;
	return number == KIND_STEP ? "major step" : "minor";
}

#define IMPORT ", and gcprof import vmprof reads that"

static const char *pypy_note(const struct runtime_facts *facts)
{
	if (facts->number != COLLECTIONS_KNOWN)
		return "its collections and allocations are not recorded; it can write them itself "
		       "(pypy3 -m vmprof -o FILE, PYPYLOG=gc:LOG; what it forks prints its "
		       "log)" IMPORT;
	return facts->has_frames
		       ? "no allocation samples (pypy3 -m vmprof -o FILE takes them" IMPORT ")"
		       : "no Python functions on stacks and no allocation samples (pypy3 -m vmprof "
			 "-o FILE takes both" IMPORT ")";
}

const struct runtime runtime_pypy = {
	.id = RUNTIME_PYPY,
	.name = "pypy",
	.places = places,
	.n_places = sizeof(places) / sizeof(places[0]),
	.walks = true,
	.name_reader = &pypy_name_reader,
	.recognise = pypy_recognise,
	.locate = pypy_locate,
	.constants = pypy_constants,
	.convert = pypy_convert,
	.note = pypy_note,
	.kind_name = pypy_kind_name,
};
