/* SPDX-License-Identifier: BSD-2-Clause */
/* symbolizer.c: tests of finding names by readers: their answers, rights, deaths and limits. */
/* Plain: workers have their limits only without sanitizers. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "symbols_rig.h"
#include "record/opener/opener.h"
#include "record/symbolize/symbolizer.h"

static struct opener *opener;
static struct symbolizer *symbolizer;

enum { FRAMES = 600, OWN = 1, OTHER = 2 };

static struct {
	size_t answers, named;
	bool seen[FRAMES + 1];
	char last[256];
} seen;

static int take_names(void *context, const struct symbol_frame *frame, const struct symbol *symbols,
		      size_t n)
{
	(void)context;
	if (frame->frame > FRAMES)
		abort();
	CHECK(!seen.seen[frame->frame]);
	seen.seen[frame->frame] = true;
	seen.answers++;
	seen.named += n > 0;
	if (n)
		snprintf(seen.last, sizeof(seen.last), "%s", symbols[0].name);
	return 0;
}

static void start(void)
{
	CHECK_EQ(opener_create(true, &opener), 0);
	CHECK_EQ(symbolizer_create(opener, take_names, NULL, &symbolizer), 0);
}

static void finish(void)
{
	CHECK_EQ(symbolizer_finish(symbolizer, UINT64_C(60000000000)), 0);
}

static void stop(void)
{
	symbolizer_free(symbolizer);
	opener_free(opener);
}

static const char *const program[] = {
	"__attribute__((noipa)) int find_me(int n) { return n * 3; }",
	"int main(int n, char **words) { return find_me(n) + !words; }",
	NULL,
};

/* A file that frames may lie in. */
static struct symbol_file open_module(const char *path)
{
	return (struct symbol_file){
		.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC), .debug_fd = -1};
}

static struct symbol_file files[3];

/* Two files with the same function, as modules OWN and OTHER; where it lies. */
static uint64_t make_modules(void)
{
	rig_write("program.c", program);
	rig_run("gcc -g -O1 program.c -o program && cp program other");
	files[OWN] = open_module("program");
	files[OTHER] = open_module("other");
	return rig_offset("program", "find_me");
}

