/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_file.c: a process is known by its number and its start. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void *outlive(void *done)
{
	(void)write(*(int *)done, "", 1);
	for (;;)
		pause();
	return NULL;
}

/* A process whose main thread ends before another one. */
static uint32_t start_headless(void)
{
	int ready[2];
	pthread_t thread;
	pid_t pid;
	char byte;

	CHECK_EQ(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		pthread_create(&thread, NULL, outlive, &ready[1]);
		pthread_exit(NULL);
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return (uint32_t)pid;
}

/* The path leads through the process to a thread of it, not to a thread alone. */
TEST(process_is_shown_by_a_thread_of_its_own)
{
	uint32_t pid = start_headless();
	char path[PROC_SHOWN_MAX], begin[PROC_SHOWN_MAX], byte;
	int maps = -1;

	snprintf(begin, sizeof(begin), "/proc/%u/task/", pid);
	for (int i = 0; i < 60000 && proc_living_thread(pid) == pid; i++)
		usleep(1000);
	proc_shown(pid, "maps", path);
	CHECK(!strncmp(path, begin, strlen(begin)));
	CHECK(strtoul(path + strlen(begin), NULL, 10) != pid);
	maps = proc_shown_open(pid, "maps", O_RDONLY);
	CHECK_EQ(read(maps, &byte, 1), 1);
	close(maps);
	end(pid);
	CHECK_EQ(proc_shown_open(pid, "maps", O_RDONLY), -ENOENT);
}
