/* SPDX-License-Identifier: BSD-2-Clause */
/* followed.h: the samples of runtimes whose outcomes an agent reports. */
/*
 * An agent names the last sample of a thread, and later reports its outcomes under that name.
 * Bounded: at FOLLOWED_MAX, threads and samples together, new ones are ignored. Not thread-safe.
 */
#ifndef GCPROF_FOLLOWED_H
#define GCPROF_FOLLOWED_H

#include <stdbool.h>
#include <stdint.h>

#define FOLLOWED_MAX (1u << 18)

struct followed;

struct followed_sample {
	uint64_t sample; /* id */
	uint64_t age;    /* bytes that the process allocated since, by its samples */
};

struct followed *followed_create(void);        /* NULL: no memory */
void followed_free(struct followed *followed); /* NULL is allowed */

/* The runtime of a thread took this sample, which stands for `bytes`. -ENOMEM, -ENOSPC. */
int followed_taken(struct followed *followed, uint64_t process, uint32_t tid, uint64_t sample,
		   uint64_t bytes);

/* An agent names the thread's last sample; ignored if that has a name already. -ENOMEM, -ENOSPC. */
int followed_name(struct followed *followed, uint64_t process, uint32_t tid, uint64_t name);

/* Finds a sample by name, for the last time if it `ends`. False: there is none. */
bool followed_find(struct followed *followed, uint64_t process, uint64_t name, bool ends,
		   struct followed_sample *out);

/* The process ended, or executed another program. */
void followed_forget(struct followed *followed, uint64_t process);

#endif
