// SPDX-License-Identifier: BSD-2-Clause
/* file.c: finds facts about a Go program's runtime by decoding its code. */
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../../symbols/go_table.h"
#include "../code.h"

/* --- opens the code of a Go program's functions --------------------------------------------- */

struct go_file {
	struct go_table *table;
};

#define FUNCTION_MAX (64u << 10) /* bytes decoded per function */

/* Opens a function, the one at an address, or the one of this name; false if there is none, or it
 * is too large. The first code_step() goes to its first instruction. */
static bool code_of(struct go_file *file, const struct go_function *function, struct code *out)
{
	uint64_t left = 0;
	const uint8_t *at;

	if (!function->size || function->size > FUNCTION_MAX)
		return false;
	at = go_table_code(file->table, function, &left);
	code_begin(out, function->address, at, left);
	return at && left;
}

static bool code_at(struct go_file *file, uint64_t address, struct code *out)
{
	struct go_function function;

	return go_table_at(file->table, address, &function) && function.address == address &&
	       code_of(file, &function, out);
}

static bool code_named(struct go_file *file, const char *name, struct code *out)
{
	struct go_function function;

	return go_table_named(file->table, name, &function) && code_of(file, &function, out);
}

/* --- facts of the file ---------------------------------------------------------------------- */

int go_file_open(Elf *elf, struct go_file **out, struct problem *problem)
{
	struct go_file *file = calloc(1, sizeof(*file));
	int err = file ? go_table_open(elf, &file->table, problem) : -ENOMEM;

	if (err)
		go_file_free(file);
	else
		*out = file;
	return err;
}

void go_file_free(struct go_file *file)
{
	if (!file)
		return;
	go_table_free(file->table);
	free(file);
}

const struct go_table *go_file_table(const struct go_file *file)
{
	return file->table;
}

/* --- probe sites -------------------------------------------------------------------------- */

enum { STACK_LIMIT = 0x10, STACK_LIMIT_SYSTEM = 0x18 }; /* in the goroutine, in r14 */

/*
 * cmp 0x10(%r14),%rsp; jbe. Larger frames compare lea -x(%rsp),%r12, and very large ones mov
 * %rsp,%r12; sub $x,%r12; jb. True if `code` is at the jbe.
 */
static bool is_behind_check(struct code *code)
{
	bool large = false;

	while (code_step(code)) {
		switch (code->insn.mnemonic) {
		case ZYDIS_MNEMONIC_LEA:
		case ZYDIS_MNEMONIC_MOV:
			if (large || !code_is_register(code, 0, ZYDIS_REGISTER_R12))
				return false;
			large = true;
			break;
		case ZYDIS_MNEMONIC_SUB:
			if (!large || !code_is_register(code, 0, ZYDIS_REGISTER_R12) ||
			    !code_step(code) || code->insn.mnemonic != ZYDIS_MNEMONIC_JB)
				return false;
			break;
		case ZYDIS_MNEMONIC_CMP:
			return code_is_register(code, 0,
						large ? ZYDIS_REGISTER_R12 : ZYDIS_REGISTER_RSP) &&
			       code_is_memory(code, 1, ZYDIS_REGISTER_R14) &&
			       (code->operands[1].mem.disp.value == STACK_LIMIT ||
				code->operands[1].mem.disp.value == STACK_LIMIT_SYSTEM) &&
			       code_step(code) && code->insn.mnemonic == ZYDIS_MNEMONIC_JBE;
		default:
			return false;
		}
	}
	return false;
}

/* Does nothing in the function check the stack's end again, and nothing jump to the address? */
static bool is_place(const struct code *begin, uint64_t address, bool checked)
{
	struct code code = *begin;

	while (code_step(&code)) {
		if (code_target(&code) == address && code.insn.mnemonic != ZYDIS_MNEMONIC_CALL)
			return false;
		if (!checked && code.insn.mnemonic == ZYDIS_MNEMONIC_CMP &&
		    code_is_memory(&code, 1, ZYDIS_REGISTER_R14) &&
		    (uint64_t)code.operands[1].mem.disp.value <= STACK_LIMIT_SYSTEM)
			return false;
	}
	return true;
}

