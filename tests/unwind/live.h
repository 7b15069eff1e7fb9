/* SPDX-License-Identifier: BSD-2-Clause */
/* live.h: walks a stopped thread as the kernel side would, and notes what the walk looked at. */
#ifndef GCPROF_UNWIND_LIVE_H
#define GCPROF_UNWIND_LIVE_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "../../bpf/events.h"

struct live;

struct live_registers {
	uint64_t ip, sp, bp, bx;
	uint64_t anchor; /* 0: no managed frames */
};

struct live_stack {
	uint64_t native[STACK_DEPTH_MAX];
	unsigned n_native;
	uint32_t quality; /* enum stack_quality, user bits */
	uint32_t guessed;
};

/* Reads what is mapped in the process and compiles rows of its files. Negative errno. */
int live_open(pid_t pid, struct live **out);
void live_close(struct live *live); /* NULL is allowed */

/* The file that is mapped at an address, "" if none. Valid until live_close(). */
const char *live_file(const struct live *live, uint64_t address);

void live_walk(struct live *live, const struct live_registers *registers, struct live_stack *out);

/* Notes memory that is needed although the native walk did not read it. */
void live_need(struct live *live, uint64_t address, uint64_t size);

/* Copies memory of the process: 0, or an error. */
int live_read(const struct live *live, void *to, uint64_t size, uint64_t from);

/* Writes memory, mappings, rules and rows in the form of image.h, as far as they were needed. */
int live_write(struct live *live, FILE *to);

#endif
