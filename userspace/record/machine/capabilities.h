/* SPDX-License-Identifier: BSD-2-Clause */
/* capabilities.h: the capabilities that recording uses, what is missing without each, dropping. */
#ifndef GCPROF_CAPABILITIES_H
#define GCPROF_CAPABILITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum capability_need {
	CAPABILITY_ALL,  /* nothing can be recorded without it */
	CAPABILITY_SOME, /* something is missing without it */
};

struct capability {
	int number;
	const char *name;
	enum capability_need need;
	bool kept;           /* also needed once everything is attached */
	bool admin;          /* the kernel takes CAP_SYS_ADMIN instead */
	const char *without; /* what is missing */
};

extern const struct capability capability_table[];
extern const size_t capability_count;

/* What this thread may use of the table, as bits `number`; 0 if it is unknown. */
uint64_t capabilities_usable(void);

/* Has this thread CAP_SYS_ADMIN? */
bool capabilities_admin(void);

/*
 * Gives up, for this thread and for good, all capabilities that are not `kept`,
 * and the chance to get them back by executing a program. Each thread does it
 * for itself. With `opens_files` root may open later files wherever it could open the first one. 0
 * or a negative errno.
 */
int capabilities_drop(bool opens_files);

/* Keeps only these, bits `number`; `given`: and only what capabilities_lend() gave, not what this
 * program's file has for everybody. 0 or a negative errno. */
int capabilities_keep(uint64_t keep, bool given);

/*
 * While `lent`, a program that this thread executes gets what this thread has of the table, and
 * can see by its inheritable set that this thread gave it, and not its file.
 */
void capabilities_lend(bool lent);

#endif
