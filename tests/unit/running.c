/* SPDX-License-Identifier: BSD-2-Clause */
/* running.c: what is known of programs that run already: numbers, mappings, control blocks. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../gc/provider/frame.h"
#include "record/target/control.h"
#include "record/world/mappings.h"
#include "record/world/running.h"
#include "record/world/snapshot.h"
#include "test.h"

/* As a program that brings the collector along has it. */
extern struct gcprof_control gcprof_control;

TEST(mappings_that_are_there_are_recognized)
{
	struct mapping first = {.start = 0x1000, .end = 0x3000, .offset = 0x5000, .module = 3};
	struct mapping other = first;
	struct mappings *mappings = NULL;
	struct mappings_pool pool = {0};

	CHECK(!mappings_have(mappings, &first));
	CHECK_EQ(mappings_add(&mappings, &pool, &first), 0);
	other.time = 99;
	CHECK(mappings_have(mappings, &other));
	other.end = 0x2000;
	CHECK(!mappings_have(mappings, &other));
	other = first;
	other.module = 4;
	CHECK(!mappings_have(mappings, &other));
	CHECK_EQ(pool.used, 1);
	mappings_release(mappings);
	CHECK_EQ(pool.used, 0);
}

struct seen {
	unsigned count;
	bool own, other;
};

static void look(void *context, struct event_mmap *event, const char *path)
{
	struct seen *seen = context;
	uint64_t here = (uintptr_t)&look;

	seen->count++;
	CHECK_EQ(event->header.code, EVENT_mmap);
	CHECK_EQ(event->header.time, 4711);
	CHECK_EQ(event->header.tid, (uint32_t)getpid());
	CHECK_EQ(event->header.size % 8, 0);
	CHECK_EQ(event->name_size, strlen(path));
	CHECK(event->header.size >= sizeof(*event) + event->name_size);
	if (event->address <= here && here - event->address < event->length)
		seen->own = path[0] == '/' && event->inode;
	if (!strcmp(path, "[vdso]"))
		seen->other = !event->inode;
}

TEST(snapshot_tells_of_code_that_is_mapped)
{
	struct seen seen = {0};

	CHECK_EQ(snapshot_mappings((uint32_t)getpid(), 4711, look, &seen), 0);
	CHECK(seen.count > 2);
	CHECK(seen.own);
	CHECK(seen.other);
	CHECK_EQ(snapshot_mappings(4194303, 0, look, &seen), -ENOENT);
}

static int refused(const char *list, const char *why)
{
	struct problem problem = {""};
	struct running running;
	int err = running_open(list, &running, &problem);

	running_close(&running);
	if (!err || !strstr(problem.text, why))
		fprintf(stderr, "# %s: %d, %s\n", list, err, problem.text);
	return err && strstr(problem.text, why);
}

TEST(lists_of_processes_are_checked)
{
	struct problem problem;
	struct running running;
	char list[64], name[16];
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	CHECK(refused("", "not a list"));
	CHECK(refused("12;13", "not a list"));
	CHECK(refused("-1", "not a list"));
	CHECK(refused("0", "not a list"));
	CHECK(refused("99999999999999999999", "not a list"));
	CHECK(refused("4194303", "there is no process"));
	snprintf(list, sizeof(list), "%d", getpid());
	CHECK(refused(list, "itself"));
	snprintf(list, sizeof(list), "%d,", child);
	CHECK(refused(list, "not a list"));
	snprintf(list, sizeof(list), "%d,%d", child, child);
	CHECK_EQ(running_open(list, &running, &problem), 0);
	CHECK_EQ(running.count, 1);
	running_name(child, name);
	CHECK_STR(name, "running");
	kill(child, SIGKILL);
	siginfo_t info;
	CHECK_EQ(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	CHECK(refused(list, "zombie"));
	CHECK_EQ(waitpid(child, NULL, 0), child);
	running_close(&running);
}

/* Waits for the period that it is told of and sends what its block says; then once more. */
static _Noreturn void child_run(int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1)
		if (write(out, &gcprof_control, sizeof(gcprof_control)) < 0)
			break;
	_exit(0);
}

static struct gcprof_control ask(int to, int from)
{
	struct gcprof_control block = {0};

	CHECK_EQ(write(to, "", 1), 1);
	CHECK_EQ(read(from, &block, sizeof(block)), (ssize_t)sizeof(block));
	return block;
}

TEST(control_blocks_are_set_and_set_back)
{
	struct gcprof_control block;
	struct control *control;
	struct opener *opener;
	struct files *files;
	int to[2], from[2];
	pid_t child;

	CHECK_EQ(pipe(to) | pipe(from), 0);
	child = fork();
	if (child == 0) {
		close(to[1]);
		child_run(to[0], from[1]);
	}
	CHECK_EQ(opener_create(true, &opener), 0);
	CHECK_EQ(files_create(opener, &files), 0);
	CHECK_EQ(control_create(files, &control), 0);
	CHECK_EQ(control_set(control, (uint32_t)child, 12345, 678), 1);
	block = ask(to[1], from[0]);
	CHECK_EQ(block.period, 12345);
	CHECK_EQ(block.ceiling, 678);
	CHECK_EQ(block.generation, 1);
	CHECK_EQ(block.magic, GCPROF_CONTROL_MAGIC);
	control_restore(control);
	CHECK(opener_settle(opener, UINT64_C(10000000000)));
	block = ask(to[1], from[0]);
	CHECK_EQ(block.period | block.ceiling | block.generation, 0);
	/* Somebody else asked meanwhile: it stays theirs. */
	CHECK_EQ(control_set(control, (uint32_t)child, 1000, 0), 1);
	struct control *other;
	CHECK_EQ(control_create(files, &other), 0);
	CHECK_EQ(control_set(other, (uint32_t)child, 2000, 0), 1);
	control_restore(control);
	CHECK(opener_settle(opener, UINT64_C(10000000000)));
	CHECK_EQ(ask(to[1], from[0]).period, 2000);
	control_free(other);
	CHECK_EQ(ask(to[1], from[0]).period, 1000);
	CHECK_EQ(control_set(control, 4194303, 1, 0), -ENOENT);
	control_free(control);
	control_free(NULL);
	files_free(files);
	opener_free(opener);
	close(to[1]);
	CHECK_EQ(waitpid(child, NULL, 0), child);
}
