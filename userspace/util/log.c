/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c: messages on the terminal. */
#include "log.h"
#include "ascii.h"
#include "escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum log_level log_level = LOG_INFO;

void log_set_level(enum log_level level)
{
	log_level = level;
}

bool log_shows(enum log_level level)
{
	return level <= log_level;
}

/* One write per message, so that messages of several processes do not mix. */
static void print_line(enum log_level level, const char *text)
{
	char *ascii = ascii_only() ? ascii_text(text) : NULL;
	static const char *const prefix[] = {
		"gcprof: error: ", "gcprof: warning: ", "gcprof: ", "gcprof: ", "gcprof: debug: "};
	size_t size = strlen(prefix[level]) + strlen(text = ascii ? ascii : text) + 2;
	char *line = malloc(size);

	if (line) {
		snprintf(line, size, "%s%s\n", prefix[level], text);
		fflush(stdout);
		fwrite(line, 1, size - 1, stderr);
	}
	free(line);
	free(ascii);
}

void log_print(enum log_level level, const char *format, ...)
{
	va_list arguments;
	char *text;

	if (level > log_level)
		return;
	va_start(arguments, format);
	text = escape_format(format, arguments);
	va_end(arguments);
	if (text)
		print_line(level, text);
	free(text);
}

void log_problem(enum log_level level, const struct problem *problem)
{
	if (level <= log_level)
		print_line(level, problem->text);
}
