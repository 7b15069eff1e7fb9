/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_libdw.c: unwind rows of real files, compared with what libdw says at every byte. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbols_rig.h"
#include "symbols/unwind.h"

/* Registers and memory with values that are nothing but different. */
struct world {
	uint64_t sp, bp, bx, ip;
};

static uint64_t memory(uint64_t address)
{
	uint64_t z = address * UINT64_C(0x9e3779b97f4a7c15);

	return z ^ z >> 29;
}

struct values {
	uint64_t cfa, ra, bp, bx;
	bool stop;
};

static bool world_register(const struct world *world, unsigned number, uint64_t *out)
{
	*out = number == 7   ? world->sp
	       : number == 6 ? world->bp
	       : number == 3 ? world->bx
			     : world->ip;
	return number == 3 || number == 6 || number == 7 || number == 16;
}

/* A small DWARF machine; false for what it does not know. */
static bool evaluate(const struct world *world, uint64_t cfa, const Dwarf_Op *ops, size_t n,
		     uint64_t *out)
{
	uint64_t stack[16] = {0}, value;
	unsigned depth = 0;

	for (size_t i = 0; i < n && depth < 14; i++) {
		unsigned atom = ops[i].atom;

		if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
			if (!world_register(world, atom - DW_OP_breg0, &value))
				return false;
			stack[depth++] = value + ops[i].number;
		} else if (atom == DW_OP_bregx) {
			if (!world_register(world, (unsigned)ops[i].number, &value))
				return false;
			stack[depth++] = value + ops[i].number2;
		} else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
			stack[depth++] = atom - DW_OP_lit0;
		} else if (atom == DW_OP_call_frame_cfa) {
			stack[depth++] = cfa;
		} else if (atom == DW_OP_plus_uconst && depth) {
			stack[depth - 1] += ops[i].number;
		} else if (atom == DW_OP_deref && depth) {
			stack[depth - 1] = memory(stack[depth - 1]);
		} else if (depth >= 2 && (atom == DW_OP_and || atom == DW_OP_ge ||
					  atom == DW_OP_shl || atom == DW_OP_plus)) {
			uint64_t b = stack[--depth], a = stack[depth - 1];

			stack[depth - 1] = atom == DW_OP_and   ? (a & b)
					   : atom == DW_OP_ge  ? (int64_t)a >= (int64_t)b
					   : atom == DW_OP_shl ? a << (b & 63)
							       : a + b;
		} else {
			return false;
		}
	}
	if (!depth)
		return false;
	*out = stack[depth - 1];
	return true;
}

/* 1 a value, 0 no value (undefined), -1 nothing that this test can tell */
static int dw_register(Dwarf_Frame *frame, const struct world *world, uint64_t cfa, int number,
		       uint64_t *out)
{
	Dwarf_Op memory_of_ops[3], *ops;
	size_t n;
	uint64_t address;

	if (dwarf_frame_register(frame, number, memory_of_ops, &ops, &n))
		return -1;
	if (!n && ops == memory_of_ops)
		return 0;
	if (!n)
		return world_register(world, (unsigned)number, out) ? 1 : -1;
	if (ops[n - 1].atom == DW_OP_stack_value ||
	    (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_regx && ops[0].atom <= DW_OP_reg31))
		return -1;
	if (!evaluate(world, cfa, ops, n, &address))
		return -1;
	*out = memory(address);
	return 1;
}

static bool dw_values(Dwarf_Frame *frame, const struct world *world, struct values *out)
{
	Dwarf_Op *ops;
	size_t n;
	int ra = dw_register(frame, world, 0, 16, &out->ra);

	*out = (struct values){.stop = ra == 0};
	if (out->stop)
		return true;
	if (dwarf_frame_cfa(frame, &ops, &n) || !evaluate(world, 0, ops, n, &out->cfa))
		return false;
	if (dw_register(frame, world, out->cfa, 16, &out->ra) != 1)
		return false;
	out->bp = world->bp;
	if (dw_register(frame, world, out->cfa, 6, &out->bp) < 0)
		return false;
	out->bx = world->bx;
	dw_register(frame, world, out->cfa, 3, &out->bx);
	return true;
}

