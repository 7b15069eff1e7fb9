/* SPDX-License-Identifier: BSD-2-Clause */
/* bytecodes.h: keeps what was reported of functions that interpreters run, for the reader. */
#ifndef GCPROF_BYTECODES_H
#define GCPROF_BYTECODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"

struct bytecodes;

int bytecodes_create(struct bytecodes **out);     /* -ENOMEM */
void bytecodes_free(struct bytecodes *bytecodes); /* NULL is allowed */

/* Keeps an event, `size` bytes of it readable. -EBADMSG; -ENOSPC: there were too many; others. */
int bytecodes_add(struct bytecodes *bytecodes, const struct event_bytecode *event, size_t size);

/* Where it is in the file of all of them; false: it is not known. */
bool bytecodes_find(const struct bytecodes *bytecodes, uint64_t number, uint64_t *offset);

/* That file, only to be read; -1: there is none yet. Borrowed. */
int bytecodes_file(const struct bytecodes *bytecodes);

#endif
