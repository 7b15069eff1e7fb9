/* SPDX-License-Identifier: BSD-2-Clause */
/* go_code.h: opens the code of a Go program's functions. */
#ifndef GCPROF_GO_CODE_H
#define GCPROF_GO_CODE_H

#include "../symbols/go_table.h"
#include "code.h"

struct go_file {
	struct go_table *table;
};

/* Opens a function, the one at an address, or the one of this name; false if there is none, or it
 * is too large. The first code_step() goes to its first instruction. */
bool code_of(struct go_file *file, const struct go_function *function, struct code *out);
bool code_at(struct go_file *file, uint64_t address, struct code *out);
bool code_named(struct go_file *file, const char *name, struct code *out);

#endif