static void ask(uint64_t id, uint64_t module, uint64_t offset, const struct symbol_file *file)
{
	struct symbol_frame frame = {
		.frame = id, .space = SYMBOL_FILE, .owner = module, .place = offset};

	CHECK_EQ(symbolizer_ask(symbolizer, &frame, file), 0);
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

TEST(every_question_has_one_answer)
{
	uint64_t offset;

	rig_enter();
	start();
	offset = make_modules();
	for (uint64_t i = 1; i <= FRAMES; i++)
		ask(i, 1 + i % 2, i % 5 ? offset : UINT64_MAX, &files[1 + i % 2]);
	CHECK_EQ(symbolizer_turn(symbolizer), 0);
	finish();
	CHECK_EQ(seen.answers, FRAMES);
	CHECK_EQ(seen.named, FRAMES * 4 / 5);
	CHECK_STR(seen.last, "find_me");
	CHECK_EQ(symbolizer_failures(symbolizer), 0);
	stop();
	rig_leave();
}

static int count_names(void *context, const struct symbol_frame *frame,
		       const struct symbol *symbols, size_t n)
{
	(void)context, (void)symbols;
	seen.answers += frame->user == 1000;
	seen.named += n > 0;
	return 0;
}

/* Frames may come faster than readers name them: none of one user keep others from their names. */
TEST(frames_of_a_user_beyond_a_share_are_answered_at_once)
{
	struct symbol_frame frame = {.space = SYMBOL_FILE, .owner = OWN, .user = 1000};
	uint64_t i = 0;

	rig_enter();
	CHECK_EQ(opener_create(true, &opener), 0);
	CHECK_EQ(symbolizer_create(opener, count_names, NULL, &symbolizer), 0);
	frame.place = make_modules();
	while (i++ < 1 << 18 && !seen.answers)
		CHECK_EQ(symbolizer_ask(symbolizer, &frame, &files[OWN]), 0);
	CHECK_EQ(seen.answers, 1);
	CHECK_EQ(seen.named, 0);
	frame.user = 1001;
	frame.owner = OTHER;
	for (i = 0; i < 1000; i++)
		CHECK_EQ(symbolizer_ask(symbolizer, &frame, &files[OTHER]), 0);
	CHECK_EQ(symbolizer_turn(symbolizer), 0);
	finish();
	CHECK(seen.named > 100000);
	CHECK(symbolizer_is_done(symbolizer));
	frame.user = 1000;
	seen.answers = 0;
	CHECK_EQ(symbolizer_ask(symbolizer, &frame, &files[OTHER]), 0);
	CHECK_EQ(seen.answers, 0);
	stop();
	rig_leave();
}

/* Files that cannot be read are counted once each, with those that are not the ones they were. */
TEST(files_that_cannot_be_read_are_counted)
{
	struct symbol_file text, stale, mapping = {.path = "[uprobes]", .fd = -1, .debug_fd = -1};
	uint64_t offset;

	rig_enter();
	start();
	offset = make_modules();
	text = open_module("program.c");
	stale = open_module("other");
	stale.build_id = (const unsigned char *)"12345678901234567890";
	stale.build_id_size = 20;
	for (uint64_t i = 1; i <= 12; i += 4) {
		ask(i, OWN, offset, &files[OWN]);
		ask(i + 1, 3, offset, &text);
		ask(i + 2, 4, offset, &stale);
		ask(i + 3, 5, offset, &mapping);
	}
	/* Nothing stands there, which is no fault of the file. */
	ask(13, OWN, UINT64_MAX, &files[OWN]);
	finish();
	CHECK_EQ(seen.answers, 13);
	CHECK_EQ(seen.named, 3);
	CHECK_EQ(symbolizer_unread(symbolizer), 2);
	CHECK_EQ(symbolizer_failures(symbolizer), 0);
	stop();
	rig_leave();
}

/* Asks for a name that only a debug file has, of which the command changes the rights. */
static void find_in_debug_file(const char *change)
{
	uint64_t offset;
	char command[256];

	rig_enter();
	offset = make_modules();
	snprintf(command, sizeof(command),
		 "objcopy --only-keep-debug program program.debug && strip program && "
		 "objcopy --add-gnu-debuglink=program.debug program && %s program.debug",
		 change);
	rig_run(command);
	start();
	files[OWN] = open_module("program");
	ask(1, OWN, offset, &files[OWN]);
	finish();
	stop();
	rig_leave();
}

TEST(debug_files_are_opened_for_the_reader)
{
	find_in_debug_file("chmod 644");
	CHECK_STR(seen.last, "find_me");
}

/* What another user alone may read is not opened because a file names it. */
TEST(secret_files_are_not_opened_for_the_reader)
{
	if (geteuid())
		test_skip("only root has files of others");
	find_in_debug_file("chown 12345 program.debug && chmod 600");
	CHECK(strcmp(seen.last, "find_me") != 0);
}

TEST(the_reader_has_no_rights)
{
	struct symbol_frame frame = {.frame = 1, .space = SYMBOL_FILE, .owner = 7};
	struct symbol_file none = {.path = "[none]", .fd = -1, .debug_fd = -1};
	char command[512];

	if (geteuid())
		test_skip("there is nothing to lose");
	start();
	/* An answer shows that it is past its start. */
	CHECK_EQ(symbolizer_ask(symbolizer, &frame, &none), 0);
	finish();
	snprintf(command, sizeof(command),
		 "awk '/^(Uid|Groups|CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):/ "
		 "{printf \"%%s %%s \", $1, ($2 >= 1879048192 ? \"own\" : $2)}' /proc/%d/status",
		 find_child());
	CHECK_STR(rig_output(command),
		  "Uid: own Groups:  CapPrm: 0000000000000000 CapEff: 0000000000000000 "
		  "CapBnd: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 ");
#ifndef __SANITIZE_ADDRESS__ /* which has standard error, too */
	snprintf(command, sizeof(command), "ls /proc/%d/fd | tr '\n' ' '", find_child());
	CHECK_STR(rig_output(command), "0 ");
#endif
	snprintf(command, sizeof(command),
		 "grep -cE '^[^ ]+ .w.s ' /proc/%d/maps || :", find_child());
	CHECK_STR(rig_output(command), "0");
	stop();
}

TEST(a_reader_that_is_killed_is_replaced)
{
	uint64_t offset;
	pid_t child;

	rig_enter();
	start();
	offset = make_modules();
	for (uint64_t i = 1; i <= FRAMES; i++) {
		ask(i, 1 + i % 2, offset, &files[1 + i % 2]);
		CHECK_EQ(symbolizer_turn(symbolizer), 0);
		child = i % 20 ? 0 : find_child();
		if (child > 0)
			kill(child, SIGKILL);
	}
	finish();
	/* No file is to blame for that. */
	CHECK_EQ(seen.answers, FRAMES);
	CHECK_EQ(seen.named, FRAMES);
	CHECK_EQ(symbolizer_failures(symbolizer), 0);
	stop();
	rig_leave();
}
