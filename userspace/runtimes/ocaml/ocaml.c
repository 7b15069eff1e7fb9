/* SPDX-License-Identifier: BSD-2-Clause */
/* ocaml.c: OCaml, in native programs and in the bytecode interpreter. */
/*
 * Programs export the runtime's functions for libraries that they load. A slice of a major
 * collection is one call of its function, and so is the end of a forced one.
 *
 * OCaml 4: a minor collection that has work begins with caml_oldify_local_roots() and ends with
 * caml_memprof_renew_minor_sample(), which is also called outside of collections. The amount
 * promoted is the growth of caml_allocated_words, which counts allocation in the major heap.
 *
 * OCaml 5: each domain is a heap. For a minor collection one of them stops all others, and each
 * then calls the same function for its own part, which has no exported name: it is an argument
 * where the stop is requested. The part ends with the finalizers of the young objects. Each domain
 * counts the words that it promotes; where, is known by the function that copies its counters.
 * Of the domains that want to stop the others at the same time only one does, and calls the
 * functions that write the runtime's own events.
 */
#include <stdio.h>
#include <string.h>

#include "../../../gc/provider/probe_args.h"
#include "../code.h"

enum { RDI = 14, RSP = 19 };
enum { HEAP_MINOR = 1, HEAP_SLICE = 2, HEAP_FORCED = 3, HEAP_STOP = 4 }; /* they may be nested */
enum { KIND_MINOR, KIND_SLICE, KIND_FULL, KIND_STOP, KINDS };
enum { WORD_SHIFT = 3 };

/* Values of `number` in the facts. */
enum { OCAML_4 = 4, OCAML_5 = 5 };

#define MINOR_PART    "the minor collection of a domain"
#define MINOR_REQUEST "caml_try_empty_minor_heap_on_all_domains"
#define COUNTERS      "caml_collect_alloc_stats_sample"
#define SLICE         "caml_major_collection_slice"
#define FORCED        "caml_finish_major_cycle"
#define STOP          "caml_try_run_on_all_domains_with_spin_work"
#define STOP_BEGIN    "the begin of a stop of all domains"
#define STOP_END      "the end of a stop of all domains"

#define HEAP(number_)                                                         \
	{                                                                     \
		.value = VALUE_HEAP, .from = FROM_NUMBER, .number = (number_) \
	}
/* A domain's address has room for them in its low bits. */
#define HEAP_OF_DOMAIN(number_)                                                       \
	{                                                                             \
		.value = VALUE_HEAP, .from = FROM_REGISTER, .number = RDI, .steps = { \
			{STEP_PLUS, .offset = (number_)},                             \
		}                                                                     \
	}
/* A slice may be nested in a stop that is nested in a slice; the stack pointer tells them apart. */
#define HEAP_OF_CALL(number_)                                                         \
	{                                                                             \
		.value = VALUE_HEAP, .from = FROM_REGISTER, .number = RSP, .steps = { \
			{STEP_PLUS, .offset = (number_)},                             \
		}                                                                     \
	}
#define KIND(number_)                                                         \
	{                                                                     \
		.value = VALUE_KIND, .from = FROM_NUMBER, .number = (number_) \
	}
/* Bytes promoted so far; `shift` is the number of the first argument of both. */
#define WORDS                                                                  \
	{                                                                      \
		.value = VALUE_NONE, .from = FROM_NUMBER, .number = WORD_SHIFT \
	}
#define PROMOTED(shift)                                                                         \
	WORDS,                                                                                  \
	{                                                                                       \
		.value = VALUE_PROMOTED, .from = FROM_GLOBAL, .global = "caml_allocated_words", \
		.steps = {                                                                      \
			{STEP_READ, 8},                                                         \
			{STEP_SHIFT, .other = (shift)},                                         \
		}                                                                               \
	}
#define PROMOTED_BY_DOMAIN(shift)                                                         \
	WORDS,                                                                            \
	{                                                                                 \
		.value = VALUE_PROMOTED, .from = FROM_REGISTER, .number = RDI, .steps = { \
			{STEP_READ, 8, .field = "promoted words"},                        \
			{STEP_SHIFT, .other = (shift)},                                   \
		}                                                                         \
	}
