/* SPDX-License-Identifier: BSD-2-Clause */
/* call_filter.h: leaves this process only the system calls that its job needs. */
#ifndef GCPROF_CALL_FILTER_H
#define GCPROF_CALL_FILTER_H

#include <stddef.h>
#include <stdint.h>

/* An allowed system call: the masked bits of an argument must have this value. */
struct call_allowed {
	int call;
	int argument; /* -1: any arguments */
	uint64_t mask, value;
	int second; /* another argument, if the following mask is not 0 */
	uint64_t second_mask, second_value;
};

/* A call with any arguments; with a value in the lower 32 bits of one. */
#define CALL_ANY(name)                                 \
	{                                              \
		.call = SCMP_SYS(name), .argument = -1 \
	}
#define CALL_WITH(name, argument, word)                             \
	{                                                           \
		SCMP_SYS(name), argument, UINT32_MAX, word, 0, 0, 0 \
	}

/*
 * Leaves what the rows allow, and what the C library and sanitizers do on their own: private memory
 * without code, waiting, ending. Other calls of this thread, and of what it starts, fail with
 * ENOSYS: a library may try one and continue without it. Needs PR_SET_NO_NEW_PRIVS. A negative
 * errno.
 */
int call_filter_enter(const struct call_allowed *rows, size_t n);

#endif