static uint64_t our_place(uint8_t kind, int16_t offset, const struct world *world, uint64_t cfa,
			  uint64_t same)
{
	switch (kind) {
	case UNWIND_AT_CFA:
		return memory(cfa + (uint64_t)(int64_t)offset);
	case UNWIND_AT_SP:
		return memory(world->sp + (uint64_t)(int64_t)offset);
	case UNWIND_AT_BP:
		return memory(world->bp + (uint64_t)(int64_t)offset);
	}
	return same;
}

static struct values our_values(const struct unwind_rule *rule, const struct world *world)
{
	struct values out = {.stop = rule->ra == UNWIND_STOP};
	uint64_t offset = (uint64_t)(int64_t)rule->cfa_offset;

	switch (rule->cfa & ~UNWIND_CFA_SIGNAL) {
	case UNWIND_CFA_SP:
		out.cfa = world->sp + offset;
		break;
	case UNWIND_CFA_BP:
		out.cfa = world->bp + offset;
		break;
	case UNWIND_CFA_BX:
		out.cfa = world->bx + offset;
		break;
	case UNWIND_CFA_SP_DEREF:
		out.cfa = memory(world->sp + offset) + (uint64_t)rule->cfa_add;
		break;
	case UNWIND_CFA_BP_DEREF:
		out.cfa = memory(world->bp + offset) + (uint64_t)rule->cfa_add;
		break;
	case UNWIND_CFA_BX_DEREF:
		out.cfa = memory(world->bx + offset) + (uint64_t)rule->cfa_add;
		break;
	case UNWIND_CFA_SP_DEREF_TWICE:
		out.cfa = memory(memory(world->sp + offset)) + (uint64_t)rule->cfa_add;
		break;
	case UNWIND_CFA_PLT:
		out.cfa = world->sp + 8 + ((world->ip & 15) >= offset ? 8 : 0);
		break;
	}
	out.ra = our_place(rule->ra, rule->ra_offset, world, out.cfa, 0);
	out.bp = our_place(rule->bp, rule->bp_offset, world, out.cfa, world->bp);
	out.bx = our_place(rule->bx, rule->bx_offset, world, out.cfa, world->bx);
	return out;
}

static bool agree(const struct values *a, const struct values *b)
{
	if (a->stop || b->stop)
		return a->stop == b->stop;
	return a->cfa == b->cfa && a->ra == b->ra && a->bp == b->bp && a->bx == b->bx;
}

struct agreement {
	uint64_t same, other, ours_missing, theirs_missing;
	uint64_t elsewhere; /* functions of Go that leave the stack: by rbp */
};

static void compare_at(Dwarf_CFI *cfi, const struct unwind_file *file, uint64_t address,
		       struct agreement *count)
{
	struct world world = {0x7ffc11223340, 0x7ffc11224450, 0x7ffc11225560, address};
	const struct unwind_rule *rule = unwind_find(file, address);
	Dwarf_Frame *frame = NULL;
	struct values theirs, ours;

	if (dwarf_cfi_addrframe(cfi, address, &frame))
		return; /* no function there */
	if (!dw_values(frame, &world, &theirs)) {
		count->theirs_missing++;
	} else if (rule->cfa == UNWIND_CFA_NONE) {
		count->ours_missing++;
	} else {
		ours = our_values(rule, &world);
		if (agree(&ours, &theirs))
			count->same++;
		else if (!count->other++)
			printf("first difference at %#" PRIx64 ": cfa %#" PRIx64 " %#" PRIx64 "\n",
			       address, ours.cfa, theirs.cfa);
	}
	free(frame);
}

/* Every `stride`th byte of the code of a file. */
static struct agreement compare(const char *path, uint64_t stride)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct agreement count = {0};
	struct unwind_file *file;
	Dwarf_CFI *cfi;
	Elf *elf;

	if (fd < 0)
		test_skip("a file is missing");
	CHECK_EQ(unwind_read(fd, &file), 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	cfi = dwarf_getcfi_elf(elf);
	CHECK(cfi != NULL);
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct unwind_segment *segment = &file->segments[i];

		for (uint64_t at = 0; at < segment->size; at += stride)
			compare_at(cfi, file, segment->address + at, &count);
	}
	printf("%s: %zu functions, %zu refused, %zu rows, %zu rules, %" PRIu64 " same, %" PRIu64
	       " other, %" PRIu64 " without rule, %" PRIu64 " that libdw has not\n",
	       path, file->functions, file->refused, file->n_rows, file->n_rules, count.same,
	       count.other, count.ours_missing, count.theirs_missing);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	unwind_free(file);
	return count;
}

