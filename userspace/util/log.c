/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c: messages on the terminal. */
#include "log.h"
#include "ascii.h"
#include "escape.h"
#include "plural.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KINDS = 64, BURST = 20, EACH_S = 10 };

/* Messages of one format. */
struct kind {
	const char *format;
	unsigned printed; /* of the first ones */
	time_t next;      /* when one more is, s */
};

static enum log_level log_level = LOG_INFO;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kind kinds[KINDS];
static bool is_limited;
static unsigned long left_out;

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

/* Beyond KINDS formats, the last ones share a limit. */
static bool passes(const char *format)
{
	struct kind *kind = kinds;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	while (kind < kinds + KINDS - 1 && kind->format && kind->format != format)
		kind++;
	kind->format = format;
	if (kind->printed == BURST && now.tv_sec < kind->next)
		return false;
	kind->printed += kind->printed < BURST;
	kind->next = now.tv_sec + EACH_S;
	return true;
}

static bool is_left_out(enum log_level level, const char *format)
{
	bool left = false;

	pthread_mutex_lock(&lock);
	if (is_limited && (level == LOG_WARNING || level == LOG_INFO) && log_level < LOG_VERBOSE)
		left = !passes(format);
	left_out += left;
	pthread_mutex_unlock(&lock);
	return left;
}

void log_limit(void)
{
	is_limited = true;
}

void log_end_limit(void)
{
	is_limited = false;
	if (left_out)
		log_warning("%lu more message%s like these %s left out (-v shows all)", left_out,
			    plural(left_out, "[|s]").text, plural(left_out, "[was|were]").text);
	left_out = 0;
	memset(kinds, 0, sizeof(kinds));
}

void log_print(enum log_level level, const char *format, ...)
{
	va_list arguments;
	char *text;

	if (level > log_level || is_left_out(level, format))
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