#define BEGIN(name_)                                                           \
	.report = PLACE_PAUSE_BEGIN, .where = PLACE_AT_ENTRY, .name = (name_), \
	.flags = PLACE_COLLECTOR | PLACE_PAUSES
#define END(where_, name_)                                             \
	.report = PLACE_PAUSE_END, .where = (where_), .name = (name_), \
	.flags = PLACE_COLLECTOR | PLACE_RESUMES

static const struct runtime_place places[] = {
	{BEGIN("caml_oldify_local_roots"), .until = OCAML_5,
	 .arguments = {HEAP(HEAP_MINOR), KIND(KIND_MINOR), PROMOTED(2)}},
	{END(PLACE_AT_ENTRY, "caml_memprof_renew_minor_sample"), .until = OCAML_5,
	 .arguments = {HEAP(HEAP_MINOR), PROMOTED(1)}},
	{BEGIN(SLICE), .until = OCAML_5, .arguments = {HEAP(HEAP_SLICE), KIND(KIND_SLICE)}},
	{END(PLACE_AT_RETURN, SLICE), .until = OCAML_5, .arguments = {HEAP(HEAP_SLICE)}},
	{BEGIN(FORCED), .until = OCAML_5, .arguments = {HEAP(HEAP_FORCED), KIND(KIND_FULL)}},
	{END(PLACE_AT_RETURN, FORCED), .until = OCAML_5, .arguments = {HEAP(HEAP_FORCED)}},

	{BEGIN(MINOR_PART), .since = OCAML_5,
	 .arguments = {HEAP_OF_DOMAIN(HEAP_MINOR), KIND(KIND_MINOR), PROMOTED_BY_DOMAIN(2)}},
	/* The same, where the domains were stopped for something else. */
	{BEGIN("caml_empty_minor_heap_no_major_slice_from_stw"), .since = OCAML_5,
	 .arguments = {HEAP_OF_DOMAIN(HEAP_MINOR), KIND(KIND_MINOR), PROMOTED_BY_DOMAIN(2)}},
	{END(PLACE_AT_ENTRY, "caml_final_empty_young"), .since = OCAML_5,
	 .arguments = {HEAP_OF_DOMAIN(HEAP_MINOR), PROMOTED_BY_DOMAIN(1)}},
	{BEGIN(SLICE), .since = OCAML_5, .arguments = {HEAP_OF_CALL(HEAP_SLICE), KIND(KIND_SLICE)}},
	{END(PLACE_AT_RETURN, SLICE), .since = OCAML_5, .arguments = {HEAP_OF_CALL(HEAP_SLICE)}},
	{BEGIN(FORCED), .since = OCAML_5,
	 .arguments = {HEAP_OF_CALL(HEAP_FORCED), KIND(KIND_FULL)}},
	{END(PLACE_AT_RETURN, FORCED), .since = OCAML_5, .arguments = {HEAP_OF_CALL(HEAP_FORCED)}},
	{BEGIN(STOP_BEGIN), .since = OCAML_5,
	 .arguments = {HEAP_OF_CALL(HEAP_STOP), KIND(KIND_STOP)}},
	{END(PLACE_AT_ENTRY, STOP_END), .since = OCAML_5, .arguments = {HEAP_OF_CALL(HEAP_STOP)}},
};

/* --- code of OCaml 5 ---------------------------------------------------------------------- */

/* The function that each domain calls is the second argument: lea FUNCTION(%rip),%rsi. */
static bool is_second_argument(const struct code *code, uint64_t *address)
{
	if (code->insn.mnemonic != ZYDIS_MNEMONIC_LEA ||
	    code->operands[0].reg.value != ZYDIS_REGISTER_RSI ||
	    code->operands[1].mem.base != ZYDIS_REGISTER_RIP)
		return false;
	*address = code->next + (uint64_t)code->operands[1].mem.disp.value;
	return true;
}

static const struct searched {
	const char *name, *function;
	const char *calls; /* the only call of this; NULL: the function's second argument */
} all_searched[] = {
	{MINOR_PART, MINOR_REQUEST, NULL},
	{STOP_BEGIN, STOP, "caml_ev_begin"},
	{STOP_END, STOP, "caml_ev_end"},
};

