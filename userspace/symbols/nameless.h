/* SPDX-License-Identifier: BSD-2-Clause */
/* nameless.h: where functions begin whose names were stripped off. */
#ifndef GCPROF_NAMELESS_H
#define GCPROF_NAMELESS_H

#include <gelf.h>
#include <stdbool.h>

#include "../util/buffer.h"

/* Fills *out (all zero before) from the frame information, which programs keep; nothing if there
 * is none. To be freed with buffer_free(). */
void nameless_read(Elf *elf, struct buffer *out);

/* Where the function that holds an address begins, both as the linker knows them. */
bool nameless_find(const struct buffer *functions, uint64_t address, uint64_t *begin);

#endif
