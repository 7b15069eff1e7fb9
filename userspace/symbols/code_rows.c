// SPDX-License-Identifier: BSD-2-Clause
/* code_rows.c: unwind rows of code without frame information, by following its stack pointer. */
/*
 * The code is decoded twice, with Zydis. First in a row, for the targets of calls, where functions
 * begin. Then each function along its jumps, also to parts that lie elsewhere, with the state of
 * the stack at each instruction. What no jump reaches is behind a jump by a table, with the state
 * there, or a function that is called by pointers only.
 */
#include "code_rows.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/array.h"

#define WORD         8
#define FRAME_SIGNAL (-1) /* as a state's `frame`: the kernel saved registers above rsp */

/* A stack at an instruction: distances from the CFA down, in bytes. */
struct state {
	int16_t depth;  /* of rsp; 0: unknown */
	int16_t frame;  /* of rbp; 0: it is no frame pointer */
	int16_t bp;     /* of the caller's rbp; 0: in the register */
	uint8_t length; /* of the instruction, once a path has reached it; else 0 */
	uint8_t entry;  /* enum entry */
};

enum entry {
	ENTRY_NONE,
	ENTRY_CALLED,   /* something calls it */
	ENTRY_NORETURN, /* and a function ends with such a call */
};

struct call {
	uint32_t to, next; /* where it leads, and the instruction behind it */
};

struct place {
	uint32_t at; /* from the start of the code */
	struct state state;
};

struct analysis {
	ZydisDecoder decoder;
	const uint8_t *code;
	size_t size;
	struct state *states; /* by byte of the code */
	ARRAY(struct call) calls;
	ARRAY(struct place) work;

	/* Of the function. */
	ARRAY(uint32_t) path; /* its instructions */
	struct state table;   /* behind a jump by a table; of length 0: there is none */
	bool returns, ends;   /* a path ends with a return, or with a call that does not */
	bool refused;
	size_t next; /* the entry behind it; 0: not looked for yet */
	int err;
};

/* --- instructions ------------------------------------------------------------------------ */

struct insn {
	ZydisDecodedInstruction of;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const struct analysis *analysis, size_t at, struct insn *insn)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&analysis->decoder, analysis->code + at,
						   analysis->size - at, &insn->of, insn->operands));
}

static bool is_register(const ZydisDecodedOperand *operand, ZydisRegister number)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->reg.value == number;
}

static bool writes(const struct insn *insn, ZydisRegister number)
{
	for (unsigned i = 0; i < insn->of.operand_count; i++)
		if (insn->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (insn->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						     insn->operands[i].reg.value) == number)
			return true;
	return false;
}

/* The same without operands, which is faster. */
static bool measure(const struct analysis *analysis, size_t at, ZydisDecodedInstruction *insn)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
		&analysis->decoder, NULL, analysis->code + at, analysis->size - at, insn));
}

/* Where a jump or call leads, if the instruction says so: in this code, or the size of it. */
static size_t target(const struct analysis *analysis, size_t at,
		     const ZydisDecodedInstruction *insn)
{
	size_t to;

	if (!insn->raw.imm[0].is_relative)
		return analysis->size;
	to = at + insn->length + (size_t)insn->raw.imm[0].value.s;
	return to < analysis->size ? to : analysis->size;
}

static bool is_padding(const ZydisDecodedInstruction *insn)
{
	/* xchg %ax,%ax */
	return insn->mnemonic == ZYDIS_MNEMONIC_NOP || insn->mnemonic == ZYDIS_MNEMONIC_INT3 ||
	       (insn->mnemonic == ZYDIS_MNEMONIC_XCHG && insn->length == 2);
}

/* The next instruction that does something, from `at` on; `limit` if there is none before. */
static size_t skip_padding(const struct analysis *analysis, size_t at, size_t limit)
{
	ZydisDecodedInstruction insn;

	while (at < limit && measure(analysis, at, &insn) && is_padding(&insn))
		at += insn.length;
	return at < limit ? at : limit;
}

/* --- what an instruction does to the stack ------------------------------------------------ */

static void push(struct state *state, const struct insn *insn)
{
	if (!state->depth)
		return;
	state->depth = (int16_t)(state->depth + insn->of.operand_width / 8);
	if (is_register(&insn->operands[0], ZYDIS_REGISTER_RBP) && !state->bp && !state->frame)
		state->bp = state->depth;
}

