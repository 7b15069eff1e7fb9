/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_file.c: a process is known by its number and its start. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#include "util/proc_file.h"

#define SECOND UINT64_C(1000000000)

static uint32_t start(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	return (uint32_t)pid;
}

static void end(uint32_t pid)
{
	kill((pid_t)pid, SIGKILL);
	CHECK_EQ(waitpid((pid_t)pid, NULL, 0), (pid_t)pid);
}

TEST(process_is_held_until_it_ends)
{
	uint32_t pid = start();
	int held = proc_hold(pid, 0);

	CHECK(held >= 0);
	CHECK(proc_is_alive(held));
	end(pid);
	CHECK(!proc_is_alive(held));
	CHECK_EQ(proc_hold(pid, 0), -ESRCH);
	close(held);
}

/* As one that has got the number of another. */
TEST(process_that_is_too_young_is_another_one)
{
	uint32_t pid = start();

	CHECK_EQ(proc_hold(pid, 3600 * SECOND), -ESRCH);
	end(pid);
}

TEST(process_that_is_old_enough_is_the_one)
{
	int held = proc_hold(1, SECOND);

	CHECK(held >= 0);
	close(held);
}
