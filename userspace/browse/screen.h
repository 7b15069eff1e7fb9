/* SPDX-License-Identifier: BSD-2-Clause */
/* screen.h: the terminal of standard input and output, by ncurses. */
#ifndef GCPROF_BROWSE_SCREEN_H
#define GCPROF_BROWSE_SCREEN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* Keys that are no character; others are characters, in UTF-8 (screen_key()). */
enum screen_key {
	SCREEN_NONE = 0,
	SCREEN_END_OF_INPUT = 4,
	SCREEN_ESCAPE = 27,
	SCREEN_UP = 0x110000, /* beyond all characters */
	SCREEN_DOWN,
	SCREEN_LEFT,
	SCREEN_RIGHT,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_TAB_BACK,
	SCREEN_BACKSPACE,
	SCREEN_ENTER,
	SCREEN_RESIZED,
	SCREEN_OTHER,
};

/* Can a person browse: are both a terminal, and not a dumb one? */
bool screen_possible(void);

/*
 * Takes over the terminal, with or without colours, until screen_close() or exit. A signal that
 * ends the process, also by a fault of its own, gives it back first, unless it is blocked. -ENOTTY:
 * ncurses cannot use it.
 */
int screen_open(bool colour);
void screen_close(void);

int screen_width(void);
int screen_height(void);

/*
 * Puts the first `length` bytes of a line of UTF-8 there, cut at the width. Of escape sequences
 * only the report's colours have an effect; no other control character reaches the terminal, and
 * where the locale asks for ASCII nothing else does.
 */
void screen_line(int row, const char *text, size_t length, bool selected);

/* Shows all lines since the last call, with the cursor at the begin of the last line, where others
 * may print. */
void screen_show(void);

/* Something else was printed: all is drawn again. */
void screen_spoiled(void);

/* The next key that was pressed, as a character or one of the above; does not wait. */
int screen_key(void);

/*
 * Waits for a key, a new size, or one of `fds`, the first of which is filled in for standard input.
 * 0 or a negative errno; -EIO: the terminal is gone.
 */
int screen_wait(struct pollfd *fds, nfds_t count);

#endif
