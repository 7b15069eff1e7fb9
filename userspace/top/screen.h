/* SPDX-License-Identifier: BSD-2-Clause */
/* screen.h: a terminal that shows pages and reads single keys. */
#ifndef GCPROF_SCREEN_H
#define GCPROF_SCREEN_H

#include <stddef.h>

/* Takes the terminal of standard input and output; given back at exit, too. A negative errno. */
int screen_open(void);
void screen_close(void);

int screen_width(void);
int screen_height(void);

/*
 * Shows lines of text, which may have colours, and one at the bottom; what does not fit is left
 * out. One write: nothing flickers.
 */
void screen_show(const char *text, const char *bottom);

/* The key that was pressed, 0: none. Sequences of other keys count as none. */
int screen_key(void);

#endif
