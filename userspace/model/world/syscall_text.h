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

/* Bit of a call number: from the 32-bit table. */
#define SYSCALL_NUMBER_COMPAT (UINT64_C(1) << 31)

/* The name of a call, or "syscall_1234". Lives as long as the model. NULL: no memory. */
const char *syscall_describe(const struct model *model, uint64_t number);

/*
 * Whether the call has executed another program. Then the memory with its path argument was gone
 * when the call was recorded.
 */
bool syscall_executes(const struct model *model, const struct record_syscall *record);

/* A call to be printed. */
struct syscall_call {
	uint64_t number; /* bit 31: from the 32-bit table, whose arguments are unknown */
	const char *name;
	const char *path; /* path argument; NULL: unknown */
	uint64_t args[3];
	int64_t result;
	bool unfinished;
	bool arguments; /* args are known */
};

enum { SYSCALL_TEXT = 320 };

/* The call of a record. Its name is NULL. */
struct syscall_call syscall_of_record(const struct world *world,
				      const struct record_syscall *record);

/* "AT_FDCWD, \"/etc/passwd\", O_RDONLY|O_CLOEXEC", truncated to `size` including the final zero. */
void syscall_arguments(const struct syscall_call *call, char *out, size_t size);

/*
 * "openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY) = 3", truncated to `size` including the final zero.
 */
void syscall_text(const struct syscall_call *call, char *out, size_t size);

/* The same text, which lives as long as the model; fills in name and arguments. NULL: no memory. */
const char *syscall_to_text(const struct world *world, struct syscall_call call);

/* NULL: unknown. `machine` as in uname -m. */
const char *syscall_name(const char *machine, uint64_t number);

enum { SYSCALL_LABEL = 64 };

/* What a call is shown as: its name, "getpid (32-bit)" or "syscall_1234", in `text` or static. */
const char *syscall_label(const char *machine, uint64_t number, char text[SYSCALL_LABEL]);

#endif
