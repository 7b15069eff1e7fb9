// SPDX-License-Identifier: BSD-2-Clause
/* frame_program.c: runs the frame program of a function. */
/*
 * Tracks only the registers that the walker has: the stack pointer through the CFA, rbp, rbx and
 * the return address. Expressions are not executed: a few patterns cover the output of compilers
 * and linkers. Others become ranges without a rule.
 */
#include <errno.h>
#include <stdint.h>

#include "frame_info.h"

/* DWARF register numbers of x86-64. */
enum { REG_BX = 3, REG_BP = 6, REG_SP = 7, REG_RA = 16 };

enum {
	CFA_ADVANCE = 0x40, /* with the distance in the low bits, like the next two */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF = 0x0c,
	CFA_DEF_REGISTER = 0x0d,
	CFA_DEF_OFFSET = 0x0e,
	CFA_DEF_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_SF = 0x12,
	CFA_DEF_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET = 0x2f,
};

enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_CONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
};

#define REMEMBER_MAX 32

/* The location of a register; `lost` if no rule can express it. */
struct place {
	uint8_t kind; /* enum unwind_place */
	bool lost;
	int64_t offset;
};

enum { SLOT_RA, SLOT_BP, SLOT_BX, SLOTS };

struct state {
	uint8_t cfa; /* enum unwind_cfa; NONE if no rule can express it */
	uint64_t cfa_register;
	int64_t cfa_offset, cfa_add;
	struct place places[SLOTS];
};

struct machine {
	const struct frame_function *function;
	struct state state;
	struct state initial; /* after the common program (CIE) */
	struct state remembered[REMEMBER_MAX];
	unsigned depth;
	uint64_t address;
	uint64_t *budget; /* for instructions */
	frame_rule_visit *visit;
	void *context;
};

static void cfa_set(struct state *state, uint64_t reg, int64_t offset)
{
	state->cfa_register = reg;
	state->cfa_offset = offset;
	state->cfa_add = 0;
	state->cfa = reg == REG_SP   ? UNWIND_CFA_SP
		     : reg == REG_BP ? UNWIND_CFA_BP
		     : reg == REG_BX ? UNWIND_CFA_BX
				     : UNWIND_CFA_NONE;
}

/* --- expressions ---------------------------------------------------------------- */

static bool take_byte(struct cursor *cursor, uint8_t value)
{
	if (cursor->at == cursor->end || *cursor->at != value)
		return false;
	cursor->at++;
	return true;
}

/* A register plus a constant, the start of every pattern. */
static bool take_base(struct cursor *cursor, uint8_t *reg, int64_t *offset)
{
	if (take_byte(cursor, OP_BREG0 + REG_SP))
		*reg = REG_SP;
	else if (take_byte(cursor, OP_BREG0 + REG_BP))
		*reg = REG_BP;
	else if (take_byte(cursor, OP_BREG0 + REG_BX))
		*reg = REG_BX;
	else
		return false;
	return frame_signed(cursor, offset);
}

/* A PLT entry: from some offset in its 16 bytes on, the stack has one more word. */
static bool expression_plt(struct cursor cursor, int64_t *byte)
{
	int64_t offset;

	if (!take_byte(&cursor, OP_BREG0 + REG_SP) || !frame_signed(&cursor, &offset) ||
	    offset != 8 || !take_byte(&cursor, OP_BREG0 + REG_RA) ||
	    !frame_signed(&cursor, &offset) || offset || !take_byte(&cursor, OP_LIT0 + 15) ||
	    !take_byte(&cursor, OP_AND) || cursor.at == cursor.end || *cursor.at < OP_LIT0 ||
	    *cursor.at >= OP_LIT0 + 16)
		return false;
	*byte = *cursor.at++ - OP_LIT0;
	return take_byte(&cursor, OP_GE) && take_byte(&cursor, OP_LIT0 + 3) &&
	       take_byte(&cursor, OP_SHL) && take_byte(&cursor, OP_PLUS) && cursor.at == cursor.end;
}