static bool search_code(struct runtime_file *file, const struct searched *searched,
			uint64_t *address)
{
	uint8_t room[CODE_BYTES_MAX];
	uint64_t callee = 0, offset;
	struct code code;
	unsigned found = 0;

	if (!code_open_function(file, searched->function, room, &code) ||
	    (searched->calls && !runtime_exported(file, searched->calls, &callee)))
		return false;
	while (code_step(&code)) {
		if (!searched->calls) {
			found += is_second_argument(&code, address);
		} else if (code_calls(&code, callee)) {
			*address = code.address;
			found++;
		}
	}
	return found == 1 && runtime_offset(file, *address, 1, PF_X, &offset);
}

static bool ocaml_locate(struct runtime_file *file, const char *name, uint64_t *address)
{
	for (size_t i = 0; i < sizeof(all_searched) / sizeof(all_searched[0]); i++)
		if (strcmp(all_searched[i].name, name) == 0)
			return search_code(file, &all_searched[i], address);
	return false;
}

static bool is_memory(const ZydisDecodedOperand *operand, ZydisRegister base)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.base == base;
}

/*
 * The words promoted are the second counter that a domain (rdi) copies to a sample (rsi). One
 * instruction may copy several.
 */
static bool ocaml_field(struct runtime_file *file, const char *name, int32_t *offset)
{
	enum { SECOND = 8 };
	ZydisRegister holder = ZYDIS_REGISTER_NONE;
	int64_t from = 0;
	uint8_t room[CODE_BYTES_MAX];
	struct code code;

	(void)name;
	if (!code_open_function(file, COUNTERS, room, &code))
		return false;
	while (code_step(&code)) {
		const ZydisDecodedOperand *to = &code.operands[0], *of = &code.operands[1];

		if (code.insn.operand_count_visible != 2)
			continue;
		if (is_memory(of, ZYDIS_REGISTER_RDI)) {
			holder = to->reg.value;
			from = of->mem.disp.value;
		}
		if (!is_memory(to, ZYDIS_REGISTER_RSI) || of->reg.value != holder ||
		    to->mem.disp.value > SECOND || to->mem.disp.value + to->size / 8 <= SECOND)
			continue;
		from += SECOND - to->mem.disp.value;
		*offset = (int32_t)from;
		return from > 0 && from < INT16_MAX;
	}
	return false;
}

/* ------------------------------------------------------------------------------------------ */

static bool ocaml_recognise(struct runtime_file *file, struct runtime_facts *out)
{
	uint64_t at;

	if (!runtime_exported(file, "caml_startup", &at) &&
	    !runtime_exported(file, "caml_main", &at))
		return false;
	out->number = runtime_symbol(file, "caml_empty_minor_heap", &at) ? OCAML_4 : OCAML_5;
	snprintf(out->version, sizeof(out->version), "%u", out->number);
	return true;
}

static const char *ocaml_kind_name(const struct runtime_facts *facts, uint64_t number,
				   const char *collector, uint32_t *kind)
{
	static const struct {
		const char *name;
		uint32_t kind;
	} kinds[KINDS] = {
		[KIND_MINOR] = {"minor", GCPROF_GC_MINOR},
		[KIND_SLICE] = {"major slice", GCPROF_GC_STEP},
		[KIND_FULL] = {"forced major", GCPROF_GC_FULL},
	};

	(void)facts;
	(void)collector;
	if (number >= KINDS || !kinds[number].name)
		return NULL; /* a stop */
	*kind = kinds[number].kind;
	return kinds[number].name;
}

static const char *ocaml_note(const struct runtime_facts *facts)
{
	(void)facts;
	return "no allocation samples (in OCaml: Gc.Memprof); no sizes of its heap "
	       "(OCAMLRUNPARAM=v=0x400)";
}

const struct runtime runtime_ocaml = {
	.id = RUNTIME_OCAML,
	.name = "ocaml",
	.places = places,
	.n_places = sizeof(places) / sizeof(places[0]),
	.recognise = ocaml_recognise,
	.locate = ocaml_locate,
	.field = ocaml_field,
	.returns = runtime_returns,
	.note = ocaml_note,
	.kind_name = ocaml_kind_name,
};
