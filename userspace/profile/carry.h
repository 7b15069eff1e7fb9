/* SPDX-License-Identifier: BSD-2-Clause */
/* carry.h: carries what a recording has defined and counted from one of its files to the next. */
/*
 * A recording that is written to several files goes on as if there were one: things are defined
 * once, sums grow. Records pass through here on their way to a file, and what comes out is a
 * profile by itself: things have ids of this file and are defined in it before their first use,
 * with their names; sums count from the begin of the file.
 *
 * What is kept for that has a limit in bytes. Beyond it the oldest is forgotten, and later records
 * refer to nothing.
 */
#ifndef GCPROF_CARRY_H
#define GCPROF_CARRY_H

#include "record.h"

struct carry;

/* Writes a record to the file as it is. */
typedef int carry_write(void *context, const struct record *record);

/* Begins with the first file. -ENOMEM. */
int carry_create(carry_write *write, void *context, struct carry **out);
void carry_free(struct carry *carry); /* NULL is allowed */

/*
 * Writes the record, and before it what it refers to. What `write` returns if that is not 0;
 * -ENOENT: nothing is known of its thread or process, so it was left out; -ENOMEM.
 */
int carry_put(struct carry *carry, const struct record *record);

/* The id that a thread has in the file, defined if need be; the same errors. */
int carry_thread(struct carry *carry, uint64_t thread, uint64_t *id);

/* Another file begins, at this time (CLOCK_MONOTONIC), and has this number: writes the facts about
 * the recording. */
int carry_begin(struct carry *carry, uint64_t time, uint64_t part);

/* From now on `write` gets what is to be written. */
void carry_redirect(struct carry *carry, carry_write *write, void *context);

#endif