/* The CFA is a word in memory plus a constant; the word is found through so many pointers. */
static uint8_t cfa_in_memory(uint8_t reg, unsigned pointers)
{
	if (pointers == 2)
		return reg == REG_SP ? UNWIND_CFA_SP_DEREF_TWICE : UNWIND_CFA_NONE;
	return reg == REG_SP   ? UNWIND_CFA_SP_DEREF
	       : reg == REG_BP ? UNWIND_CFA_BP_DEREF
			       : UNWIND_CFA_BX_DEREF;
}

static void cfa_expression(struct state *state, struct cursor cursor)
{
	unsigned pointers = 0;
	uint64_t add = 0;
	uint8_t reg;

	state->cfa_register = UINT64_MAX;
	state->cfa_add = 0;
	state->cfa = UNWIND_CFA_NONE;
	if (expression_plt(cursor, &state->cfa_offset)) {
		state->cfa = UNWIND_CFA_PLT;
		return;
	}
	if (!take_base(&cursor, &reg, &state->cfa_offset))
		return;
	if (cursor.at == cursor.end) {
		cfa_set(state, reg, state->cfa_offset);
		return;
	}
	while (cursor.at != cursor.end && !add && pointers < 2) {
		if (!take_byte(&cursor, OP_DEREF) ||
		    (take_byte(&cursor, OP_PLUS_CONST) && !cursor_varint(&cursor, &add)))
			return;
		pointers++;
	}
	if (cursor.at != cursor.end || add > INT16_MAX)
		return;
	state->cfa_add = (int64_t)add;
	state->cfa = cfa_in_memory(reg, pointers);
}

static struct place place_expression(struct cursor cursor)
{
	struct place place = {.kind = UNWIND_SAME, .lost = true};
	uint8_t reg;

	if (!take_base(&cursor, &reg, &place.offset) || reg == REG_BX || cursor.at != cursor.end)
		return place;
	place.kind = reg == REG_SP ? UNWIND_AT_SP : UNWIND_AT_BP;
	place.lost = false;
	return place;
}

/* --- rules ------------------------------------------------------------------------ */

static bool place_fits(const struct place *place)
{
	return !place->lost && place->offset >= INT16_MIN && place->offset <= INT16_MAX;
}

/* The state as a rule; the empty rule if none can express it. */
static struct unwind_rule make_rule(const struct machine *machine)
{
	const struct state *state = &machine->state;
	const struct place *ra = &state->places[SLOT_RA];
	const struct place *bp = &state->places[SLOT_BP], *bx = &state->places[SLOT_BX];
	struct unwind_rule rule = {0};

	if (ra->kind == UNWIND_STOP) {
		rule.cfa = UNWIND_CFA_SP;
		rule.cfa_offset = 8; /* any positive value: there is no frame */
		rule.ra = UNWIND_STOP;
		return rule;
	}
	if (state->cfa == UNWIND_CFA_NONE || ra->kind == UNWIND_SAME || !place_fits(ra) ||
	    !place_fits(bp) || state->cfa_offset < INT32_MIN || state->cfa_offset > INT32_MAX)
		return rule;
	rule.cfa = state->cfa | (machine->function->common->signal ? UNWIND_CFA_SIGNAL : 0);
	rule.cfa_offset = (int32_t)state->cfa_offset;
	rule.cfa_add = (int16_t)state->cfa_add;
	rule.ra = ra->kind;
	rule.ra_offset = (int16_t)ra->offset;
	rule.bp = bp->kind;
	rule.bp_offset = (int16_t)bp->offset;
	/* Few functions need rbx: without it, the rest of the rule is still valid. */
	if (place_fits(bx)) {
		rule.bx = bx->kind;
		rule.bx_offset = (int16_t)bx->offset;
	}
	return rule;
}

static int hand_out(struct machine *machine)
{
	struct unwind_rule rule = make_rule(machine);

	if (machine->address >= machine->function->end)
		return 0;
	return machine->visit(machine->context, machine->address, &rule);
}

