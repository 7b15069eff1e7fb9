/* SPDX-License-Identifier: BSD-2-Clause */
/* go_unwind.h: unwind rows of Go functions, from the table that stripped programs keep. */
#ifndef GCPROF_GO_UNWIND_H
#define GCPROF_GO_UNWIND_H

#include <gelf.h>

#include "unwind_build.h"

/* Adds the functions of a Go program; nothing for other files. -E2BIG, -ENOMEM. */
int go_unwind_add(Elf *elf, struct unwind_builder *builder);

#endif
