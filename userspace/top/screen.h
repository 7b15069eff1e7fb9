/* SPDX-License-Identifier: BSD-2-Clause */
/* screen.h: a terminal that shows pages and reads single keys. */
#ifndef GCPROF_SCREEN_H
#define GCPROF_SCREEN_H

#include <stddef.h>

/*
 * Takes over the terminal of standard input and output, until screen_close() or exit.
 * Returns a negative errno on failure.
 */
int screen_open(void);
void screen_close(void);

int screen_width(void);
int screen_height(void);

/*
 * Shows lines of text, which may contain colours, and a line at the bottom. Text that does
 * not fit is left out. Uses a single write to avoid flicker.
 */
void screen_show(const char *text, const char *bottom);

/* Reads pressed keys (bytes) and returns their number; escape sequences of special keys count as
 * none. */
size_t screen_keys(char *keys, size_t size);

#endif
