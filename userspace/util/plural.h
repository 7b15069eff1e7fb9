/* SPDX-License-Identifier: BSD-2-Clause */
/* plural.h: words that depend on a count. */
#ifndef GCPROF_PLURAL_H
#define GCPROF_PLURAL_H

#include <stdint.h>

/* Returned by value, so that calls can be used as arguments. */
struct plural_text {
	char text[256];
};

/* Replaces each "[ONE|MANY]" by the form for the count: plural(1, "page[|s]") is "page". */
struct plural_text plural(uint64_t count, const char *text);

#endif
