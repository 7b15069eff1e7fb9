/* SPDX-License-Identifier: BSD-2-Clause */
/* obstacles.c: programs that keep the kernel waiting while probes are attached, and what is said.
 */
#include "obstacles.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../util/proc_file.h"
#include "../machine/clock.h"

#define CHECK_NS UINT64_C(150000000)  /* between two checks */
#define BUSY_NS  UINT64_C(1000000000) /* time that a program is in the way, before a message */

enum { NAMED_MAX = 4 };

/* The program may be waiting for a file whose server does not answer, and cannot end before
 * that. */
#define END_IT                                                                                 \
	"End it (kill -KILL), and the FUSE server whose answer it waits for, if there is one " \
	"(/sys/fs/fuse/connections/*/abort): "

/*
 * Nothing waits for a lock here: the BPF program only reads the lock words. Programs lock their
 * maps all the time, briefly, so only those whose map is locked at each of several checks count.
 */

#define SECOND_NS 500000   /* to the second check; doubled each time */
#define LAST_NS   16000000 /* to the last check */

static int compare(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static bool is_among(uint32_t pid, const struct buffer *sorted)
{
	return sorted->size &&
	       bsearch(&pid, sorted->data, sorted->size / sizeof(pid), sizeof(pid), compare);
}

/* In ascending order; one may be there several times. */
static int find_all(int iterator, struct buffer *pids)
{
	int fd = iterator < 0 ? -1 : bpf_iter_create(iterator), err = 0;
	uint32_t some[LOCKED_MAX];
	ssize_t n;

	pids->size = 0;
	if (fd < 0)
		return 0;
	while (!err && (n = read(fd, some, sizeof(some))) > 0)
		err = buffer_append(pids, some, (size_t)n);
	close(fd);
	if (pids->size)
		qsort(pids->data, pids->size / sizeof(uint32_t), sizeof(uint32_t), compare);
	return err;
}

/* Keeps those that are among others, once each. */
static size_t keep(uint32_t *pids, size_t n, const struct buffer *others)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if ((!kept || pids[kept - 1] != pids[i]) && is_among(pids[i], others))
			pids[kept++] = pids[i];
	return kept;
}

/* Programs whose memory map is locked now, as pids of /proc here. `iterator` is a link of the BPF
 * program locked_iterate; -1: finds none. */
static size_t locked_find(int iterator, uint32_t pids[LOCKED_MAX])
{
	struct buffer all = {0};
	size_t n;

	(void)find_all(iterator, &all);
	n = keep((void *)all.data, all.size / sizeof(*pids), &all);
	n = n < LOCKED_MAX ? n : LOCKED_MAX;
	if (n)
		memcpy(pids, all.data, n * sizeof(*pids));
	buffer_free(&all);
	return n;
}

/* Keeps those of `n` programs whose map is locked now; returns their number. */
static size_t locked_still(int iterator, uint32_t *pids, size_t n)
{
	struct buffer now = {0};

	if (n)
		(void)find_all(iterator, &now);
	n = keep(pids, n, &now);
	buffer_free(&now);
	return n;
}

int locked_for_long(int iterator, struct buffer *pids)
{
	struct buffer now = {0};
	int err = find_all(iterator, pids);

	for (long ns = SECOND_NS; !err && pids->size && ns <= LAST_NS; ns *= 2) {
		const struct timespec pause = {.tv_nsec = ns};

		nanosleep(&pause, NULL);
		err = find_all(iterator, &now);
		pids->size = keep((void *)pids->data, pids->size / sizeof(uint32_t), &now) *
			     sizeof(uint32_t);
	}
	buffer_free(&now);
	return err;
}

void obstacles_begin(struct obstacles *obstacles)
{
	obstacles->began = clock_now();
	obstacles->late = false;
}

bool obstacles_exceed(struct obstacles *obstacles, uint64_t ns)
{
	uint64_t now = clock_now();
	bool first = obstacles->next_check < obstacles->began;

	if (now - obstacles->began < CHECK_NS)
		return false;
	if (!first && now < obstacles->next_check)
		return now - obstacles->began > ns;
	obstacles->n_suspects = first ? locked_find(obstacles->iterator, obstacles->suspects)
				      : locked_still(obstacles->iterator, obstacles->suspects,
						     obstacles->n_suspects);
	obstacles->next_check = now + CHECK_NS;
	return now - obstacles->began > ns;
}

bool obstacles_hold(const struct obstacles *obstacles, uint64_t ns)
{
	return obstacles->n_suspects && obstacles->next_check >= obstacles->began &&
	       clock_now() - obstacles->began > ns;
}

/* Formats "process 12 (name), process 13 (name)". */
static const char *describe(const uint32_t *pids, size_t n)
{
	static char text[NAMED_MAX * 40];
	size_t used = 0;
	char name[16];

	for (size_t i = 0; i < n && i < NAMED_MAX; i++) {
		if (proc_file_read(pids[i], "comm", name, sizeof(name)))
			name[0] = '\0';
		name[strcspn(name, "\n")] = '\0';
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%sprocess %" PRIu32 " (%s)", i ? ", " : "", pids[i],
					 name);
	}
	return text;
}

/* On busy CPUs a program may lose its CPU while it holds the lock. */
void obstacles_busy(struct obstacles *obstacles, uint32_t pid, const char *what,
		    struct problem *problem)
{
	const uint32_t pids[] = {pid};
	uint64_t now = clock_now();

	if (pid != obstacles->busy)
		obstacles->busy_since = now;
	obstacles->busy = pid;
	if (!obstacles->busy_since || now - obstacles->busy_since < BUSY_NS)
		return;
	obstacles->busy_since = 0;
	problem_set(problem, -EBUSY,
		    "memory map kept locked by %s: if the kernel waited for that, no process of "
		    "this machine could fork\n" END_IT "until then probes are not attached to %s",
		    describe(pids, 1), what);
}

/* While the kernel waits for a program, all forks on the machine wait too. `what` is not done. */
int obstacles_late(struct obstacles *obstacles, const char *what, struct problem *problem)
{
	obstacles->late = true;
	if (!obstacles->n_suspects)
		return problem_set(problem, -ETIME,
				   "not %s within 2 s, though no program keeps the kernel "
				   "waiting: the machine may be busy",
				   what);
	return problem_set(problem, -ETIME,
			   "memory map kept locked by %s: where the kernel waits for that, no "
			   "process of this machine can fork\n" END_IT
			   "until then probes are not %s",
			   describe(obstacles->suspects, obstacles->n_suspects), what);
}
