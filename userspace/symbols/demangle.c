// SPDX-License-Identifier: BSD-2-Clause
/* demangle.c: names of C++ and Rust functions as their authors wrote them. */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "demangle.h"

#define MANGLED_MAX   1024
#define REFERENCE_MAX 32 /* back references in one name */
/* Of numbers in Rust's names. */
#define DIGITS       "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define READABLE_MAX 512 /* characters kept */

/*
 * A name may refer back to its own parts, and those again to others: each such
 * reference can double the result, and a name made for it would fill all memory.
 * Counting the letters that may begin one is crude but errs on the safe side.
 */
static bool is_harmless(const char *name)
{
	bool rust = name[1] == 'R';
	size_t references = 0, size = strnlen(name, MANGLED_MAX + 1);

	for (size_t i = 0; i + 1 < size; i++) {
		const char *next = name + i + 1;

		if (rust)
			references += name[i] == 'B' && next[strspn(next, DIGITS)] == '_';
		else if (name[i] == 'S' || name[i] == 'T')
			references += *next == '_' || isdigit((unsigned char)*next) ||
				      isupper((unsigned char)*next);
	}
	return size <= MANGLED_MAX && references <= REFERENCE_MAX;
}

char *demangle(const char *name)
{
	char *readable;

	/* C++ and Rust's older names; Rust's newer ones. */
	if ((strncmp(name, "_Z", 2) && strncmp(name, "_R", 2)) || !is_harmless(name))
		return NULL;
	readable = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
	if (readable && strnlen(readable, READABLE_MAX + 1) > READABLE_MAX)
		memcpy(readable + READABLE_MAX - 3, "...", 4);
	return readable;
}
