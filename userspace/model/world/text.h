/* SPDX-License-Identifier: BSD-2-Clause */
/* text.h: makes printable UTF-8 from untrusted bytes, and measures its width. */
#ifndef GCPROF_TEXT_H
#define GCPROF_TEXT_H

#include "../../profile/record.h"
#include "../../util/escape.h"

struct arena;

/* An escaped copy in the arena (escape.h), truncated to NAME_SIZE_MAX bytes. NULL: no memory. */
const char *name_clean(struct arena *arena, struct bytes bytes);

/* The same on one line: whitespace runs become one blank; leading and trailing ones are removed. */
const char *line_clean(struct arena *arena, struct bytes bytes);

#define NAME_SIZE_MAX 4096

/* Columns that a character takes on a terminal: 0, 1 or 2. */
int character_width(uint32_t character);

#endif
