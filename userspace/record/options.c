// SPDX-License-Identifier: BSD-2-Clause
/* options.c: words among the options of `gcprof record`. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "options.h"

int stack_mode_parse(const char *name, enum stack_mode *out)
{
	static const char *const names[] = {
		[STACK_MODE_OFF] = "off",
		[STACK_MODE_FP] = "fp",
		[STACK_MODE_ROWS] = "rows",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i])) {
			*out = (enum stack_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}
