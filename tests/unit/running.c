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

#include "record/world/processes.h"
#include "record/world/running.h"
#include "record/world/snapshot.h"
#include "test.h"

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
	bool own, other, outdated;
	int ends;
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

static bool is_current(void *context)
{
	return !((struct seen *)context)->outdated;
}

static void count_end(void *context)
{
	((struct seen *)context)->ends++;
}

static const struct snapshot_reader reader = {is_current, look, count_end};

TEST(an_opener_reads_the_same)
{
	struct seen with = {0}, without = {0};
	struct snapshots *snapshots;
	struct opener *opener;

	CHECK_EQ(snapshot_mappings((uint32_t)getpid(), 4711, look, &without), 0);
	CHECK_EQ(opener_create(true, &opener), 0);
	CHECK_EQ(snapshots_create(opener, &snapshots), 0);
	CHECK_EQ(snapshots_begin(snapshots, (uint32_t)getpid(), 4711, &reader, &with), 0);
	/* One that is gone ends, too. */
	for (int i = 1; i < SNAPSHOTS_MAX; i++)
		CHECK_EQ(snapshots_begin(snapshots, 4194303, 0, &reader, &with), 0);
	CHECK_EQ(snapshots_begin(snapshots, 4194303, 0, &reader, &with), -EBUSY);
	while (with.ends < SNAPSHOTS_MAX) {
		CHECK(opener_settle(opener, UINT64_C(10000000000)));
		(void)snapshots_turn(snapshots);
	}
	CHECK_EQ(with.count, without.count);
	CHECK(with.own && with.other);
	/* Nothing is reported of a program that is not there any more. */
	with.outdated = true;
	CHECK_EQ(snapshots_begin(snapshots, (uint32_t)getpid(), 4711, &reader, &with), 0);
	CHECK(opener_settle(opener, UINT64_C(10000000000)));
	(void)snapshots_turn(snapshots);
	CHECK_EQ(with.ends, SNAPSHOTS_MAX + 1);
	CHECK_EQ(with.count, without.count);
	CHECK_EQ(snapshots_begin(snapshots, (uint32_t)getpid(), 0, &reader, &with), 0);
	snapshots_free(snapshots);
	opener_free(opener);
	CHECK_EQ(with.ends, SNAPSHOTS_MAX + 1);
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
