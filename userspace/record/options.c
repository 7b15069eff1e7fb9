// SPDX-License-Identifier: BSD-2-Clause
/* options.c: words among the options of `gcprof record`. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "options.h"

static const struct stack_ways modes[] = {
	[STACK_MODE_OFF] = {"off", false, false, false},
	[STACK_MODE_FP] = {"fp", true, false, false},
	[STACK_MODE_ROWS] = {"rows", true, true, false},
	[STACK_MODE_COPY] = {"copy", false, false, true},
	[STACK_MODE_BOTH] = {"both", true, true, true},
};

int stack_mode_parse(const char *name, enum stack_mode *out)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!strcmp(name, modes[i].name)) {
			*out = (enum stack_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

const struct stack_ways *stack_mode_ways(enum stack_mode mode)
{
	return &modes[mode];
}
