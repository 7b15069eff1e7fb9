/* SPDX-License-Identifier: BSD-2-Clause */
/* payers.c: tests of which user pays for what a process takes. */
#include "world_rig.h"

#include "util/quota.h"

static void put_title(uint64_t time, uint32_t process, uint32_t pid, uint32_t user)
{
	struct event_title *title = event(EVENT_title, sizeof(*title), process, pid);

	title->user = user;
	put(time);
}

/* So a daemon that root started takes nothing from root's programs. */
TEST(a_process_that_becomes_another_users_pays_as_that_one)
{
	const struct process *process;
	char name[400];
	uint64_t refusals = 0;
	uint32_t user = 0;
	size_t cursor = 0;

	open_world();
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	put_exec(2000, 1, 100, 100);
	process = processes_find(rig.processes, 1);
	CHECK_EQ(process->user, 0);
	send_type(1, 1, "of root");
	send_alloc(1, 100, 1, 1);
	put_title(1500, 1, 100, 5); /* the program before was another user's */
	CHECK_EQ(process->user, 0);
	put_title(3000, 1, 100, 1001);
	CHECK_EQ(process->user, 1001);
	put_title(4000, 1, 100, 0); /* rights that it was lent */
	CHECK_EQ(process->user, 1001);
	for (uint64_t i = 1; i <= 100000; i++)
		send_type(1, i, name);
	CHECK(quota_refused(&cursor, &user, &refusals));
	CHECK_EQ(user, 1001);
	CHECK(refusals > 10000);
	CHECK(!quota_refused(&cursor, &user, &refusals));
	free_world();
}
