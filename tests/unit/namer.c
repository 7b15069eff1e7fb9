// SPDX-License-Identifier: BSD-2-Clause
/* namer.c: tests of the process that finds names: its answers, its rights, its death. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "symbols_rig.h"
#include "record/namer.h"

enum { FRAMES = 600, OWN = 1, OTHER = 2 };

static struct {
	size_t answers, named;
	char last[256];
} seen;

static int take_names(void *context, const struct namer_frame *frame, const struct symbol *symbols,
		      size_t n)
{
	(void)context;
	CHECK_EQ(frame->frame, seen.answers + 1);
	seen.answers++;
	seen.named += n > 0;
	if (n)
		snprintf(seen.last, sizeof(seen.last), "%s", symbols[0].name);
	return 0;
}

static const char *const program[] = {
	"__attribute__((noipa)) int find_me(int n) { return n * 3; }",
	"int main(int n, char **words) { return find_me(n) + !words; }",
	NULL,
};

/* Two files with the same function, as modules OWN and OTHER; where it lies. */
static uint64_t make_modules(struct namer *namer)
{
	unsigned char id[BUILD_ID_MAX];
	int fd;

	rig_write("program.c", program);
	rig_run("gcc -g -O1 program.c -o program && cp program other");
	fd = open("program", O_RDONLY);
	CHECK(fd >= 0);
	/* By its descriptor alone: the path leads nowhere. */
	CHECK_EQ(namer_module(namer, OWN, "/nowhere", id, 0, fd), 0);
	CHECK_EQ(namer_module(namer, OTHER, rig_output("realpath other"), id, 0, -1), 0);
	return rig_offset("program", "find_me");
}

static void ask(struct namer *namer, uint64_t id, uint64_t module, uint64_t offset)
{
	struct namer_frame frame = {
		.frame = id, .space = NAMER_FILE, .owner = module, .place = offset};

	CHECK_EQ(namer_ask(namer, &frame), 0);
}

/* The first child of this process; 0 if it has none. */
static pid_t find_child(void)
{
	char path[64], text[64] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	CHECK(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	return (pid_t)strtol(text, NULL, 10);
}

TEST(names_come_in_the_order_of_questions)
{
	struct namer *namer;
	uint64_t offset, used;

	rig_enter();
	CHECK_EQ(namer_create(take_names, NULL, &namer), 0);
	used = namer_cpu_ns(namer);
	offset = make_modules(namer);
	for (uint64_t i = 1; i <= FRAMES; i++)
		ask(namer, i, i % 3, i % 5 ? offset : UINT64_MAX);
	CHECK_EQ(namer_turn(namer), 0);
	CHECK_EQ(namer_finish(namer), 0);
	CHECK_EQ(seen.answers, FRAMES);
	CHECK_EQ(seen.named, FRAMES * 2 / 3 * 4 / 5);
	CHECK_STR(seen.last, "find_me");
	CHECK_EQ(namer_failures(namer), 0);
	CHECK(namer_cpu_ns(namer) > used);
	namer_free(namer);
	rig_leave();
}

/* Files that cannot be read are counted once each, with those that are not the ones they were. */
TEST(files_that_cannot_be_read_are_counted)
{
	unsigned char id[BUILD_ID_MAX] = {1, 2, 3};
	struct namer *namer;
	uint64_t offset;

	rig_enter();
	CHECK_EQ(namer_create(take_names, NULL, &namer), 0);
	offset = make_modules(namer);
	CHECK_EQ(namer_module(namer, 3, rig_output("realpath program.c"), id, 0, -1), 0);
	CHECK_EQ(namer_module(namer, 4, rig_output("realpath other"), id, 20, -1), 0);
	CHECK_EQ(namer_module(namer, 5, "/nowhere", id, 0, -1), 0);
	CHECK_EQ(namer_module(namer, 6, "[uprobes]", id, 0, -1), 0);
	for (uint64_t i = 1; i <= 12; i++)
		ask(namer, i, (i - 1) % 6 + 1, offset);
	/* Nothing stands there, which is no fault of the file. */
	ask(namer, 13, OWN, UINT64_MAX);
	CHECK_EQ(namer_finish(namer), 0);
	CHECK_EQ(seen.answers, 13);
	CHECK_EQ(seen.named, 4);
	CHECK_EQ(namer_unread(namer), 3);
	CHECK_EQ(namer_failures(namer), 0);
	namer_free(namer);
	rig_leave();
}

TEST(the_process_has_no_rights)
{
	struct namer *namer;
	char command[128];

	if (geteuid())
		test_skip("there is nothing to lose");
	CHECK_EQ(namer_create(take_names, NULL, &namer), 0);
	/* An answer shows that it is past its start. */
	ask(namer, 1, 7, 0);
	CHECK_EQ(namer_finish(namer), 0);
	snprintf(command, sizeof(command),
		 "awk '/^(Uid|Groups|CapEff|NoNewPrivs|Seccomp):/ {printf \"%%s %%s \", $1, $2}' "
		 "/proc/%d/status",
		 find_child());
	CHECK_STR(rig_output(command),
		  "Uid: 65534 Groups:  CapEff: 0000000000000004 NoNewPrivs: 1 Seccomp: 2 ");
	/* The kernel's symbols, opened before it lost its rights, may be still to be read. */
	snprintf(command, sizeof(command),
		 "find /proc/%d/fd -type l ! -lname /proc/kallsyms | wc -l", find_child());
	CHECK_EQ(strtol(rig_output(command), NULL, 10), 4);
	namer_free(namer);
	CHECK_EQ(find_child(), 0);
}

TEST(a_process_that_dies_is_replaced)
{
	struct namer *namer;
	uint64_t offset, used;
	pid_t first;

	rig_enter();
	CHECK_EQ(namer_create(take_names, NULL, &namer), 0);
	offset = make_modules(namer);
	first = find_child();
	CHECK(first > 0);
	used = namer_cpu_ns(namer);
	CHECK(used > 0);
	CHECK_EQ(kill(first, SIGKILL), 0);
	for (uint64_t i = 1; i <= FRAMES; i++)
		ask(namer, i, i % 2 ? OWN : OTHER, offset);
	CHECK_EQ(namer_finish(namer), 0);
	/* The file of the first frame is to blame, as far as anybody can see. */
	CHECK_EQ(seen.answers, FRAMES);
	CHECK_EQ(seen.named, FRAMES / 2);
	CHECK_EQ(namer_failures(namer), 1);
	CHECK(namer_cpu_ns(namer) > used);
	namer_free(namer);
	rig_leave();
}

TEST(who_always_dies_is_given_up)
{
	struct namer *namer;
	pid_t child;

	CHECK_EQ(namer_create(take_names, NULL, &namer), 0);
	for (uint64_t i = 1; i <= 100; i++)
		ask(namer, i, OWN, 0);
	for (int i = 0; i < 20000 && (child = find_child()) > 0; i++) {
		kill(child, SIGKILL);
		CHECK_EQ(namer_turn(namer), 0);
		usleep(500);
	}
	CHECK_EQ(namer_finish(namer), 0);
	CHECK_EQ(find_child(), 0);
	namer_free(namer);
}
