/* SPDX-License-Identifier: BSD-2-Clause */
/* carry.h: carries definitions of a recording from one file to the next. */
/*
 * A recording in several files behaves like a single one: things are defined once. All records pass
 * through here on their way to a file. The result is a self-contained profile: ids are local to the
 * file, and things are defined before their first use, with their names.
 *
 * The memory for this is limited. Beyond the limit the oldest entries are forgotten, and later
 * records refer to nothing.
 */
#ifndef GCPROF_CARRY_H
#define GCPROF_CARRY_H

#include "record.h"

struct carry;

/* Writes a record to the file unchanged. */
typedef int carry_write(void *context, const struct record *record);

/* Starts with the first file. -ENOMEM. */
int carry_create(carry_write *write, void *context, struct carry **out);
void carry_free(struct carry *carry); /* NULL is allowed */

/*
 * Writes the record, preceded by everything it refers to. Returns a non-zero result of `write`;
 * -ENOENT: its thread or process is unknown, and the record was omitted; -ENOMEM.
 */
int carry_put(struct carry *carry, const struct record *record);

/* The id of a thread in this file; defines the thread if necessary. Same errors. */
int carry_thread(struct carry *carry, uint64_t thread, uint64_t *id);

/* Starts another file with this number at this time (CLOCK_MONOTONIC): writes the facts about the
 * recording. */
int carry_begin(struct carry *carry, uint64_t time, uint64_t part);

/* From now on records go to this `write`. */
void carry_redirect(struct carry *carry, carry_write *write, void *context);

#endif
