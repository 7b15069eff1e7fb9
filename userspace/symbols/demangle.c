// SPDX-License-Identifier: BSD-2-Clause
/* demangle.c: names of C++ and Rust functions as their authors wrote them. */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"

/* libstdc++'s, as the C++ ABI describes it. */
extern char *__cxa_demangle(const char *name, char *buffer, size_t *size, int *status);

#define MANGLED_MAX   1024
#define REFERENCE_MAX 32  /* back references in one name */
#define READABLE_MAX  512 /* characters kept */
#define RUST_HASH     16  /* digits behind "::h" */

/*
 * A name may refer back to its own parts, and those again to others: each such
 * reference can double the result, and a name made for it would fill all memory.
 * Counting the letters that may begin one is crude but errs on the safe side.
 */
static bool is_harmless(const char *name)
{
	size_t references = 0, size = strnlen(name, MANGLED_MAX + 1);

	for (size_t i = 0; i + 1 < size; i++) {
		bool begins = name[i] == 'S' || name[i] == 'T';
		char next = name[i + 1];

		if (begins &&
		    (next == '_' || isdigit((unsigned char)next) || isupper((unsigned char)next)))
			references++;
	}
	return size <= MANGLED_MAX && references <= REFERENCE_MAX;
}

/* Rust's older names are C++ names with a hash at the end. */
static void drop_rust_hash(char *name)
{
	size_t size = strlen(name);
	char *hash;

	if (size < RUST_HASH + 3)
		return;
	hash = name + size - RUST_HASH;
	if (memcmp(hash - 3, "::h", 3) || strspn(hash, "0123456789abcdef") != RUST_HASH)
		return;
	hash[-3] = 0;
}

char *demangle(const char *name)
{
	char *readable;
	int status = 0;

	if (strncmp(name, "_Z", 2) || !is_harmless(name))
		return NULL;
	readable = __cxa_demangle(name, NULL, NULL, &status);
	if (!readable)
		return NULL;
	if (strnlen(readable, READABLE_MAX + 1) > READABLE_MAX)
		memcpy(readable + READABLE_MAX - 3, "...", 4);
	drop_rust_hash(readable);
	return readable;
}