int go_file_behind_check(struct go_file *file, uint64_t function, uint64_t *out)
{
	struct code begin, code;
	bool checked;
	uint64_t jump;

	if (!code_at(file, function, &begin))
		return -ENOENT;
	code = begin;
	checked = is_behind_check(&code);
	*out = checked ? code.next : begin.next;
	jump = checked ? code.address : 0;
	if (checked && code_step(&code) && code.insn.mnemonic != ZYDIS_MNEMONIC_PUSH)
		*out = jump;
	return is_place(&begin, *out, checked) ? 0 : -ENOENT;
}

int go_file_returns(struct go_file *file, uint64_t function, uint64_t *out, size_t max)
{
	struct code code;
	size_t n = 0;

	if (!code_at(file, function, &code))
		return -ENOENT;
	while (code_step(&code)) {
		if (code.insn.mnemonic != ZYDIS_MNEMONIC_RET)
			continue;
		if (n == max)
			return -ENOENT;
		out[n++] = code.address;
	}
	return n ? (int)n : -ENOENT;
}

/* --- the sampler -------------------------------------------------------------------------- */

/* A function that calls profilealloc, found by walking mallocgc and its parts. */
struct caller {
	struct go_function function;
	uint64_t rate; /* the last variable read before the call */
};

static bool read_caller(struct go_file *file, uint64_t profilealloc, struct caller *caller)
{
	struct code code;

	caller->rate = 0;
	if (!code_of(file, &caller->function, &code))
		return false;
	while (code_step(&code)) {
		if (code_calls(&code, profilealloc))
			return true;
		if (code.insn.mnemonic == ZYDIS_MNEMONIC_MOV && code_variable(&code, 1, 8) &&
		    code.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER)
			caller->rate = code_variable(&code, 1, 8);
	}
	return false;
}

/* Finds the next caller from *index on. */
static bool next_caller(struct go_file *file, uint64_t profilealloc, size_t *index,
			struct caller *out)
{
	static const char prefix[] = "runtime.mallocgc";

	while (go_table_function(file->table, (*index)++, &out->function))
		if (out->function.name &&
		    strncmp(out->function.name, prefix, sizeof(prefix) - 1) == 0 &&
		    read_caller(file, profilealloc, out))
			return true;
	return false;
}

/* The last byte tested before `rate` is stored; 0: it is not stored. */
static uint64_t switch_before(struct go_file *file, const char *function, uint64_t rate)
{
	uint64_t found = 0;
	struct code code;

	if (!code_named(file, function, &code))
		return 0;
	while (code_step(&code)) {
		if (code.insn.mnemonic == ZYDIS_MNEMONIC_CMP && code_variable(&code, 0, 1))
			found = code_variable(&code, 0, 1);
		else if (code.insn.mnemonic == ZYDIS_MNEMONIC_MOVZX && code_variable(&code, 1, 1))
			found = code_variable(&code, 1, 1);
		else if (code.insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
			 code_variable(&code, 0, 8) == rate)
			return found;
	}
	return 0;
}

int go_file_sampler(struct go_file *file, struct go_sampler *out)
{
	struct go_function profilealloc;
	struct caller caller;
	size_t index = 0;

	*out = (struct go_sampler){0};
	if (!go_table_named(file->table, "runtime.profilealloc", &profilealloc))
		return -ENOENT;
	while (next_caller(file, profilealloc.address, &index, &caller)) {
		if (out->rate && caller.rate != out->rate)
			return -ENOENT;
		out->rate = caller.rate;
	}
	/* 1.19 sets the rate with the package's variables, later versions clear it at their start.
	 */
	if (out->rate)
		out->off = switch_before(file, "runtime.schedinit", out->rate);
	if (out->rate && !out->off)
		out->off = switch_before(file, "runtime.init", out->rate);
	return out->off ? 0 : -ENOENT;
}

/* --- types -------------------------------------------------------------------------------- */

enum { RBX_SLOT = 0x18 }; /* relative to rbp: saved rbp, return address, first argument */

/*
 * Does mallocgc keep its second argument, the type, in its caller's argument slot? The frame is
 * made by sub $x,%rsp. rbp then points to the end of the frame: where it was pushed, or set by lea.
 */
