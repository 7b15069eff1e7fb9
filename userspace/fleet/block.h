/* SPDX-License-Identifier: BSD-2-Clause */
/* block.h: makes blocks in ClickHouse's Native format from the rows of the confined process. */
/*
 * The input is untrusted: this module checks lengths and decides which table and columns a row
 * belongs to. It also adds the GIVEN columns, so a process compromised by a profile cannot write
 * rows for another service.
 */
#ifndef GCPROF_FLEET_BLOCK_H
#define GCPROF_FLEET_BLOCK_H

#include <stdint.h>

#include "../util/buffer.h"
#include "rows.h"

enum { BLOCK_ROWS = 64 << 10, BLOCK_BYTES = 32 << 20, LABELS_MAX = 16, LABEL_VALUE_MAX = 1024 };

/* Valid characters of label names. */
#define LABEL_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

struct fleet_label {
	const char *name, *value;
};

/* Values of the GIVEN columns, the same for all rows of a push. */
struct fleet_given {
	uint64_t profile;
	uint32_t day; /* days since 1970 */
	const char *service, *version, *host, *container;
	struct fleet_label labels[LABELS_MAX]; /* other labels */
	size_t n_labels;
	const char *otel; /* table that also gets the profile (otel.c); NULL: none */
};

/* Gets the head before the first row, and each block when it is full or its table ends. A return
 * value other than 0 ends the reading. */
struct blocks_visitor {
	int (*head)(struct blocks_visitor *visitor, const struct rows_head *head);
	/* `data` is in Native format; `number` counts the table's blocks from 0, `rows` is without
	 * the marker. */
	int (*block)(struct blocks_visitor *visitor, enum fleet_table table, uint32_t number,
		     uint64_t rows, const struct buffer *data);
};

struct blocks;

/* `given` is borrowed and may be filled in until head() returns. 0 or -ENOMEM. */
int blocks_create(const struct fleet_given *given, struct blocks_visitor *visitor,
		  struct blocks **out);
void blocks_free(struct blocks *blocks); /* NULL is allowed */

/* A rows_visitor: takes the next bytes. 0, -EBADMSG, -ENOMEM, or what the blocks_visitor returned.
 */
int blocks_take(void *blocks, const char *data, size_t size);

/* Completes the last block. Same errors; -EBADMSG also if a row is incomplete. */
int blocks_end(struct blocks *blocks);

#endif
