/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: a process's names of types, functions, providers, and kinds and reasons of collections.
 */
/*
 * Forked processes share the names that they had then. The texts come from untrusted programs, so
 * all tables together have a budget.
 */
#ifndef GCPROF_NAMES_H
#define GCPROF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../gc/provider/frame.h"
#include "../../profile/record.h"

#define NAMES_BUDGET (32 << 20) /* bytes, of all tables in a recording */

#define PROVIDER_NONE (PROFILE_PROVIDERS + 1) /* in the profile: of one that has no events */

struct name_key {
	uint64_t kind; /* enum gcprof_name_kind */
	uint64_t number;
};

/* Texts have no final zero. */
struct name {
	const char *text;
	const char *file; /* of a function; of a provider its version */
	size_t text_size, file_size;
	uint64_t line;
};

struct map;
struct names;
struct profile_writer;

/* What the tables of one user hold, and those of all. */
struct names_share {
	size_t used;
	size_t *total;
};

/* The share of a user, kept in a map of pointers by user (uint32_t); NULL: no memory. */
struct names_share *names_share_of(struct map *shares, size_t *total, uint32_t user);

bool names_same(const struct name *a, const struct name *b);

/* NULL stands for an empty table everywhere. */
struct names *names_share(struct names *names);
void names_release(struct names *names);

/* Stores a copy of a name. -ENOMEM; -EOVERFLOW if names_allow() refuses. `share` stays as long as
 * any table. */
int names_set(struct names **names, struct names_share *share, struct name_key key,
	      const struct name *name);

/* May a process of this user that has `own` bytes get `more`? A user may have three times what is
 * left to others, and a process three times what is left to its user. */
bool names_allow(const struct names_share *share, size_t own, size_t more);

/* Bytes held by a table. */
size_t names_bytes(const struct names *names);

/* Writes the record of a process's name. -ENOMEM, or the sink's error. */
int names_write(struct profile_writer *writer, uint64_t process, struct name_key key,
		const struct name *name);

/* Finds a name; *out points into the table. */
int names_get(const struct names *names, struct name_key key, struct name *out);

#endif