static bool keeps_type(struct code *code)
{
	int64_t frame = -1;

	while (code_step(code)) {
		if (code->insn.mnemonic == ZYDIS_MNEMONIC_SUB &&
		    code_is_register(code, 0, ZYDIS_REGISTER_RSP) && frame < 0)
			frame = code->operands[1].imm.value.s;
		else if (code->insn.mnemonic == ZYDIS_MNEMONIC_LEA &&
			 code_is_register(code, 0, ZYDIS_REGISTER_RBP))
			frame = code->operands[1].mem.disp.value;
		else if (code->insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
			 code_is_memory(code, 0, ZYDIS_REGISTER_RSP) &&
			 code_is_register(code, 1, ZYDIS_REGISTER_RBX) && frame >= 0 &&
			 code->operands[0].mem.disp.value == frame + RBX_SLOT)
			return true;
	}
	return false;
}

/* Is it a part of mallocgc that only mallocgc calls? */
static bool is_part(const char *name)
{
	static const char *const parts[] = {"runtime.mallocgcTiny", "runtime.mallocgcSmallNoscan",
					    "runtime.mallocgcSmallScanNoHeader",
					    "runtime.mallocgcSmallScanHeader",
					    "runtime.mallocgcLarge"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(name, parts[i]) == 0)
			return true;
	return false;
}

/* All allocating functions have the type as second argument, including those made for one size. */
static enum go_type_place type_place(struct go_file *file, const struct caller *caller,
				     bool mallocgc_keeps)
{
	struct code code;

	if (is_part(caller->function.name))
		return mallocgc_keeps ? GO_TYPE_ABOVE : GO_TYPE_NOWHERE;
	return code_of(file, &caller->function, &code) && keeps_type(&code) ? GO_TYPE_OF_CALLER
									    : GO_TYPE_NOWHERE;
}

int go_file_callers(struct go_file *file, struct go_caller *out, size_t max)
{
	struct go_function profilealloc;
	struct caller caller;
	size_t index = 0, count = 0;
	struct code mallocgc;
	bool keeps;

	if (!go_table_named(file->table, "runtime.profilealloc", &profilealloc))
		return -ENOENT;
	keeps = code_named(file, "runtime.mallocgc", &mallocgc) && keeps_type(&mallocgc);
	while (next_caller(file, profilealloc.address, &index, &caller)) {
		const struct go_function *function = &caller.function;
		enum go_type_place place = type_place(file, &caller, keeps);

		if (!count || out[count - 1].place != place) {
			if (count == max)
				return -ENOENT;
			out[count++] =
				(struct go_caller){.begin = function->address, .place = place};
		}
		out[count - 1].end = function->address + function->size;
	}
	return count ? (int)count : -ENOENT;
}

/* --- the collector ------------------------------------------------------------------------ */

