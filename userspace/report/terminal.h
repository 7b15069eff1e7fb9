/* SPDX-License-Identifier: BSD-2-Clause */
/* terminal.h: the width of the output, and whether to use colour. */
#ifndef GCPROF_TERMINAL_H
#define GCPROF_TERMINAL_H

#include <stdbool.h>

/* Columns of the terminal `fd`; otherwise COLUMNS, otherwise 100. */
int terminal_width(int fd);

/* True for a terminal, unless NO_COLOR or TERM=dumb is set. */
bool terminal_colour(int fd);

#endif
