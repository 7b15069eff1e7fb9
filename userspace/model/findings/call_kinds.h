/* SPDX-License-Identifier: BSD-2-Clause */
/* call_kinds.h: what a thread in a system call waits for, and whether that is idleness. */
#ifndef GCPROF_CALL_KINDS_H
#define GCPROF_CALL_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "../world/system_calls.h"

struct map;
struct model;
struct pattern;
struct record_syscall;

/* Who opened the connection of a read or write. */
enum far_end { END_UNKNOWN, END_SERVER, END_CLIENT };

enum { CALL_NUMBERS = 512 };

struct call_kinds {
	struct map *did;  /* process -> what it did: bits */
	struct map *ends; /* {process, descriptor} -> far_end + 1, while known */
	struct map *ways; /* the same -> whether it was read, and written */
	const struct system_call *calls[CALL_NUMBERS]; /* once looked up */
};

/* 0 or -ENOMEM. */
int call_kinds_init(struct call_kinds *kinds);
void call_kinds_free(struct call_kinds *kinds);

/*
 * Notes connections and child processes. Returns the far end of the call's descriptor, as an enum
 * far_end, or -ENOMEM.
 */
int call_kinds_note(struct call_kinds *kinds, const struct model *model, uint64_t process,
		    const struct record_syscall *record);

/*
 * Is a call one message on a connection, which was read as well as written before? Needs the
 * arguments of calls. 1, 0 or -ENOMEM.
 */
int call_kinds_message(struct call_kinds *kinds, const struct model *model, uint64_t process,
		       const struct record_syscall *record);

/* Notes what a process did from the totals of its calls. 0 or -ENOMEM. */
int call_kinds_total(struct call_kinds *kinds, const struct model *model, uint64_t process,
		     uint64_t number);

/* Does a call wait until one of several descriptors is ready? */
bool call_kinds_waits(struct call_kinds *kinds, const struct model *model, uint64_t number);

/*
 * The class of a call that a process made below `pattern` (NULL: none). `files`: what waits in this
 * call at this place were for, bits by enum wait_file; 0: unknown.
 */
enum call_class call_kinds_class(const struct call_kinds *kinds, uint64_t process, const char *name,
				 enum far_end end, unsigned files, const struct pattern *pattern);

#endif