static void check_agreement(const char *path, uint64_t stride)
{
	struct agreement count = compare(path, stride);

	CHECK(count.same > 1000);
	CHECK_EQ(count.other, 0);
	CHECK(count.ours_missing * 1000 <= count.same);
}

TEST(every_byte_of_this_program_agrees_with_libdw)
{
	check_agreement("/proc/self/exe", 1);
}

TEST(every_byte_of_libc_agrees_with_libdw)
{
	check_agreement("/lib/x86_64-linux-gnu/libc.so.6", 1);
}

TEST(every_byte_of_the_linker_agrees_with_libdw)
{
	check_agreement("/lib64/ld-linux-x86-64.so.2", 1);
}

TEST(libraries_agree_with_libdw)
{
	check_agreement("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 7);
	check_agreement("/usr/lib/x86_64-linux-gnu/libelf.so.1", 1);
	check_agreement("/usr/lib/x86_64-linux-gnu/libm.so.6", 1);
}

/* What Go's table says of the stack against its .debug_frame, which says nothing of rbp. */
static void compare_go(Dwarf_CFI *cfi, const struct unwind_file *file, uint64_t address,
		       struct agreement *count)
{
	struct world world = {0x7ffc11223340, 0x7ffc11224450, 0x7ffc11225560, address};
	const struct unwind_rule *rule = unwind_find(file, address);
	Dwarf_Frame *frame = NULL;
	struct values theirs, ours;

	if (dwarf_cfi_addrframe(cfi, address, &frame))
		return;
	ours = our_values(rule, &world);
	if (rule->cfa == UNWIND_CFA_NONE)
		count->ours_missing++;
	else if (rule->cfa != UNWIND_CFA_SP || (rule->ra != UNWIND_AT_CFA && !ours.stop))
		count->elsewhere++;
	else if (!ours.stop && dw_values(frame, &world, &theirs) && !theirs.stop) {
		bool same = ours.cfa == theirs.cfa && ours.ra == theirs.ra;

		count->same += same;
		count->other += !same;
	}
	free(frame);
}

TEST(go_s_table_agrees_with_its_frame_information)
{
	static const char *const source[] = {"package main", "import \"fmt\"",
					     "func main() { fmt.Println(\"hello\") }", NULL};
	struct agreement count = {0};
	struct unwind_file *file;
	Dwarf_CFI *cfi;
	Dwarf *dwarf;
	int fd;

	if (system("command -v go >/dev/null 2>&1") != 0)
		test_skip("there is no Go compiler");
	rig_enter();
	rig_write("hello.go", source);
	rig_run("GO111MODULE=off GOFLAGS= go build -ldflags=-compressdwarf=false -o whole "
		"hello.go");
	rig_run("GO111MODULE=off GOFLAGS= go build -ldflags='-s -w' -o bare hello.go");
	fd = open("bare", O_RDONLY | O_CLOEXEC);
	CHECK_EQ(unwind_read(fd, &file), 0);
	close(fd);
	fd = open("whole", O_RDONLY | O_CLOEXEC);
	dwarf = dwarf_begin(fd, DWARF_C_READ);
	CHECK(dwarf != NULL);
	cfi = dwarf_getcfi(dwarf);
	CHECK(cfi != NULL);
	for (size_t i = 0; i < file->n_segments; i++)
		for (uint64_t at = 0; at < file->segments[i].size; at++)
			compare_go(cfi, file, file->segments[i].address + at, &count);
	printf("%" PRIu64 " same, %" PRIu64 " other, %" PRIu64 " without rule\n", count.same,
	       count.other, count.ours_missing);
	CHECK(count.same > 300000);
	CHECK_EQ(count.other, 0);
	CHECK(count.elsewhere > 0 && count.elsewhere * 500 <= count.same);
	CHECK(count.ours_missing * 1000 <= count.same);
	dwarf_end(dwarf);
	close(fd);
	unwind_free(file);
}
