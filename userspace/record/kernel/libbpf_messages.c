/* SPDX-License-Identifier: BSD-2-Clause */
/* libbpf_messages.c: what libbpf says, among gcprof's own messages. */
#include "libbpf_messages.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/log.h"

static int print(enum libbpf_print_level level, const char *format, va_list arguments)
{
	enum log_level ours = level == LIBBPF_WARN ? LOG_VERBOSE : LOG_DEBUG;
	char *text = NULL, *line, *rest;

	if (!log_shows(ours))
		return 0;
	/* Why the kernel refuses a program comes in many lines at once. */
	if (vasprintf(&text, format, arguments) >= 0) {
		for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
			log_print(ours, "%s", line);
	}
	free(text);
	return 0;
}

void libbpf_messages_capture(void)
{
	libbpf_set_print(print);
}
