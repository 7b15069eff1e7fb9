/* SPDX-License-Identifier: BSD-2-Clause */
/* text.h: makes printable UTF-8 of bytes from anywhere, and measures it. */
#ifndef GCPROF_TEXT_H
#define GCPROF_TEXT_H

#include "../../profile/record.h"
#include "../../util/escape.h"

struct arena;

/* A copy in the arena, escaped, see escape.h. Cut at NAME_SIZE_MAX bytes. NULL: no memory. */
const char *name_clean(struct arena *arena, struct bytes bytes);

/* The same on one line: runs of blanks and line ends are one blank, those at the ends none. */
const char *line_clean(struct arena *arena, struct bytes bytes);

#define NAME_SIZE_MAX 4096

/* Columns that a character takes on a terminal: 0, 1 or 2. */
int character_width(uint32_t character);

#endif