/* Advances to a later address, and passes on the rule up to there. */
static int advance(struct machine *machine, uint64_t distance)
{
	uint64_t bytes;
	int err;

	if (!machine->visit)
		return -EBADMSG; /* the common program has no addresses */
	if (__builtin_mul_overflow(distance, machine->function->common->code_align, &bytes) ||
	    bytes > machine->function->end - machine->address)
		return -EBADMSG;
	err = bytes ? hand_out(machine) : 0;
	machine->address += bytes;
	return err;
}

/* --- instructions ------------------------------------------------------------------ */

static int slot_of(const struct machine *machine, uint64_t reg)
{
	if (reg == machine->function->common->return_register)
		return SLOT_RA;
	return reg == REG_BP ? SLOT_BP : reg == REG_BX ? SLOT_BX : -1;
}

static void set_place(struct machine *machine, uint64_t reg, struct place place)
{
	int slot = slot_of(machine, reg);

	if (slot >= 0)
		machine->state.places[slot] = place;
}

static void set_offset(struct machine *machine, uint64_t reg, int64_t factored)
{
	struct place place = {.kind = UNWIND_AT_CFA};

	place.lost = __builtin_mul_overflow(factored, machine->function->common->data_align,
					    &place.offset);
	set_place(machine, reg, place);
}

static void restore(struct machine *machine, uint64_t reg)
{
	int slot = slot_of(machine, reg);

	if (slot >= 0)
		machine->state.places[slot] = machine->initial.places[slot];
}

static void undefine(struct machine *machine, uint64_t reg)
{
	struct place place = {.kind = UNWIND_SAME};

	if (slot_of(machine, reg) == SLOT_RA)
		place.kind = UNWIND_STOP;
	set_place(machine, reg, place);
}

static int remember(struct machine *machine)
{
	if (machine->depth == REMEMBER_MAX)
		return -EBADMSG;
	machine->remembered[machine->depth++] = machine->state;
	return 0;
}

static int recall(struct machine *machine)
{
	if (!machine->depth)
		return -EBADMSG;
	machine->state = machine->remembered[--machine->depth];
	return 0;
}

static bool take_block(struct cursor *cursor, struct cursor *out)
{
	const uint8_t *data;
	uint64_t size;

	if (!cursor_varint(cursor, &size) || !cursor_take(cursor, size, &data))
		return false;
	*out = cursor_make(data, size);
	return true;
}

/* Instructions that advance the address. */
static int run_advance(struct machine *machine, struct cursor *program, uint8_t code)
{
	uint64_t distance;
	size_t size = code == CFA_ADVANCE1 ? 1 : code == CFA_ADVANCE2 ? 2 : 4;

	return frame_fixed(program, size, &distance) ? advance(machine, distance) : -EBADMSG;
}

/* Instructions that define the CFA. */
static int run_cfa(struct machine *machine, struct cursor *program, uint8_t code)
{
	struct state *state = &machine->state;
	uint64_t reg = state->cfa_register, number = 0;
	int64_t offset = state->cfa_offset;
	struct cursor block;

	if (code == CFA_DEF_EXPRESSION) {
		if (!take_block(program, &block))
			return -EBADMSG;
		cfa_expression(state, block);
		return 0;
	}
	if ((code == CFA_DEF || code == CFA_DEF_SF || code == CFA_DEF_REGISTER) &&
	    !cursor_varint(program, &reg))
		return -EBADMSG;
	if (code == CFA_DEF || code == CFA_DEF_OFFSET) {
		if (!cursor_varint(program, &number))
			return -EBADMSG;
		offset = (int64_t)number;
	}
	if ((code == CFA_DEF_SF || code == CFA_DEF_OFFSET_SF) &&
	    (!frame_signed(program, &offset) ||
	     __builtin_mul_overflow(offset, machine->function->common->data_align, &offset)))
		return -EBADMSG;
	cfa_set(state, reg, offset);
	return 0;
}

