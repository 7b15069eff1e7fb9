/* SPDX-License-Identifier: BSD-2-Clause */
/* operands.h: parses the argument locations in notes. */
#ifndef GCPROF_READER_OPERANDS_H
#define GCPROF_READER_OPERANDS_H

#include "../../bpf/config.h"

/*
 * Takes one argument such as "-4@%edi", "8@-16(%rbp)", "8@(%rax,%rcx,8)" or "4@$7" from the front
 * of *text, and advances it past following blanks. 1 if there was one, 0 at the end of the text,
 * -EINVAL if it cannot be read at the probe.
 */
int operand_next(const char **text, struct probe_argument *out);

#endif
