// SPDX-License-Identifier: BSD-2-Clause
/* symbols_files.c: tests of names that a file has elsewhere: debug files, MiniDebugInfo, stubs. */
#include <stdlib.h>
#include <unistd.h>

#include "test.h"
#include "symbols_rig.h"

static const char *const program[] = {
	"#include <stdio.h>",
	"#include <stdlib.h>",
	"static __attribute__((noinline)) int hidden(int n) { return puts(\"x\") * n; }",
	"__attribute__((visibility(\"default\"))) int shown(int n) { return hidden(n) + 1; }",
	"int main(int argc, char **argv) { return argc > 5 ? shown(atoi(argv[1])) : 0; }",
	NULL,
};

static void build(void)
{
	rig_enter();
	rig_write("program.c", program);
	rig_run("gcc -g -O1 -rdynamic -Wl,--build-id program.c -o full");
}

/* Linkers write a symbol's version behind its name, which is no part of it. */
TEST(versions_are_no_part_of_names)
{
	static const char *const lines[] = {
		"int new_find(int n) { return n * 3; }",
		"int new_pretty(int n) { return n * 5; }",
		"__asm__(\".symver new_find,find@@V_1,remove\");",
		"__asm__(\".symver new_pretty,_Z6prettyi@V_1,remove\");",
		NULL,
	};

	rig_enter();
	rig_write("library.c", lines);
	rig_run("echo 'V_1 { global: find; _Z6prettyi; local: *; };' >versions");
	rig_run("gcc -O1 -shared -fPIC -Wl,--version-script=versions library.c -o library.so");
	rig_expect("library.so", rig_offset("library.so", "find@@V_1"), "find");
	rig_expect("library.so", rig_offset("library.so", "_Z6prettyi@V_1"), "pretty(int)");
	rig_leave();
}

TEST(debug_files_are_found_by_link)
{
	uint64_t offset;

	build();
	offset = rig_offset("full", "hidden");
	rig_run("objcopy --only-keep-debug full program.debug");
	rig_run("strip -o bare full && objcopy --remove-section=.note.gnu.build-id bare");
	rig_expect("bare", offset, NULL);
	rig_expect("bare", rig_offset("full", "shown"), "shown");
	rig_run("objcopy --add-gnu-debuglink=program.debug bare");
	rig_expect("bare", offset + 1, "hidden");
	rig_run("mkdir .debug && mv program.debug .debug");
	rig_expect("bare", offset, "hidden");
	/* Another file of that name: the checksum tells. */
	rig_run("printf x >>.debug/program.debug");
	rig_expect("bare", offset, NULL);
	rig_run("rm .debug/program.debug && mkfifo .debug/program.debug");
	rig_expect("bare", offset, NULL);
	rig_leave();
}

TEST(debug_files_are_found_by_build_id)
{
	uint64_t offset;

	if (geteuid())
		test_skip("only root may put a file into /usr/lib/debug");
	build();
	offset = rig_offset("full", "hidden");
	rig_run("strip -o bare full");
	rig_expect("bare", offset, NULL);
	rig_run("id=$(readelf -n full | sed -n 's/.*Build ID: //p');"
		"dir=/usr/lib/debug/.build-id/$(echo $id | cut -c1-2);"
		"mkdir -p $dir && objcopy --only-keep-debug full $dir/$(echo $id | cut -c3-).debug;"
		"echo $dir/$(echo $id | cut -c3-).debug >place");
	rig_expect("bare", offset, "hidden");
	rig_run("rm $(cat place)");
	rig_leave();
}

TEST(packed_symbols_are_found)
{
	uint64_t offset;

	build();
	offset = rig_offset("full", "hidden");
	rig_run("objcopy -S full bare && objcopy --only-keep-debug full all.debug");
	rig_run("objcopy -S --keep-symbol=hidden all.debug mini.debug && xz -k mini.debug");
	rig_run("objcopy --add-section .gnu_debugdata=mini.debug.xz bare");
	rig_expect("bare", offset, "hidden");
	rig_expect("bare", rig_offset("full", "shown"), "shown");
	/* Something that unpacks to more than anybody needs, and something that does not unpack. */
	rig_run("head -c 200M /dev/zero | xz -0 >bomb.xz");
	rig_run("objcopy --update-section .gnu_debugdata=bomb.xz bare");
	rig_expect("bare", offset, NULL);
	rig_run("head -c 300 mini.debug.xz >torn.xz");
	rig_run("objcopy --update-section .gnu_debugdata=torn.xz bare");
	rig_expect("bare", offset, NULL);
	rig_expect("bare", rig_offset("full", "shown"), "shown");
	rig_leave();
}

