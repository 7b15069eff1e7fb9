/* SPDX-License-Identifier: BSD-2-Clause */
/* locked.c: finds programs that keep their memory maps locked. */
/*
 * Nothing waits for a lock here: the BPF program only reads the lock words. Programs lock their
 * maps all the time, briefly, so only those whose map is locked at each of several checks count.
 */
#include "locked.h"

#include <bpf/bpf.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define CHECK_NS 500000   /* to the second check; doubled each time */
#define LAST_NS  16000000 /* to the last check */

static bool is_among(uint32_t pid, const uint32_t *pids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

size_t locked_find(int iterator, uint32_t pids[LOCKED_MAX])
{
	int fd = iterator < 0 ? -1 : bpf_iter_create(iterator);
	uint32_t some[LOCKED_MAX];
	size_t count = 0;
	ssize_t n;

	if (fd < 0)
		return 0;
	while ((n = read(fd, some, sizeof(some))) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof(*some) && count < LOCKED_MAX; i++)
			if (!is_among(some[i], pids, count))
				pids[count++] = some[i];
	close(fd);
	return count;
}

size_t locked_still(int iterator, uint32_t *pids, size_t n)
{
	uint32_t now[LOCKED_MAX];
	size_t n_now = n ? locked_find(iterator, now) : 0, kept = 0;

	for (size_t i = 0; i < n; i++)
		if (is_among(pids[i], now, n_now))
			pids[kept++] = pids[i];
	return kept;
}

size_t locked_for_long(int iterator, uint32_t pids[LOCKED_MAX])
{
	size_t count = locked_find(iterator, pids);

	for (long ns = CHECK_NS; count && ns <= LAST_NS; ns *= 2) {
		const struct timespec pause = {.tv_nsec = ns};

		nanosleep(&pause, NULL);
		count = locked_still(iterator, pids, count);
	}
	return count;
}
