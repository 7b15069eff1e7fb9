/* SPDX-License-Identifier: BSD-2-Clause */
/* plural.h: words that depend on the number before them. */
#ifndef GCPROF_PLURAL_H
#define GCPROF_PLURAL_H

#include <stdint.h>

/* By value, so that calls can stand in argument lists. */
struct plural_text {
	char text[256];
};

/* Each "[ONE|MANY]" of the text becomes what fits the count: plural(1, "page[|s]") is "page". */
struct plural_text plural(uint64_t count, const char *text);

#endif