/* The stub's address from the disassembly: "0000000000001030 <puts@plt>:". */
static uint64_t stub_offset(const char *section)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "objdump -d -j %s full | sed -n 's/^\\([0-9a-f]*\\) <puts@plt>:/0x\\1/p'",
		 section);
	return strtoull(rig_output(command), NULL, 16);
}

TEST(stubs_are_named_after_whom_they_call)
{
	uint64_t offset;

	build();
	offset = stub_offset(".plt");
	CHECK(offset > 0);
	rig_expect("full", offset, "puts@plt");
	rig_expect("full", offset + 6, "puts@plt");
	rig_run("gcc -g -O1 -fcf-protection -Wl,-z,ibtplt program.c -o full && strip full");
	offset = stub_offset(".plt.sec");
	CHECK(offset > 0);
	rig_expect("full", offset + 4, "puts@plt");
	rig_run("gcc -g -O1 -Wl,-z,now program.c -o full && strip full");
	offset = stub_offset(".plt");
	rig_expect("full", offset ? offset : stub_offset(".plt.got"), "puts@plt");
	rig_leave();
}

static const char *const inlining[] = {
	"volatile int sink;",
	"static inline __attribute__((always_inline)) int innermost(int n)",
	"{",
	"	__asm__ volatile(\".globl mark\\nmark: nop\");",
	"	return sink + n;",
	"}",
	"static inline __attribute__((always_inline)) int middle(int n)",
	"{",
	"	return innermost(n) * 3;",
	"}",
	"__attribute__((noipa)) int outer(int n)",
	"{",
	"	sink++;",
	"	return middle(n) + 1;",
	"}",
	"int main(void) { return outer(2); }",
	NULL,
};

struct place {
	const char *name;
	uint32_t line, begin;
};

/* Fails unless there are these functions at the offset, outermost first. */
static void expect_places(const char *file, uint64_t offset, const struct place *places, size_t n)
{
	struct symbol found[SYMBOLS_MAX];
	struct symbols *symbols;

	CHECK_EQ(symbols_create(NULL, &symbols), 0);
	CHECK_EQ(symbols_native(symbols, file, NULL, 0, offset, found), n);
	for (size_t i = 0; i < n; i++) {
		CHECK_STR(found[i].name, places[i].name);
		CHECK_EQ(found[i].line, places[i].line);
		CHECK_EQ(found[i].begin, places[i].begin);
		CHECK(found[i].file && strstr(found[i].file, "inlining.c"));
	}
	symbols_free(symbols);
}

static const struct place places[] = {{"outer", 14, 11}, {"middle", 9, 7}, {"innermost", 4, 2}};

TEST(inlined_functions_are_frames_with_lines)
{
	static const char *const flags[] = {"-gdwarf-4 -O2", "-gdwarf-5 -O2", "-gdwarf-5 -O1 -gz",
					    "-gdwarf-5 -O2 -flto -ffunction-sections"};
	char command[256];

	rig_enter();
	rig_write("inlining.c", inlining);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		snprintf(command, sizeof(command), "gcc %s inlining.c -o inlining", flags[i]);
		rig_run(command);
		expect_places("inlining", rig_offset("inlining", "mark"), places, 3);
	}
	rig_leave();
}

TEST(lines_come_from_debug_files)
{
	uint64_t offset;

	rig_enter();
	rig_write("inlining.c", inlining);
	rig_run("gcc -g -O2 inlining.c -o inlining");
	offset = rig_offset("inlining", "mark");
	rig_run("objcopy --only-keep-debug --compress-debug-sections inlining inlining.debug");
	rig_run("strip inlining && objcopy --add-gnu-debuglink=inlining.debug inlining");
	expect_places("inlining", offset, places, 3);
	rig_run("rm inlining.debug");
	rig_expect("inlining", offset, NULL);
	rig_leave();
}

/* dwz moves what both programs have to a file of its own. */
static uint64_t share(void)
{
	if (system("command -v dwz >/dev/null"))
		test_skip("dwz is not installed");
	rig_enter();
	rig_write("inlining.c", inlining);
	rig_run("gcc -gdwarf-5 -O2 inlining.c -o one && gcc -gdwarf-5 -O2 inlining.c -o two");
	return rig_offset("one", "mark");
}