static void pop(struct state *state, const struct insn *insn)
{
	bool is_bp = is_register(&insn->operands[0], ZYDIS_REGISTER_RBP);

	if (is_bp && state->bp == state->depth)
		state->bp = 0;
	if (is_bp)
		state->frame = 0;
	if (state->depth)
		state->depth = (int16_t)(state->depth - insn->of.operand_width / 8);
}

/* By a constant, or from a frame pointer. */
static void set_stack(struct state *state, const struct insn *insn)
{
	const ZydisDecodedOperand *from = &insn->operands[1];
	int64_t depth = 0;

	switch (insn->of.mnemonic) {
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_ADD:
		if (state->depth && from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			depth = state->depth + (insn->of.mnemonic == ZYDIS_MNEMONIC_SUB
							? from->imm.value.s
							: -from->imm.value.s);
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (from->mem.index == ZYDIS_REGISTER_NONE && state->depth &&
		    from->mem.base == ZYDIS_REGISTER_RSP)
			depth = state->depth - from->mem.disp.value;
		if (from->mem.index == ZYDIS_REGISTER_NONE && state->frame &&
		    from->mem.base == ZYDIS_REGISTER_RBP)
			depth = state->frame - from->mem.disp.value;
		break;
	case ZYDIS_MNEMONIC_MOV:
		if (is_register(from, ZYDIS_REGISTER_RBP))
			depth = state->frame;
		break;
	default:
		break;
	}
	state->depth = depth > 0 && depth <= INT16_MAX ? (int16_t)depth : 0;
}

static void apply(struct state *state, const struct insn *insn)
{
	switch (insn->of.mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		return;
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		push(state, insn);
		return;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ:
		pop(state, insn);
		return;
	case ZYDIS_MNEMONIC_LEAVE:
		state->depth = (int16_t)(state->frame ? state->frame - WORD : 0);
		state->frame = state->bp = 0;
		return;
	default:
		break;
	}
	if (writes(insn, ZYDIS_REGISTER_RSP))
		set_stack(state, insn);
	if (!writes(insn, ZYDIS_REGISTER_RBP))
		return;
	state->frame = 0;
	if (insn->of.mnemonic == ZYDIS_MNEMONIC_MOV &&
	    is_register(&insn->operands[1], ZYDIS_REGISTER_RSP) && state->bp)
		state->frame = state->depth;
}

/* --- paths --------------------------------------------------------------------------------- */

static void reach(struct analysis *analysis, size_t at, const struct state *state)
{
	const struct place place = {(uint32_t)at, *state};

	if (array_append(&analysis->work, &place))
		analysis->err = -ENOMEM;
}

/* Goes on with the next instruction: not that of another function. */
static void go_on(struct analysis *analysis, size_t at, const struct state *state)
{
	if (at >= analysis->size || analysis->states[at].entry)
		analysis->refused = true;
	else
		reach(analysis, at, state);
}

/* A path goes back to the caller, or on to another function. */
static void leave(struct analysis *analysis, const struct state *state)
{
	analysis->refused |= state->depth != WORD || state->bp;
}

static void jump(struct analysis *analysis, size_t at, const struct insn *insn,
		 const struct state *state)
{
	size_t to = target(analysis, at, &insn->of);

	if (insn->of.mnemonic != ZYDIS_MNEMONIC_JMP)
		go_on(analysis, at + insn->of.length, state);
	/* With the stack as it began: to another function, or to what is followed like one. */
	if (insn->operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE && state->depth == WORD)
		return;
	if (insn->operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		analysis->table = analysis->states[at];
	else if (to < analysis->size && !analysis->states[to].entry)
		reach(analysis, to, state);
	else
		leave(analysis, state);
}

/* Does nothing follow: a trap, or a call that does not return? */
static bool ends_path(const struct analysis *analysis, size_t at,
		      const ZydisDecodedInstruction *insn)
{
	size_t to, next;

	if (insn->mnemonic == ZYDIS_MNEMONIC_HLT || insn->mnemonic == ZYDIS_MNEMONIC_UD2)
		return true;
	if (insn->mnemonic != ZYDIS_MNEMONIC_CALL)
		return false;
	to = target(analysis, at, insn);
	next = skip_padding(analysis, at + insn->length, analysis->size);
	return (to < analysis->size && analysis->states[to].entry == ENTRY_NORETURN) ||
	       next == analysis->size || analysis->states[next].entry;
}

static void step(struct analysis *analysis, struct place place)
{
	struct insn insn;

	if (!decode(analysis, place.at, &insn)) {
		analysis->refused = true;
		return;
	}
	analysis->states[place.at].length = insn.of.length;
	if (array_append(&analysis->path, &place.at))
		analysis->err = -ENOMEM;
	if (insn.of.mnemonic == ZYDIS_MNEMONIC_RET) {
		analysis->returns = true;
		leave(analysis, &place.state);
	} else if (insn.of.meta.category == ZYDIS_CATEGORY_COND_BR ||
		   insn.of.meta.category == ZYDIS_CATEGORY_UNCOND_BR) {
		jump(analysis, place.at, &insn, &place.state);
	} else if (ends_path(analysis, place.at, &insn.of)) {
		analysis->ends |= insn.of.mnemonic == ZYDIS_MNEMONIC_CALL;
	} else {
		apply(&place.state, &insn);
		go_on(analysis, place.at + insn.of.length, &place.state);
	}
}

/* Follows all paths from a place. Where two meet, the stack must be the same. */
static void follow(struct analysis *analysis, size_t at, const struct state *state)
{
	reach(analysis, at, state);
	while (!analysis->err && !analysis->refused && array_count(&analysis->work)) {
		const struct place next = analysis->work.all[array_count(&analysis->work) - 1];
		struct state *known = &analysis->states[next.at];

		analysis->work.buffer.size -= sizeof(next);
		if (known->length) {
			analysis->refused |= known->depth != next.state.depth ||
					     known->frame != next.state.frame ||
					     known->bp != next.state.bp;
			continue;
		}
		known->depth = next.state.depth;
		known->frame = next.state.frame;
		known->bp = next.state.bp;
		step(analysis, next);
	}
	analysis->work.buffer.size = 0;
}

/* --- functions ----------------------------------------------------------------------------- */

/* Where the next code is that no path has reached, and that does something. */
static size_t next_unreached(const struct analysis *analysis, size_t at, size_t limit)
{
	size_t next = skip_padding(analysis, at, limit);

	while (next < limit && analysis->states[next].length)
		next = skip_padding(analysis, next + analysis->states[next].length, limit);
	return next;
}

static size_t next_entry(const struct analysis *analysis, size_t at)
{
	while (at < analysis->size && !analysis->states[at].entry)
		at++;
	return at;
}

/* Without a return, what nothing calls may be a part of a function that was refused: it has
 * registers to save no more. */
static bool is_whole(const struct analysis *analysis, size_t begin)
{
	ZydisDecodedInstruction insn;

	return analysis->states[begin].entry ||
	       (measure(analysis, begin, &insn) && insn.mnemonic == ZYDIS_MNEMONIC_PUSH);
}

/* What is behind a jump by a table, up to the next function. */
static void follow_table(struct analysis *analysis, size_t begin)
{
	size_t limit, at;

	/* Functions are followed in the order of addresses. */
	if (analysis->next <= begin)
		analysis->next = next_entry(analysis, begin + 1);
	limit = analysis->next;
	at = next_unreached(analysis, begin, limit);
	while (!analysis->err && !analysis->refused && at < limit) {
		follow(analysis, at, &analysis->table);
		at = next_unreached(analysis, at, limit);
	}
}

/* Follows the function that begins here. Its instructions have no state if it is refused. */
static void add_function(struct analysis *analysis, size_t begin)
{
	static const struct state at_entry = {.depth = WORD};

	analysis->returns = analysis->ends = analysis->refused = false;
	analysis->table.length = 0;
	analysis->path.buffer.size = 0;
	follow(analysis, begin, &at_entry);
	if (analysis->table.length)
		follow_table(analysis, begin);
	if (!analysis->refused &&
	    (analysis->returns || (analysis->ends && is_whole(analysis, begin))))
		return;
	for (size_t i = 0; i < array_count(&analysis->path); i++)
		analysis->states[analysis->path.all[i]].depth =
			analysis->states[analysis->path.all[i]].frame = 0;
}

static void add_called(struct analysis *analysis)
{
	for (size_t at = 0; at < analysis->size && !analysis->err; at++)
		if (analysis->states[at].entry && !analysis->states[at].length)
			add_function(analysis, at);
}

/* What a signal handler returns to. No call leads there: the byte before it, which does nothing,
 * belongs to it. */
static bool add_restorer(struct analysis *analysis, size_t begin)
{
	static const struct {
		uint8_t size, code[9];
	} calls[] = {
		{9, {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}}, /* mov $15,%rax; syscall */
		{7, {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}},             /* mov $15,%eax; syscall */
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (!begin || analysis->states[begin - 1].length ||
		    analysis->size - begin < calls[i].size ||
		    memcmp(analysis->code + begin, calls[i].code, calls[i].size) != 0)
			continue;
		analysis->states[begin - 1] = (struct state){
			.frame = FRAME_SIGNAL, .length = (uint8_t)(calls[i].size + 1)};
		analysis->states[begin].length = calls[i].size;
		return true;
	}
	return false;
}

static void add_pointed(struct analysis *analysis)
{
	size_t at = next_unreached(analysis, 0, analysis->size);

	for (; at < analysis->size && !analysis->err;
	     at = next_unreached(analysis, at, analysis->size)) {
		if (!add_restorer(analysis, at))
			add_function(analysis, at);
		/* No instruction. */
		if (!analysis->states[at].length)
			at++;
	}
}

static void find_calls(struct analysis *analysis)
{
	ZydisDecodedInstruction insn;

	for (size_t at = 0; at < analysis->size && !analysis->err; at += insn.length) {
		struct call call;

		if (!measure(analysis, at, &insn)) {
			insn.length = 1;
			continue;
		}
		call.to = (uint32_t)target(analysis, at, &insn);
		call.next = (uint32_t)(at + insn.length);
		if (insn.mnemonic != ZYDIS_MNEMONIC_CALL || call.to >= analysis->size)
			continue;
		analysis->states[call.to].entry = ENTRY_CALLED;
		if (array_append(&analysis->calls, &call))
			analysis->err = -ENOMEM;
	}
}

/* A function that ends with a call does not go on behind it. */
static void find_noreturn(struct analysis *analysis)
{
	for (size_t i = 0; i < array_count(&analysis->calls); i++) {
		const struct call *call = &analysis->calls.all[i];
		size_t next = skip_padding(analysis, call->next, analysis->size);

		if (next == analysis->size || analysis->states[next].entry)
			analysis->states[call->to].entry = ENTRY_NORETURN;
	}
}

/* --- rows ---------------------------------------------------------------------------------- */

static struct unwind_rule rule_of(const struct state *state)
{
	struct unwind_rule rule = {
		.cfa = state->depth ? UNWIND_CFA_SP : UNWIND_CFA_BP,
		.ra = UNWIND_AT_CFA,
		.bp = state->bp ? UNWIND_AT_CFA : UNWIND_SAME,
		.cfa_offset = state->depth ? state->depth : state->frame,
		.ra_offset = -WORD,
		.bp_offset = (int16_t)-state->bp,
	};

	if (state->frame == FRAME_SIGNAL)
		return unwind_signal_rule;
	return state->length && rule.cfa_offset ? rule : (struct unwind_rule){0};
}

/* One function for all, since parts of one may lie anywhere. */
static int put_rows(const struct analysis *analysis, struct unwind_builder *builder,
		    uint64_t address)
{
	struct unwind_rule rule, last = {0};
	bool begun = false;
	int err = 0;

	for (size_t at = 0; !err && at < analysis->size;) {
		const struct state *state = &analysis->states[at];

		rule = rule_of(state);
		if (memcmp(&rule, &last, sizeof(rule)) != 0) {
			err = begun ? 0
				    : unwind_builder_function(builder, address + at,
							      address + analysis->size);
			begun = true;
			err = err ? err : unwind_builder_row(builder, address + at, &rule);
		}
		last = rule;
		at += state->length ? state->length : 1;
	}
	return err;
}

int code_rows_add(const uint8_t *code, size_t size, uint64_t address,
		  struct unwind_builder *builder)
{
	struct analysis analysis = {.code = code, .size = size};

	if (!size || size > CODE_ROWS_BYTES_MAX)
		return -E2BIG;
	analysis.states = calloc(size, sizeof(*analysis.states));
	if (!analysis.states)
		return -ENOMEM;
	ZydisDecoderInit(&analysis.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	analysis.states[0].entry = ENTRY_CALLED;
	find_calls(&analysis);
	find_noreturn(&analysis);
	add_called(&analysis);
	analysis.next = 0;
	add_pointed(&analysis);
	if (!analysis.err)
		analysis.err = put_rows(&analysis, builder, address);
	buffer_free(&analysis.calls.buffer);
	buffer_free(&analysis.work.buffer);
	buffer_free(&analysis.path.buffer);
	free(analysis.states);
	return analysis.err;
}
