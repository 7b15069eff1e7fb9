/* SPDX-License-Identifier: BSD-2-Clause */
/* leaf_code.h: recognises code that leaves the stack pointer alone. */
#ifndef GCPROF_LEAF_CODE_H
#define GCPROF_LEAF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAF_BYTES_MAX 8192

/* Does this code return or jump, and does no other instruction move the stack pointer? All bytes
 * must be instructions, and not more than LEAF_BYTES_MAX. */
bool leaf_code_is(const uint8_t *code, size_t size);

#endif