/* setprofilebucket stores the kind into the special that it has created: the only byte stored. */
int go_file_special(struct go_file *file, struct go_special *out)
{
	struct code code;
	int found = 0;

	if (!code_named(file, "runtime.setprofilebucket", &code))
		return -ENOENT;
	while (code_step(&code)) {
		const ZydisDecodedOperand *to = code.operands;

		if (code.insn.mnemonic != ZYDIS_MNEMONIC_MOV || code.n_operands != 2 ||
		    to[0].size != 8 || to[0].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    to[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		    to[0].mem.base == ZYDIS_REGISTER_RIP || to[0].mem.base == ZYDIS_REGISTER_RSP)
			continue;
		*out = (struct go_special){(uint32_t)to[0].mem.disp.value,
					   (uint8_t)to[1].imm.value.s};
		found++;
	}
	return found == 1 ? 0 : -ENOENT;
}

/* The variable whose address is the first argument of a method at its call in `caller`. */
static uint64_t receiver(struct go_file *file, const char *caller, const char *method)
{
	struct go_function function;
	uint64_t found = 0;
	struct code code;

	if (!go_table_named(file->table, method, &function) || !code_named(file, caller, &code))
		return 0;
	while (code_step(&code)) {
		if (code_calls(&code, function.address))
			return found;
		if (code.insn.mnemonic == ZYDIS_MNEMONIC_LEA &&
		    code_is_register(&code, 0, ZYDIS_REGISTER_RAX))
			found = code_is_memory(&code, 1, ZYDIS_REGISTER_RIP)
					? code.next + (uint64_t)code.operands[1].mem.disp.value
					: 0;
	}
	return 0;
}

/*
 * startCycle first clears the counts of the last scan, by exchanges with the first field behind the
 * sizes. `reachable` is the word before that field, and the bytes in use are seven words before it,
 * in all versions from 1.19 to 1.26.
 */
int go_file_heap(struct go_file *file, struct go_heap *out)
{
	static const char method[] = "runtime.(*gcControllerState).startCycle";
	struct code code;
	int64_t cleared[2];
	int n = 0;

	out->controller = receiver(file, "runtime.gcStart", method);
	if (!out->controller || !code_named(file, method, &code))
		return -ENOENT;
	while (n < 2 && code_step(&code))
		if (code.insn.mnemonic == ZYDIS_MNEMONIC_XCHG &&
		    code_is_memory(&code, 0, ZYDIS_REGISTER_RAX) && code.operands[0].size == 64)
			cleared[n++] = code.operands[0].mem.disp.value;
	if (n < 2 || cleared[1] != cleared[0] + 8 || cleared[0] < 56 || cleared[0] > 4096)
		return -ENOENT;
	out->in_use = (uint32_t)cleared[0] - 56;
	out->reachable = (uint32_t)cleared[0] - 8;
	return 0;
}

/* --- goroutines, and the heap profile ----------------------------------------------------- */

/* Is a register loaded from this memory? */
static bool is_load(const struct code *code, ZydisRegister *to)
{
	if (code->insn.mnemonic != ZYDIS_MNEMONIC_MOV || code->n_operands != 2 ||
	    code->operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    code->operands[1].type != ZYDIS_OPERAND_TYPE_MEMORY || code->operands[1].size != 64)
		return false;
	*to = code->operands[0].reg.value;
	return true;
}

/* Is something stored to a word of the object at `base`? */
static bool is_store(const struct code *code, ZydisRegister base)
{
	return code->insn.mnemonic == ZYDIS_MNEMONIC_MOV && code_is_memory(code, 0, base) &&
	       code->operands[0].size == 64;
}

/* A function that loads the thread of its goroutine and stores a text there: first the length, then
 * the address before it. */
static int find_stop(struct go_file *file, const char *function, struct go_stop *out)
{
	ZydisRegister thread = ZYDIS_REGISTER_NONE, to;
	int64_t length = 0;
	struct code code;

	if (!code_named(file, function, &code))
		return -ENOENT;
	while (code_step(&code)) {
		if (is_load(&code, &to) && code_is_memory(&code, 1, ZYDIS_REGISTER_R14)) {
			thread = to;
			length = 0;
			out->thread = (uint32_t)code.operands[1].mem.disp.value;
		} else if (thread != ZYDIS_REGISTER_NONE && is_store(&code, thread)) {
			out->reason = (uint32_t)code.operands[0].mem.disp.value;
			if (length && (int64_t)out->reason == length - 8)
				return 0;
			length = out->reason;
		}
	}
	return -ENOENT;
}

int go_file_stop(struct go_file *file, struct go_stop *out)
{
	/* The linker leaves the first out where nothing but the collector stops the world. */
	int err = find_stop(file, "runtime.stopTheWorld", out);

	return err ? find_stop(file, "runtime.gcMarkTermination", out) : 0;
}

/* mov %fs:x,%reg; in position-independent code mov $x,%base; mov %fs:(%base),%reg. */
static bool loads_local(struct code *code, int64_t *distance, ZydisRegister *to)
{
	ZydisRegister base = ZYDIS_REGISTER_NONE;

	if (code->insn.mnemonic == ZYDIS_MNEMONIC_MOV && code->n_operands == 2 &&
	    code->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    code->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		base = code->operands[0].reg.value;
		*distance = code->operands[1].imm.value.s;
		if (!code_step(code))
			return false;
	}
	if (!is_load(code, to) || code->operands[1].mem.segment != ZYDIS_REGISTER_FS ||
	    code->operands[1].mem.base != base ||
	    code->operands[1].mem.index != ZYDIS_REGISTER_NONE)
		return false;
	if (base == ZYDIS_REGISTER_NONE)
		*distance = code->operands[1].mem.disp.value;
	return base == ZYDIS_REGISTER_NONE || !code->operands[1].mem.disp.value;
}

/* Is another word of the object at register `of` loaded? */
static bool loads_word(struct code *code, ZydisRegister *of, int32_t *offset)
{
	ZydisRegister to;

	if (!code_step(code) || !is_load(code, &to) || !code_is_memory(code, 1, *of) ||
	    code->operands[1].mem.segment == ZYDIS_REGISTER_FS)
		return false;
	*of = to;
	*offset = (int32_t)code->operands[1].mem.disp.value;
	return true;
}

/*
 * Where systemstack returns to the goroutine, it loads g, its m, the curg of that, and makes it g
 * again.
 */
static bool find_current(struct go_file *file, struct fiber_path *out)
{
	struct code code, ahead;
	ZydisRegister at;

	if (!code_named(file, "runtime.systemstack", &code))
		return false;
	while (code_step(&code)) {
		ahead = code;
		if (!loads_local(&ahead, &out->base, &at) ||
		    !loads_word(&ahead, &at, &out->steps[0]) ||
		    !loads_word(&ahead, &at, &out->steps[1]))
			continue;
		for (int i = 0; i < 2 && code_step(&ahead); i++)
			if (ahead.insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
			    code_is_register(&ahead, 1, at) &&
			    ahead.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			    ahead.operands[0].mem.segment == ZYDIS_REGISTER_FS)
				return true;
	}
	return false;
}

/* newproc1 takes the next id from its processor, stores it, and adds 1 to its source. */
static bool find_id(struct go_file *file, int32_t *offset)
{
	int64_t loaded = 0, taken = 0, stored = 0, found = 0;
	ZydisRegister loaded_to = ZYDIS_REGISTER_NONE, to;
	struct code code;

	if (!code_named(file, "runtime.newproc1", &code))
		return false;
	while (code_step(&code)) {
		const ZydisDecodedOperand *operands = code.operands;

		if (is_load(&code, &to) && operands[1].mem.base != ZYDIS_REGISTER_RSP) {
			loaded_to = to;
			loaded = operands[1].mem.disp.value;
		} else if (code.insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
			   operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			   operands[0].mem.base != ZYDIS_REGISTER_RSP &&
			   code_is_register(&code, 1, loaded_to)) {
			taken = loaded;
			stored = operands[0].mem.disp.value;
		} else if (code.insn.mnemonic == ZYDIS_MNEMONIC_INC &&
			   operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			   operands[0].size == 64 && taken && operands[0].mem.disp.value == taken) {
			if (found && found != stored)
				return false;
			found = stored;
		}
	}
	*offset = (int32_t)found;
	return found > 0;
}

int go_file_fiber(struct go_file *file, struct fiber_path *out)
{
	*out = (struct fiber_path){0};
	if (!find_current(file, out) || !find_id(file, &out->steps[2]))
		return -ENOENT;
	out->count = 3;
	return 0;
}

/* Offsets in a bucket, used by go_buckets.c. */
enum { BUCKET_NEXT = 8, BUCKET_KIND = 16, BUCKET_DEPTH = 40, BUCKET_STACK = 48 };

/* Checks the code for a bucket's counts: kind 1 is required, and they follow the stack. */
static bool has_layout(struct go_file *file)
{
	bool kind = false, depth = false, stack = false;
	struct code code;

	if (!code_named(file, "runtime.(*bucket).mp", &code))
		return false;
	while (code_step(&code)) {
		if (code.insn.mnemonic == ZYDIS_MNEMONIC_CMP &&
		    code_is_memory(&code, 0, ZYDIS_REGISTER_RAX))
			kind = code.operands[0].mem.disp.value == BUCKET_KIND &&
			       code.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			       code.operands[1].imm.value.s == 1;
		else if (code.insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
			 code_is_memory(&code, 1, ZYDIS_REGISTER_RAX))
			depth = code.operands[1].mem.disp.value == BUCKET_DEPTH;
		else if (code.insn.mnemonic == ZYDIS_MNEMONIC_LEA && depth &&
			 code_is_memory(&code, 1, ZYDIS_REGISTER_RAX))
			stack = code.operands[1].mem.disp.value == BUCKET_STACK;
	}
	return kind && depth && stack;
}

/* The first variable that mProf_FlushLocked reads; a step of its loop loads the next bucket. */
int go_file_buckets(struct go_file *file, uint64_t *list)
{
	uint64_t found = 0;
	bool steps = false;
	struct code code;
	ZydisRegister to;

	if (!has_layout(file) || !code_named(file, "runtime.mProf_FlushLocked", &code))
		return -ENOENT;
	while (code_step(&code)) {
		if (is_load(&code, &to) && !found)
			found = code_variable(&code, 1, 8);
		steps |= found && is_load(&code, &to) && code_is_memory(&code, 1, to) &&
			 code.operands[1].mem.disp.value == BUCKET_NEXT;
	}
	*list = found;
	return found && steps ? 0 : -ENOENT;
}
