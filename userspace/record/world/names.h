/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: the names that a process gave to its types, managed functions and providers. */
/*
 * Shared by forked processes until one of them changes, as in mappings.h. The
 * text comes from programs that are not trusted: all tables together stay
 * within a budget.
 */
#ifndef GCPROF_NAMES_H
#define GCPROF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_BUDGET (32 << 20) /* bytes, all tables of a recording together */

#define PROCESS_PROVIDERS 16
#define PROVIDER_SHIFT    44 /* of a number, to that of its provider: see process_number() */

enum name_kind { NAME_TYPE = 1, NAME_CODE = 2, NAME_PROVIDER = 3 };

struct name_key {
	uint64_t kind; /* enum name_kind */
	uint64_t number;
};

/* Texts are not ended by a zero. */
struct name {
	const char *text;
	const char *file; /* of code; of a provider its version */
	size_t text_size, file_size;
	uint64_t line;
};

struct names;
struct profile_writer;

/* NULL stands for an empty table everywhere. */
struct names *names_share(struct names *names);
void names_release(struct names *names);

/* Copies a name in. *used counts the bytes held; -ENOMEM or, where names_allow() does not,
 * -EOVERFLOW. */
int names_set(struct names **names, size_t *used, struct name_key key, const struct name *name);

/* May a process that has `own` bytes have `more`? It may have three times what it leaves to others.
 */
bool names_allow(size_t used, size_t own, size_t more);

/* Bytes that a table holds. */
size_t names_bytes(const struct names *names);

/* Writes the record of a process's name. -ENOMEM, or what the sink returned. */
int names_write(struct profile_writer *writer, uint64_t process, struct name_key key,
		const struct name *name);

/* True and *out, which points into the table, if the name is known. */
int names_get(const struct names *names, struct name_key key, struct name *out);

#endif