/* Instructions with a register and an offset. */
static int run_offset(struct machine *machine, struct cursor *program, uint8_t code)
{
	struct place lost = {.kind = UNWIND_SAME, .lost = true};
	uint64_t reg, number;
	int64_t offset;

	if (!cursor_varint(program, &reg))
		return -EBADMSG;
	if (code == CFA_OFFSET_EXTENDED_SF || code == CFA_VAL_OFFSET_SF) {
		if (!frame_signed(program, &offset))
			return -EBADMSG;
	} else {
		if (!cursor_varint(program, &number))
			return -EBADMSG;
		offset = (int64_t)(code == CFA_GNU_NEGATIVE_OFFSET ? 0 - number : number);
	}
	if (code == CFA_VAL_OFFSET || code == CFA_VAL_OFFSET_SF || code == CFA_REGISTER)
		set_place(machine, reg, lost);
	else
		set_offset(machine, reg, offset);
	return 0;
}

/* Instructions with a register, or a register and an expression. */
static int run_register(struct machine *machine, struct cursor *program, uint8_t code)
{
	struct place place = {.kind = UNWIND_SAME};
	struct cursor block;
	uint64_t reg;

	if (!cursor_varint(program, &reg))
		return -EBADMSG;
	switch (code) {
	case CFA_RESTORE_EXTENDED:
		restore(machine, reg);
		return 0;
	case CFA_UNDEFINED:
		undefine(machine, reg);
		return 0;
	case CFA_SAME:
		break;
	default:
		if (!take_block(program, &block))
			return -EBADMSG;
		place = place_expression(block);
		place.lost |= code == CFA_VAL_EXPRESSION;
	}
	set_place(machine, reg, place);
	return 0;
}

static int run_one(struct machine *machine, struct cursor *program, uint8_t code)
{
	uint64_t number;

	switch (code & 0xc0) {
	case CFA_ADVANCE:
		return advance(machine, code & 0x3f);
	case CFA_OFFSET:
		if (!cursor_varint(program, &number) || number > INT64_MAX)
			return -EBADMSG;
		set_offset(machine, code & 0x3f, (int64_t)number);
		return 0;
	case CFA_RESTORE:
		restore(machine, code & 0x3f);
		return 0;
	}
	switch (code) {
	case CFA_NOP:
		return 0;
	case CFA_ADVANCE1:
	case CFA_ADVANCE2:
	case CFA_ADVANCE4:
		return run_advance(machine, program, code);
	case CFA_DEF:
	case CFA_DEF_REGISTER:
	case CFA_DEF_OFFSET:
	case CFA_DEF_SF:
	case CFA_DEF_OFFSET_SF:
	case CFA_DEF_EXPRESSION:
		return run_cfa(machine, program, code);
	case CFA_OFFSET_EXTENDED:
	case CFA_OFFSET_EXTENDED_SF:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
	case CFA_REGISTER:
	case CFA_GNU_NEGATIVE_OFFSET:
		return run_offset(machine, program, code);
	case CFA_RESTORE_EXTENDED:
	case CFA_UNDEFINED:
	case CFA_SAME:
	case CFA_EXPRESSION:
	case CFA_VAL_EXPRESSION:
		return run_register(machine, program, code);
	case CFA_REMEMBER:
		return remember(machine);
	case CFA_RESTORE_STATE:
		return recall(machine);
	case CFA_GNU_ARGS_SIZE:
		return cursor_varint(program, &number) ? 0 : -EBADMSG;
	}
	return -EBADMSG; /* also CFA_SET_LOC, which no compiler writes */
}

static int run(struct machine *machine, struct cursor program)
{
	uint64_t code;
	int err = 0;

	while (!err && frame_fixed(&program, 1, &code)) {
		if (!*machine->budget)
			return -E2BIG;
		--*machine->budget;
		err = run_one(machine, &program, (uint8_t)code);
	}
	return err;
}

int frame_program_run(const struct frame_function *function, uint64_t *budget,
		      frame_rule_visit *visit, void *context)
{
	struct machine machine;
	int err;

	machine.function = function;
	machine.state = (struct state){.cfa_register = UINT64_MAX};
	machine.initial = machine.state;
	machine.depth = 0;
	machine.address = function->begin;
	machine.budget = budget;
	machine.visit = NULL;
	machine.context = context;
	err = run(&machine, function->common->program);
	if (err)
		return err;
	machine.initial = machine.state;
	machine.depth = 0;
	machine.visit = visit;
	err = run(&machine, function->program);
	return err ? err : hand_out(&machine);
}
