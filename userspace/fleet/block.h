/* SPDX-License-Identifier: BSD-2-Clause */
/* block.h: blocks of rows in ClickHouse's Native format, out of what the confined process sends. */
/*
 * What comes is not trusted: lengths are checked, and which table and which columns a row is for
 * is decided here. What all rows of a push have in common (GIVEN) is added here, so that a process
 * that a profile has taken over cannot write for another service.
 */
#ifndef GCPROF_FLEET_BLOCK_H
#define GCPROF_FLEET_BLOCK_H

#include <stdint.h>

#include "../util/buffer.h"
#include "rows.h"

enum { BLOCK_ROWS = 64 << 10, BLOCK_BYTES = 32 << 20, LABELS_MAX = 16, LABEL_VALUE_MAX = 1024 };

/* Of names. */
#define LABEL_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

struct fleet_label {
	const char *name, *value;
};

/* What all rows of a push have in common. */
struct fleet_given {
	uint64_t profile;
	uint32_t day; /* since 1970 */
	const char *service, *version, *host, *container;
	struct fleet_label labels[LABELS_MAX]; /* others */
	size_t n_labels;
};

/* What the confined process reports before its rows, and each block as it is full or its table
 * ends. */
struct blocks_visitor {
	int (*head)(struct blocks_visitor *visitor, const struct rows_head *head);
	/* `data` is Native; the number counts the table's blocks. */
	int (*block)(struct blocks_visitor *visitor, enum fleet_table table, uint32_t number,
		     uint64_t rows, const struct buffer *data);
};

struct blocks;

/* `given` may be filled in until head() returns. -ENOMEM. */
int blocks_create(const struct fleet_given *given, struct blocks_visitor *visitor,
		  struct blocks **out);
void blocks_free(struct blocks *blocks); /* NULL is allowed */

/* Takes the next bytes, a rows_visitor: 0, -EBADMSG, -ENOMEM, or what a visitor returned. */
int blocks_take(void *blocks, const char *data, size_t size);

/* The last block. Nothing may be left over. */
int blocks_end(struct blocks *blocks);

/* What marks a block of samples as a stack of its own, where only stacks are known. */
uint64_t block_marker(uint64_t profile, uint32_t block);

#endif
