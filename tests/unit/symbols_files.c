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
