// SPDX-License-Identifier: BSD-2-Clause
/* go_file.c: tests of what is found in the files of Go programs, stripped or not, damaged or not.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbols_rig.h"
#include "runtimes/go/file.h"
#include "symbols/elf_file.h"
#include "symbols/unwind.h"

static const char *const program[] = {
	"package main",
	"import \"os\"",
	"type node struct { left, right *node; value [4]int64 }",
	"var keep *node",
	"//go:noinline",
	"func makeNode(i int) *node { return link(i) }",
	"func link(i int) *node {",
	"	n := &node{left: keep}",
	"	keep = n",
	"	return n",
	"}",
	"func main() { makeNode(len(os.Args)) }",
	NULL,
};

/* "plain" has symbols; "bare" is the same without. */
static void build(const char *flags)
{
	char command[256];

	if (system("command -v go >/dev/null 2>&1") != 0)
		test_skip("there is no Go compiler");
	rig_enter();
	rig_write("program.go", program);
	snprintf(command, sizeof(command),
		 "GO111MODULE=off GOFLAGS= go build %s -o plain program.go", flags);
	rig_run(command);
	rig_run("strip -s -o bare plain");
}

struct opened {
	int fd;
	Elf *elf;
	struct go_file *file;
};

static int open_go(const char *path, struct opened *out)
{
	struct problem problem = {""};

	*out = (struct opened){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	CHECK(out->fd >= 0);
	out->elf = elf_open(out->fd);
	CHECK(out->elf != NULL);
	return go_file_open(out->elf, &out->file, &problem);
}

static void close_go(struct opened *opened)
{
	go_file_free(opened->file);
	elf_end(opened->elf);
	close(opened->fd);
}

static uint64_t symbol(const char *name)
{
	char command[256];

	snprintf(command, sizeof(command), "nm plain | awk '$3 == \"%s\" {print $1}'", name);
	return strtoull(rig_output(command), NULL, 16);
}

/* Where symbols say that it is, of a file that has none. */
static void check_settings(void)
{
	uint64_t types, types_end, list;
	struct go_special special;
	struct go_sampler sampler;
	struct fiber_path fiber;
	struct go_heap heap;
	struct opened bare;

	CHECK_EQ(open_go("bare", &bare), 0);
	CHECK_EQ(go_file_sampler(bare.file, &sampler), 0);
	CHECK_EQ(sampler.rate, symbol("runtime.MemProfileRate"));
	CHECK_EQ(sampler.off, symbol("runtime.disableMemoryProfiling"));
	CHECK_EQ(go_file_heap(bare.file, &heap), 0);
	CHECK_EQ(heap.controller, symbol("runtime.gcController"));
	CHECK_EQ(heap.reachable, heap.in_use + 48);
	CHECK_EQ(go_file_special(bare.file, &special), 0);
	CHECK(special.value >= 2 && special.value <= 4);
	CHECK_EQ(go_file_fiber(bare.file, &fiber), 0);
	CHECK_EQ(fiber.count, 3);
	CHECK_EQ(go_file_buckets(bare.file, &list), 0);
	CHECK_EQ(list, symbol("runtime.mbuckets"));
	CHECK_EQ(fiber.base, -8);
	go_table_types(go_file_table(bare.file), &types, &types_end);
	CHECK_EQ(types, symbol("runtime.types"));
	CHECK_EQ(types_end, symbol("runtime.etypes"));
	close_go(&bare);
	rig_leave();
}

TEST(settings_are_where_symbols_say)
{
	build("");
	check_settings();
}

TEST(settings_of_programs_that_are_loaded_anywhere_are_where_symbols_say)
{
	build("-buildmode=pie");
	check_settings();
}

TEST(a_system_linker_hides_the_table)
{
	if (system("command -v gcc >/dev/null 2>&1") != 0)
		test_skip("there is no C compiler");
	build("-buildmode=pie -ldflags=-linkmode=external");
	check_settings();
}

TEST(versions_and_types_are_known)
{
	struct go_caller callers[4];
	struct opened bare;

	build("");
	CHECK_EQ(open_go("bare", &bare), 0);
	CHECK_STR(go_table_version(go_file_table(bare.file)),
		  rig_output("go env GOVERSION") + strlen("go"));
	CHECK_EQ(go_file_callers(bare.file, callers, 4), 1);
	CHECK(callers[0].place != GO_TYPE_NOWHERE && callers[0].end > callers[0].begin);
	CHECK_EQ(go_file_callers(bare.file, callers, 0), -ENOENT);
	close_go(&bare);
	/* As linkers leave it that put it among the data. */
	rig_run("objcopy --rename-section .go.buildinfo=.others bare moved");
	CHECK_EQ(open_go("moved", &bare), 0);
	CHECK_STR(go_table_version(go_file_table(bare.file)),
		  rig_output("go env GOVERSION") + strlen("go"));
	close_go(&bare);
	rig_leave();
}

/* 0: nothing is loaded there. */
static unsigned char byte_at(const struct opened *opened, uint64_t address)
{
	uint64_t size;
	const uint8_t *at = go_table_bytes(go_file_table(opened->file), address, &size);

	return at ? *at : 0;
}

/* What comes before a place: a short or a long jbe. */
TEST(places_lie_behind_the_check_of_the_stack)
{
	static const char *const names[] = {
		"runtime.profilealloc",
		"runtime.freeSpecial",
		"runtime.(*gcControllerState).startCycle",
		"runtime.gcSweep",
		"runtime.stopTheWorldWithSema",
	};
	struct go_function function;
	struct opened bare;
	uint64_t at;

	build("");
	CHECK_EQ(open_go("bare", &bare), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CHECK(go_table_named(go_file_table(bare.file), names[i], &function));
		CHECK_EQ(function.address, symbol(names[i]));
		CHECK_EQ(go_file_behind_check(bare.file, function.address, &at), 0);
		CHECK(at > function.address && at < function.address + function.size);
		/* The jump itself, or, of compilers that push the frame pointer next, behind it. */
		CHECK(byte_at(&bare, at) == 0x76 ||
		      (byte_at(&bare, at) == 0x0f && byte_at(&bare, at + 1) == 0x86) ||
		      (byte_at(&bare, at) == 0x55 &&
		       (byte_at(&bare, at - 2) == 0x76 ||
			(byte_at(&bare, at - 6) == 0x0f && byte_at(&bare, at - 5) == 0x86))));
	}
	/* One without a check begins where it begins; assembler is no place. */
	CHECK(go_table_named(go_file_table(bare.file), "runtime.nanotime1", &function));
	CHECK_EQ(go_file_behind_check(bare.file, function.address, &at), 0);
	CHECK_EQ(at, function.address);
	CHECK_EQ(go_file_behind_check(bare.file, function.address + 1, &at), -ENOENT);
	close_go(&bare);
	rig_leave();
}

/* The rule so many bytes behind the begin of a function. */
static struct unwind_rule rule_at(const struct opened *opened, const struct unwind_file *file,
				  const char *name, uint64_t offset)
{
	struct go_function function;

	CHECK(go_table_named(go_file_table(opened->file), name, &function));
	return *unwind_find(file, function.address + offset);
}

TEST(functions_that_go_to_another_stack_lead_to_their_callers)
{
	struct opened bare;
	struct unwind_file *file;
	struct unwind_rule rule;

	build("");
	CHECK_EQ(open_go("bare", &bare), 0);
	CHECK_EQ(unwind_read_go(bare.fd, &file), 0);
	rule = rule_at(&bare, file, "runtime.systemstack", 8);
	CHECK_EQ(rule.ra, UNWIND_FIBER);
	CHECK(rule.bp_offset > rule.ra_offset && rule.ra_offset == rule.cfa_add + 8);
	CHECK_EQ(rule_at(&bare, file, "runtime.mcall", 8).ra, UNWIND_STOP);
	CHECK_EQ(rule_at(&bare, file, "runtime.goexit", 1).ra, UNWIND_STOP);
	/* sub, mov and lea of its prologue have 14 bytes. */
	CHECK_EQ(rule_at(&bare, file, "runtime.nanotime1", 13).cfa, UNWIND_CFA_SP);
	CHECK_EQ(rule_at(&bare, file, "runtime.nanotime1", 14).cfa,
		 UNWIND_CFA_BP | UNWIND_CFA_SIGNAL);
	CHECK_EQ(rule_at(&bare, file, "runtime.asmcgocall", 20).cfa,
		 UNWIND_CFA_BP | UNWIND_CFA_SIGNAL);
	unwind_free(file);
	close_go(&bare);
	rig_leave();
}

TEST(returns_are_found)
{
	struct go_function function;
	struct opened bare;
	uint64_t at[16];
	int n;

	build("");
	CHECK_EQ(open_go("bare", &bare), 0);
	CHECK(go_table_named(go_file_table(bare.file), "runtime.startTheWorldWithSema", &function));
	n = go_file_returns(bare.file, function.address, at, 16);
	CHECK(n > 0);
	for (int i = 0; i < n; i++)
		CHECK_EQ(byte_at(&bare, at[i]), 0xc3);
	CHECK_EQ(go_file_returns(bare.file, function.address, at, 0), -ENOENT);
	close_go(&bare);
	rig_leave();
}

static struct symbol find_last(const struct opened *opened, const char *name, size_t *n)
{
	struct symbol found[SYMBOLS_MAX] = {{0}};
	struct go_function function;

	CHECK(go_table_named(go_file_table(opened->file), name, &function));
	/* The function that is inlined ends it; its own first instructions are the check. */
	for (uint64_t at = function.address; at < function.address + function.size; at++) {
		*n = go_table_find(go_file_table(opened->file), at, found);
		if (*n > 1)
			break;
	}
	CHECK_STR(found[0].name, name);
	return found[*n - 1];
}

TEST(stripped_programs_have_names_lines_and_inlined_functions)
{
	struct symbol symbol;
	struct opened bare;
	uint64_t offset;
	size_t n;

	build("");
	offset = rig_offset("plain", "main.makeNode");
	rig_expect("bare", offset + 4, "main.makeNode");
	CHECK_EQ(open_go("bare", &bare), 0);
	symbol = find_last(&bare, "main.makeNode", &n);
	CHECK_EQ(n, 2);
	CHECK_STR(symbol.name, "main.link");
	CHECK(symbol.line >= 7 && symbol.line <= 10);
	CHECK_STR(strrchr(symbol.file, '/'), "/program.go");
	close_go(&bare);
	rig_leave();
}

/* The number of the type with this name; 0: there is none. */
static uint64_t find_type(const struct opened *opened, const char *wanted)
{
	const struct go_table *table = go_file_table(opened->file);
	uint64_t begin, end;
	char name[64];
	bool plain;

	go_table_types(table, &begin, &end);
	for (uint64_t number = 32; number < end - begin; number += 32)
		if (go_table_type_name(table, number, name, sizeof(name), &plain) &&
		    strcmp(name, wanted) == 0)
			return number;
	return 0;
}

TEST(types_have_names)
{
	struct opened bare;
	uint64_t number;
	char name[5];
	bool plain;

	build("");
	CHECK_EQ(open_go("bare", &bare), 0);
	CHECK(find_type(&bare, "main.node") > 0);
	CHECK(find_type(&bare, "*main.node") > 0);
	number = find_type(&bare, "main.node");
	CHECK_EQ(go_table_type_name(go_file_table(bare.file), number, name, sizeof(name), &plain),
		 4);
	CHECK_STR(name, "main");
	CHECK(!plain);
	CHECK_EQ(go_table_type_name(go_file_table(bare.file), UINT64_MAX, name, sizeof(name),
				    &plain),
		 0);
	CHECK_EQ(
		go_table_type_name(go_file_table(bare.file), INT64_MAX, name, sizeof(name), &plain),
		0);
	CHECK(go_table_type_name(go_file_table(bare.file), GO_TYPE_NONE, name, sizeof(name),
				 &plain) > 0);
	CHECK(plain);
	close_go(&bare);
	rig_leave();
}

TEST(other_programs_are_none_of_Go)
{
	struct opened opened;

	CHECK_EQ(open_go("/proc/self/exe", &opened), -ENOENT);
	close_go(&opened);
}

/* --- damage ------------------------------------------------------------------------------- */

static void use(const char *path)
{
	struct symbol found[SYMBOLS_MAX];
	struct go_function function;
	struct go_caller callers[4];
	struct fiber_path fiber;
	uint64_t list;
	struct go_special special;
	struct go_sampler sampler;
	struct opened opened;
	struct go_heap heap;
	uint64_t at[4];
	char name[64];
	bool plain;

	if (open_go(path, &opened) == 0) {
		const struct go_table *table = go_file_table(opened.file);

		(void)go_file_sampler(opened.file, &sampler);
		(void)go_file_callers(opened.file, callers, 4);
		(void)go_file_fiber(opened.file, &fiber);
		(void)go_file_buckets(opened.file, &list);
		(void)go_file_special(opened.file, &special);
		(void)go_file_heap(opened.file, &heap);
		for (size_t i = 0; i < 4000 && go_table_function(table, i, &function); i += 7) {
			(void)go_table_find(table, function.address + i % 64, found);
			(void)go_file_behind_check(opened.file, function.address, at);
			(void)go_file_returns(opened.file, function.address, at, 4);
			(void)go_table_type_name(table, i * 32, name, sizeof(name), &plain);
		}
	}
	close_go(&opened);
}

/* Where a section of "bare" is in the file. */
static void find_section(const char *name, uint64_t *offset, uint64_t *size)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "readelf -SW bare | sed 's/^ *\\[ *[0-9]*\\]//' | awk '$1 == \"%s\" {print $4, "
		 "$5}'",
		 name);
	CHECK_EQ(sscanf(rig_output(command), "%" SCNx64 " %" SCNx64, offset, size), 2);
}

TEST(damaged_files_do_no_harm)
{
	static const char *const sections[] = {".gopclntab", ".noptrdata", ".rodata",
					       ".go.buildinfo"};
	uint64_t seed = test_seed(), offset, size;
	int fd;

	build("");
	for (int round = 0; round < 60; round++) {
		rig_run("cp bare damaged");
		find_section(sections[round % 4], &offset, &size);
		/* Each second one near the begin, where the counts are. */
		size = round / 4 % 2 && size > 4096 ? 4096 : size;
		fd = open("damaged", O_WRONLY | O_CLOEXEC);
		CHECK(fd >= 0);
		for (int i = 0; i < 1 << round % 9; i++) {
			const uint64_t word = test_random(&seed);
			const size_t bytes = 1 + word % 8;

			CHECK_EQ(pwrite(fd, &word, bytes,
					(off_t)(offset + test_random(&seed) % (size - 8))),
				 bytes);
		}
		close(fd);
		use("damaged");
	}
	rig_leave();
}
