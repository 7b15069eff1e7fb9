/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.h: reads a profile in a confined process and receives its rows for the tables of fleet.def.
 */
/*
 * Profiles are untrusted, and the pushing process has a network and a password. So a separate
 * process, which has neither, reads the profile and sends rows through a socket. A row is a byte
 * with the number of its table, followed by the cells of its COLUMNs. Numbers take 8 bytes; texts
 * and arrays are a length of 4 bytes and then bytes or numbers.
 */
#ifndef GCPROF_FLEET_ROWS_H
#define GCPROF_FLEET_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum fleet_table {
#define FLEET_TABLE(name, kind, partition, order, doc) FLEET_##name,
#include "fleet.def"
	FLEET_TABLES
};

/* In place of a table's number, before the first row: a struct rows_head follows. */
#define ROWS_HEAD 255

#define ROWS_TEXT_MAX \
	(64 << 10) /* bytes of a text (longer ones are truncated) or numbers of an array */

struct rows_head {
	int64_t realtime;             /* start of the profile, s since 1970; 0: unknown */
	uint32_t state;               /* enum profile_state */
	uint64_t bytes;               /* of the file that were read */
	char host[256], program[256]; /* recorded machine and program; empty: unknown */
};

struct rows;

/* Receives data; a return value other than 0 ends the reading. */
typedef int rows_visitor(void *context, const char *data, size_t size);

/*
 * Starts a process that reads the profile in `fd` (borrowed) and passes what it sends to `visit`,
 * in pieces of any size. Returns 0, what `visit` returned, or a negative errno: those of
 * model_load(), or -EPIPE: the process died.
 */
int rows_read(int fd, rows_visitor *visit, void *context);

/* The main function of that process; returns its exit status. */
int rows_main(void);

#endif
