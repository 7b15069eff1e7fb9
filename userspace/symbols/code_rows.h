/* SPDX-License-Identifier: BSD-2-Clause */
/* code_rows.h: unwind rows of code without frame information, by following its stack pointer. */
/*
 * Functions written in assembler often have no frame information, and a C library may have next to
 * none (musl). Where each path through a function is known, so is the distance of the stack pointer
 * from the return address. A function counts only if it returns with the stack as it began: other
 * code gets no rows, such as that of interpreters, whose parts jump to each other.
 */
#ifndef GCPROF_CODE_ROWS_H
#define GCPROF_CODE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "unwind_build.h"

/* Of one stretch of code, and of those of a file. musl has 400 KB, which take some 50 ms. */
#define CODE_ROWS_BYTES_MAX (UINT64_C(1) << 19)

/*
 * Adds the functions in a stretch of code, at its link-time address, which no function of the
 * builder covers. `size` is at most CODE_ROWS_BYTES_MAX. -E2BIG, -ENOMEM.
 */
int code_rows_add(const uint8_t *code, size_t size, uint64_t address,
		  struct unwind_builder *builder);

#endif
