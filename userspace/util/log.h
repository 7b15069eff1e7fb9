/* SPDX-License-Identifier: BSD-2-Clause */
/* log.h: messages on the terminal, all on stderr. */
#ifndef GCPROF_LOG_H
#define GCPROF_LOG_H

#include <stdbool.h>

#include "problem.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_VERBOSE, LOG_DEBUG };

/* What is printed: LOG_INFO unless -q (LOG_WARNING), -v (LOG_VERBOSE) or -vv (LOG_DEBUG). */
void log_set_level(enum log_level level);

/*
 * From now on, of warnings and notes with one format 20 are printed, and then one in 10 s: programs
 * may cause any number of them. With -v all are printed. log_end_limit() prints how many were left
 * out. Problems and errors are not limited.
 */
void log_limit(void);
void log_end_limit(void);

/* Are messages of this level printed? */
bool log_shows(enum log_level level);

/*
 * Prints "gcprof: error: ..." for errors, and so on. Arguments may be untrusted: they are escaped
 * (escape.h), and only the newlines of `format` are printed.
 */
void log_print(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a problem, whose text is escaped and keeps its newlines. No other text is printed as
 * it is. */
void log_problem(enum log_level level, const struct problem *problem);

#define log_error(...)   log_print(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_print(LOG_WARNING, __VA_ARGS__)
#define log_info(...)    log_print(LOG_INFO, __VA_ARGS__)
#define log_verbose(...) log_print(LOG_VERBOSE, __VA_ARGS__)
#define log_debug(...)   log_print(LOG_DEBUG, __VA_ARGS__)

#endif
