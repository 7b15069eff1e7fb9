/* SPDX-License-Identifier: BSD-2-Clause */
/* pypy.c: PyPy, which is only recognised: its collector has no symbols and no notes. */
#include <stdio.h>

#include "find.h"

static bool recognise(struct runtime_file *file, struct runtime_facts *out)
{
	uint64_t at;

	if (!runtime_exported(file, "pypy_main_startup", &at))
		return false;
	snprintf(out->missing, sizeof(out->missing), "its collector has no symbols and no notes");
	return true;
}

static const char *note(const struct runtime_facts *facts)
{
	(void)facts;
	return "its functions, collections and allocations are not recorded; it can write them "
	       "itself "
	       "(pypy3 -m vmprof -o FILE, PYPYLOG=gc:LOG), and gcprof import vmprof reads that";
}

const struct runtime runtime_pypy = {
	.id = RUNTIME_PYPY,
	.name = "pypy",
	.recognise = recognise,
	.note = note,
};
