/* SPDX-License-Identifier: BSD-2-Clause */
/* terminal.c: the width of the output, and whether to use colour. */
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 100 };

int terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long width;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	width = columns ? strtol(columns, NULL, 10) : 0;
	return width > 0 && width < 10000 ? (int)width : WIDTH_DEFAULT;
}

bool terminal_colour(int fd)
{
	const char *off = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(off && *off) && term && strcmp(term, "dumb") != 0;
}