TEST(what_debug_files_share_is_found_beside_them)
{
	uint64_t offset = share();

	rig_run("dwz -m shared.debug one two && readelf -SW one | grep -q gnu_debugaltlink");
	/* The names of inlined functions are in no other place. */
	rig_run("readelf --debug-dump=info one | grep -q 'alt indirect string'");
	expect_places("one", offset, places, 3);
	expect_places("two", rig_offset("two", "mark"), places, 3);
	/* Without it, and with another one of that name, there are symbols only. */
	rig_run("mv shared.debug moved && gcc -g -O2 inlining.c -o shared.debug");
	rig_expect("one", offset, "outer");
	rig_run("mv moved shared.debug");
	expect_places("one", offset, places, 3);
	rig_leave();
}

TEST(what_debug_files_share_is_found_where_distributions_keep_it)
{
	uint64_t offset;

	if (geteuid())
		test_skip("only root may put a file into /usr/lib/debug");
	offset = share();
	rig_run("mkdir -p /usr/lib/debug/.dwz && mktemp -u gcprof-XXXXXX.debug >name &&"
		"dwz -m shared.debug -M /usr/lib/debug/.dwz/$(cat name) one two");
	rig_expect("one", offset, "outer");
	rig_run("mv shared.debug /usr/lib/debug/.dwz/$(cat name)");
	expect_places("one", offset, places, 3);
	rig_run("rm /usr/lib/debug/.dwz/$(cat name)");
	rig_expect("one", offset, "outer");
	/* Names that lead out of there are not followed. */
	rig_run("gcc -gdwarf-5 -O2 inlining.c -o one && cp one two");
	rig_run("dwz -m shared.debug -M /usr/lib/debug/.dwz/../../../..$PWD/shared.debug one two");
	rig_expect("one", offset, "outer");
	rig_leave();
}

static const char *const program_cc[] = {
	"namespace shapes {",
	"template <typename T> struct box { T side; __attribute__((noipa)) T area(T by) const;",
	"	__attribute__((always_inline)) T twice(T by) const {",
	"		__asm__ volatile(\".globl mark\\nmark: nop\"); return area(by) * 2; } };",
	"template <typename T> T box<T>::area(T by) const { return side * by; }",
	"}",
	"int main(int n, char **) { shapes::box<int> box = {n}; return box.twice(3); }",
	NULL,
};

TEST(names_of_cplusplus_are_readable)
{
	struct symbol found[SYMBOLS_MAX];
	struct symbols *symbols;

	rig_enter();
	rig_write("program.cc", program_cc);
	rig_run("g++ -g -O2 program.cc -o program");
	rig_expect("program", rig_offset("program", "_ZNK6shapes3boxIiE4areaEi"),
		   "shapes::box<int>::area(int) const");
	CHECK_EQ(symbols_create(NULL, &symbols), 0);
	CHECK_EQ(symbols_native(symbols, "program", NULL, 0, rig_offset("program", "mark"), found),
		 2);
	CHECK_STR(found[0].name, "main");
	CHECK_STR(found[1].name, "shapes::box<int>::twice(int) const");
	symbols_free(symbols);
	rig_leave();
}

static const char *const program_rs[] = {
	"mod inner {",
	"    pub trait Area { fn area(&self) -> u64; }",
	"    impl Area for Vec<u64> {",
	"        #[inline(never)] fn area(&self) -> u64 { self.iter().sum() }",
	"    }",
	"}",
	"use inner::Area;",
	"fn main() {",
	"    let all: Vec<u64> = std::env::args().map(|a| a.len() as u64).collect();",
	"    std::process::exit((all.area() + all[1..].to_vec().area()) as i32);",
	"}",
	NULL,
};

TEST(names_of_rust_are_readable)
{
	static const char *const flags[] = {"", "-C symbol-mangling-version=v0"};
	static const char *const names[] = {"<alloc::vec::Vec<u64> as program::inner::Area>::area",
					    "<alloc::vec::Vec<u64> as program::inner::Area>::area"};
	char command[256];
	uint64_t offset;

	if (system("rustc --version >/dev/null 2>&1") != 0)
		test_skip("there is no rustc");
	rig_enter();
	rig_write("program.rs", program_rs);
	for (size_t i = 0; i < 2; i++) {
		snprintf(command, sizeof(command), "rustc -g -O %s program.rs -o program 2>log",
			 flags[i]);
		rig_run(command);
		offset = rig_offset("program", ".*inner.*Area.*area.*");
		rig_expect("program", offset, names[i]);
	}
	rig_leave();
}
