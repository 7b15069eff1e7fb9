/* SPDX-License-Identifier: BSD-2-Clause */
/* name_tables.h: has the name tables read of programs that ran before their probes were attached.
 */
/*
 * A reader reads them out of the memory of the processes, as gc/provider/frame.h describes. Not
 * thread-safe; nothing waits but name_tables_settle().
 */
#ifndef GCPROF_NAME_TABLES_H
#define GCPROF_NAME_TABLES_H

#include <stdint.h>

#include "../opener/opener.h"
#include "../../../bpf/events.h"

struct name_tables;

/* Receives events `type` and `code`, with the time at which the file was mapped. */
typedef void name_tables_emit(void *context, const struct event_header *event, size_t size);

/* `opener` is borrowed. -ENOMEM. */
int name_tables_create(struct opener *opener, name_tables_emit *emit, void *context,
		       struct name_tables **out);
void name_tables_free(struct name_tables *tables); /* NULL is allowed */

/* A process has mapped a file, whose probes are attached by now, and has its control block at
 * `address`; `provider` is the number of the file in the events of its probes. -ENOMEM. */
int name_tables_add(struct name_tables *tables, const struct event_mmap *mapping, uint64_t address,
		    uint8_t provider);

/* Asks for what is to be read, and takes what has come. */
void name_tables_turn(struct name_tables *tables);

/* When the first file was mapped whose table is still to be read, ns; UINT64_MAX: there is none. */
uint64_t name_tables_pending(const struct name_tables *tables);

/* Reads all, for so many ns at most. */
void name_tables_settle(struct name_tables *tables, uint64_t ns);

/* How many were not read, or not to their end. */
uint64_t name_tables_unread(const struct name_tables *tables);

#endif
