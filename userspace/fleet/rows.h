/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.h: the rows of a profile for the tables of fleet.def, out of a confined process. */
/*
 * A profile may come from anywhere, and whoever pushes it has a network and a password. So the
 * profile is read by a process of its own, which has neither: it sends rows through a socket, each
 * a byte with the number of its table and the cells of its COLUMNs. Numbers are 8 bytes, texts and
 * arrays a length of 4 bytes and then bytes or numbers.
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

/* Beside the numbers of tables: what is known before the first row, a struct rows_head. */
#define ROWS_HEAD 255

#define ROWS_TEXT_MAX \
	(64 << 10) /* bytes of a cell; longer texts are cut; arrays have no more numbers */

struct rows_head {
	int64_t realtime;             /* of the beginning, s since 1970; 0: unknown */
	uint32_t state;               /* enum profile_state */
	char host[256], program[256]; /* that was recorded, and on which machine; empty: unknown */
};

struct rows;

/* Receives what comes; what it returns if that is not 0 ends the reading. */
typedef int rows_visitor(void *context, const char *data, size_t size);

/*
 * Has a process read the profile, a borrowed descriptor, and hands over what it sends, in pieces
 * of any size, to `visit`. 0, what `visit` returned, or a negative errno: one of model_load()'s,
 * -EPIPE: the process died of it.
 */
int rows_read(int fd, rows_visitor *visit, void *context);

/* That process: an exit status. */
int rows_main(void);

#endif
