/* SPDX-License-Identifier: BSD-2-Clause */
/* name_tables.h: reads the name tables of programs that ran before their probes were attached. */
/*
 * A reader reads them from the processes' memory, as gc/provider/frame.h describes. Not
 * thread-safe; only name_tables_settle() waits.
 */
#ifndef GCPROF_NAME_TABLES_H
#define GCPROF_NAME_TABLES_H

#include <stdint.h>

#include "../opener/opener.h"
#include "../../../bpf/events.h"

struct name_tables;

/* Receives the events of names, with the time of the file's mapping. */
typedef void name_tables_emit(void *context, const struct event_header *event, size_t size);

/* `opener` is borrowed. -ENOMEM. */
int name_tables_create(struct opener *opener, name_tables_emit *emit, void *context,
		       struct name_tables **out);
void name_tables_free(struct name_tables *tables); /* NULL is allowed */

/* A process of `user` mapped a file, which is attached, with a control block at `address`;
 * `provider` is the file's number in events. -ENOMEM. */
int name_tables_add(struct name_tables *tables, const struct event_mmap *mapping, uint64_t address,
		    uint8_t provider, uint32_t user);

/* Sends requests and takes answers. */
void name_tables_turn(struct name_tables *tables);

/* First mapping of the oldest file whose table is not read yet, ns; UINT64_MAX: none. */
uint64_t name_tables_pending(const struct name_tables *tables);

/* Reads all tables, within `ns`. */
void name_tables_settle(struct name_tables *tables, uint64_t ns);

/* Number of tables not read completely. */
uint64_t name_tables_unread(const struct name_tables *tables);

#endif
