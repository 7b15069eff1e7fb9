/* SPDX-License-Identifier: BSD-2-Clause */
/* syscall_text.h: names of system calls, and calls as text. */
#ifndef GCPROF_SYSCALL_TEXT_H
#define GCPROF_SYSCALL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../profile/record.h"

struct model;
struct world;

/* Bit of a call's number that says that it is of the 32-bit table. */
#define SYSCALL_NUMBER_COMPAT (UINT64_C(1) << 31)

/* The name of a call, "syscall_1234" if it has none; lives as long as the model. NULL: no memory.
 */
const char *syscall_describe(const struct model *model, uint64_t number);

/* One call, to be shown. */
struct syscall_call {
	uint64_t number; /* bit 31: of the 32-bit table, whose arguments are not known */
	const char *name;
	const char *path; /* among the arguments; NULL: unknown */
	uint64_t args[3];
	int64_t result;
	bool unfinished;
	bool arguments; /* are known */
};

enum { SYSCALL_TEXT = 320 };

/* The call of a record. Its name is NULL. */
struct syscall_call syscall_of_record(const struct world *world,
				      const struct record_syscall *record);

/* "AT_FDCWD, \"/etc/passwd\", 0x80000", cut to `size` with its final zero. */
void syscall_arguments(const struct syscall_call *call, char *out, size_t size);

/* "openat(AT_FDCWD, \"/etc/passwd\", 0x80000) = 3", cut to `size` with its final zero. */
void syscall_text(const struct syscall_call *call, char *out, size_t size);

/* That text, which lives as long as the model; name and arguments are filled in. NULL: no memory.
 */
const char *syscall_tell(const struct world *world, struct syscall_call call);

/* NULL: not known. `machine` as uname -m tells it. */
const char *syscall_name(const char *machine, uint64_t number);

#endif
