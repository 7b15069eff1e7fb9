/* SPDX-License-Identifier: BSD-2-Clause */
/* pypylog.h: reads the log that PyPy writes with PYPYLOG=gc:FILE. */
#ifndef GCPROF_PYPYLOG_H
#define GCPROF_PYPYLOG_H

#include <stddef.h>
#include <stdint.h>

/* How to convert the log's time stamp counter to CLOCK_MONOTONIC. */
struct pypylog_clock {
	uint64_t tsc, monotonic; /* read together */
	double ns_per_tick;
};

enum pypylog_section { PYPYLOG_MINOR = 1, PYPYLOG_STEP };

/* A collection; of nested sections, the inner one. Times are CLOCK_MONOTONIC in ns. */
struct pypylog_gc {
	uint64_t begin, end;
	enum pypylog_section section;
};

struct pypylog {
	struct pypylog_gc *gcs; /* ordered by start */
	size_t n_gcs, capacity;
	uint64_t bad_lines; /* such as ends of sections that never began */
};

/*
 * Reads the text of a log. 0, -ENOMEM, or -EBADMSG if it contains no section. Invalid lines
 * are counted and skipped. Call pypylog_free() in any case.
 */
int pypylog_read(struct pypylog *log, const char *data, size_t size,
		 const struct pypylog_clock *clock);
void pypylog_free(struct pypylog *log);

#endif
