/* SPDX-License-Identifier: BSD-2-Clause */
/* walk_rig.h: a program's memory, made by tests of walkers, and what walkers read it with. */
#ifndef TEST_WALK_RIG_H
#define TEST_WALK_RIG_H

#include "test.h"

/* Words from MEMORY on; all else cannot be read. */
#define MEMORY UINT64_C(0x7f0000000000)
#define WORDS  65536

static uint64_t words[WORDS];

struct walk_window;
struct walk_rows;
struct unwind_rule;

static inline long memory_read(void *to, uint32_t size, uint64_t from)
{
	if (from < MEMORY || from - MEMORY > sizeof(words) ||
	    size > sizeof(words) - (from - MEMORY))
		return -14;
	memcpy(to, (const char *)words + (from - MEMORY), size);
	return 0;
}

static inline void put(uint64_t distance, uint64_t value)
{
	words[distance / 8] = value;
}

/* For bpf/walk_native.h. */
static inline long walk_read(struct walk_window *window, void *to, uint32_t size, uint64_t from)
{
	(void)window;
	return memory_read(to, size, from);
}

static inline int walk_rule(struct walk_rows *rows, uint64_t ip, struct unwind_rule *rule)
{
	(void)rows;
	(void)ip;
	(void)rule;
	return 0;
}

#endif
