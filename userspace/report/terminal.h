/* SPDX-License-Identifier: BSD-2-Clause */
/* terminal.h: how wide to print, and whether in colour. */
#ifndef GCPROF_TERMINAL_H
#define GCPROF_TERMINAL_H

#include <stdbool.h>

/* Columns of the terminal behind `fd`, else COLUMNS, else 100. */
int terminal_width(int fd);

/* A terminal, and neither NO_COLOR nor TERM=dumb says otherwise. */
bool terminal_colour(int fd);

#endif
