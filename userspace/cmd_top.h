/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_top.h: gcprof top: the lines above the table of a page. */
#ifndef GCPROF_CMD_TOP_H
#define GCPROF_CMD_TOP_H

#include <stdio.h>

#include "model/model.h"

/* What the page shows. */
struct head_subject {
	const char *table;
	const char *order;  /* NULL: the table's own */
	const char *filter; /* empty: none */
};

/* Prints what was recorded, and its main figures, in lines of `width` columns. Returns their
 * number. */
int head_print(const struct model *model, const struct head_subject *subject, int width, FILE *out);

#endif
