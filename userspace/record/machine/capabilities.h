/* SPDX-License-Identifier: BSD-2-Clause */
/* capabilities.h: the capabilities that recording uses, the effect of missing ones, and dropping
 * them. */
#ifndef GCPROF_CAPABILITIES_H
#define GCPROF_CAPABILITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum capability_need {
	CAPABILITY_ALL,  /* without it nothing can be recorded */
	CAPABILITY_SOME, /* without it something is missing */
};

struct capability {
	int number;
	const char *name;
	enum capability_need need;
	bool kept;           /* also needed once everything is attached */
	bool admin;          /* CAP_SYS_ADMIN also serves */
	const char *without; /* what is missing */
};

extern const struct capability capability_table[];
extern const size_t capability_count;

/*
 * Is this thread in a user namespace other than the initial one? Its capabilities then count for
 * what belongs to the namespace, which neither BPF programs nor probes do.
 */
bool capabilities_are_a_namespaces(void);

/* The capabilities of the table that this thread can record with, as bits `number`; 0 if unknown.
 */
uint64_t capabilities_usable(void);

/* Does this thread have CAP_SYS_ADMIN, in the initial user namespace? */
bool capabilities_admin(void);

/* May the caller send signals to all processes? */
bool capabilities_kill(void);

/*
 * Drops, permanently and for this thread only, all capabilities that are not `kept`, and the
 * ability to regain them by executing a program. With `opens_files`, root may open later files
 * wherever it could open the first one. 0 or a negative errno.
 */
int capabilities_drop(bool opens_files);

/* Keeps only these, bits `number`. With `given`, keeps only what capabilities_lend() passed on, not
 * what this program's file grants to everybody. 0 or a negative errno. */
int capabilities_keep(uint64_t keep, bool given);

/* The same for a process that reads what others have mapped: keeps all if that takes all. */
int capabilities_keep_reading(uint64_t keep, bool given);

/*
 * While `lent`, a program that this thread executes inherits this thread's capabilities, and can
 * see by its inheritable set that they do not come from its file.
 */
void capabilities_lend(bool lent);

#endif
