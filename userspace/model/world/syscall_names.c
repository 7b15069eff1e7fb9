/* SPDX-License-Identifier: BSD-2-Clause */
/* syscall_names.c: names of system call numbers. */
#include "syscall_text.h"

#include <string.h>

#include "../../../bpf/events.h"

static const char *const x86_64[] = {
#define SYSCALL(number, name, arguments) [number] = #name,
#include "../../../bpf/syscalls_x86_64.def"
#undef SYSCALL
};

const char *syscall_name(const char *machine, uint64_t number)
{
	if (machine && strcmp(machine, "x86_64") != 0)
		return NULL;
	if (number == SYSCALL_LOCK)
		return "futex(GIL)";
	if (number == SYSCALL_UNKNOWN)
		return "(unknown)";
	return number < sizeof(x86_64) / sizeof(*x86_64) ? x86_64[number] : NULL;
}
