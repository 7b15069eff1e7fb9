/* SPDX-License-Identifier: BSD-2-Clause */
/* syscall_names.c: names of system call numbers. */
#include "syscall_text.h"

#include <inttypes.h>
#include <stdio.h>
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

/* Calls of 32-bit programs: the number of the first, and names that follow it. */
static const struct {
	uint64_t first;
	const char *names;
} i386[] = {
#define SYSCALLS(first, names) {first, names},
#include "../../../bpf/syscalls_i386.def"
#undef SYSCALLS
};

/* The length of a name in the table of 32-bit calls; 0: there is none. */
static int find_i386(uint64_t number, const char **name)
{
	size_t line = sizeof(i386) / sizeof(i386[0]);

	while (line && i386[line - 1].first > number)
		line--;
	if (!line)
		return 0;
	*name = i386[line - 1].names;
	for (uint64_t at = i386[line - 1].first; at < number && **name; at++)
		*name += strcspn(*name, " ") + strspn(*name + strcspn(*name, " "), " ");
	return (int)strcspn(*name, " ");
}

const char *syscall_label(const char *machine, uint64_t number, char text[SYSCALL_LABEL])
{
	bool compat = number & SYSCALL_NUMBER_COMPAT;
	const char *name = compat ? NULL : syscall_name(machine, number);
	int length;

	if (name)
		return name;
	number &= ~SYSCALL_NUMBER_COMPAT;
	length = compat ? find_i386(number, &name) : 0;
	if (length)
		snprintf(text, SYSCALL_LABEL, "%.*s (32-bit)", length, name);
	else
		snprintf(text, SYSCALL_LABEL, "syscall%s_%" PRIu64, compat ? "32" : "", number);
	return text;
}
