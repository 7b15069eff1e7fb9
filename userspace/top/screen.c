/* SPDX-License-Identifier: BSD-2-Clause */
/* screen.c: a terminal that shows pages and reads single keys. */
/*
 * Uses the control sequences of ECMA-48, which every current terminal supports, and xterm's
 * alternate screen.
 */
#include "screen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

static struct termios before;
static bool taken;

static void screen_put(const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(STDOUT_FILENO, text, size);

		if (n < 0 && errno != EINTR)
			return;
		text += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
}

void screen_close(void)
{
	if (!taken)
		return;
	taken = false;
	screen_put(LEAVE, strlen(LEAVE));
	tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

int screen_open(void)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return -errno;
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
		return -errno;
	taken = true;
	atexit(screen_close);
	screen_put(ENTER, strlen(ENTER));
	return 0;
}

static struct winsize size_of(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col || !size.ws_row)
		size = (struct winsize){.ws_col = 100, .ws_row = 40};
	return size;
}

int screen_width(void)
{
	return size_of().ws_col;
}

int screen_height(void)
{
	return size_of().ws_row;
}

/* The bytes of a line's first `width` characters. */
static int cut(const char *line, int width)
{
	int length = 0;

	for (; line[length]; length++) {
		bool begins = (line[length] & 0xc0) != 0x80;

		if (begins && !width)
			break;
		width -= begins;
	}
	return length;
}

void screen_show(const char *text, const char *bottom)
{
	int height = screen_height();
	char *page = NULL;
	size_t size;
	FILE *out = open_memstream(&page, &size);

	if (!out)
		return;
	fputs("\033[H", out);
	for (int line = 1; line < height; line++) {
		size_t length = strcspn(text, "\n");

		/* Behind a line of the full width the cursor stands on its last character. */
		fprintf(out, "\033[K%.*s\033[0m\n", (int)length, text);
		text += length + (text[length] == '\n');
	}
	fprintf(out, "\033[K\033[7m%.*s\033[0m", cut(bottom, screen_width()), bottom);
	if (!fclose(out))
		screen_put(page, size);
	free(page);
}

size_t screen_keys(char *keys, size_t size)
{
	ssize_t n = read(STDIN_FILENO, keys, size);

	return n < 1 || (n > 1 && keys[0] == '\033') ? 0 : (size_t)n;
}
