/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c: messages for the person at the terminal. */
#include "log.h"

#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum log_level log_level = LOG_INFO;

void log_set_level(enum log_level level)
{
	log_level = level;
}

/* One write per message, so that messages of several processes do not mix. */
static void print_escaped(const char *prefix, const char *text)
{
	size_t size = strlen(prefix) + 4 * strlen(text) + 2;
	char *line = malloc(size), *at = line;

	if (!line)
		return;
	at = stpcpy(at, prefix);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c < 0x20 && c != '\n') || c == 0x7f)
			at += sprintf(at, "\\x%02x", c);
		else
			*at++ = *text;
	}
	*at++ = '\n';
	fflush(stdout);
	fwrite(line, 1, (size_t)(at - line), stderr);
	free(line);
}

void log_print(enum log_level level, const char *format, ...)
{
	static const char *const prefix[] = {
		"gcprof: error: ", "gcprof: warning: ", "gcprof: ", "gcprof: ", "gcprof: debug: "};
	char *text = NULL;
	va_list arguments;

	if (level > log_level)
		return;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) >= 0)
		print_escaped(prefix[level], text);
	va_end(arguments);
	free(text);
}

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
	enum log_level ours = level == LIBBPF_WARN ? LOG_VERBOSE : LOG_DEBUG;
	char *text = NULL, *line, *rest;

	if (ours > log_level)
		return 0;
	/* Why the kernel refuses a program is told in many lines at once. */
	if (vasprintf(&text, format, arguments) >= 0) {
		for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
			log_print(ours, "%s", line);
	}
	free(text);
	return 0;
}

void log_capture_libbpf(void)
{
	libbpf_set_print(print_libbpf);
}
