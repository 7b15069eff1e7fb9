/* SPDX-License-Identifier: BSD-2-Clause */
/* bytecodes.h: keeps reports of interpreted functions for the reader. */
#ifndef GCPROF_BYTECODES_H
#define GCPROF_BYTECODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"

struct bytecodes;

int bytecodes_create(struct bytecodes **out);     /* -ENOMEM */
void bytecodes_free(struct bytecodes *bytecodes); /* NULL is allowed */

/* Keeps an event of a process of this user, `size` bytes of which are readable. -EBADMSG; -ENOSPC:
 * the user has too many; other errors. */
int bytecodes_add(struct bytecodes *bytecodes, const struct event_bytecode *event, size_t size,
		  uint32_t user);

/* Its offset in the file of all reports; false: unknown. */
bool bytecodes_find(const struct bytecodes *bytecodes, uint64_t number, uint64_t *offset);

/* That file, read-only and borrowed; -1: none yet. */
int bytecodes_file(const struct bytecodes *bytecodes);

#endif
