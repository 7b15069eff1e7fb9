/* SPDX-License-Identifier: BSD-2-Clause */
/* pypylog.h: reads the log that PyPy writes with PYPYLOG=gc:FILE. */
#ifndef GCPROF_PYPYLOG_H
#define GCPROF_PYPYLOG_H

#include <stddef.h>
#include <stdint.h>

/* How the time stamp counter of its lines becomes CLOCK_MONOTONIC. */
struct pypylog_clock {
	uint64_t tsc, monotonic; /* read together */
	double ns_per_tick;
};

enum pypylog_section { PYPYLOG_MINOR = 1, PYPYLOG_STEP };

/* A collection: of sections in each other, the inner one. CLOCK_MONOTONIC ns. */
struct pypylog_gc {
	uint64_t begin, end;
	enum pypylog_section section;
};

struct pypylog {
	struct pypylog_gc *gcs; /* by their beginning */
	size_t n_gcs, capacity;
	uint64_t bad_lines; /* sections that end without having begun, and the like */
};

/*
 * Reads the text of a log. 0, -ENOMEM, or -EBADMSG if there is no section in it. Lines
 * that make no sense are counted and left out. pypylog_free() is due in any case.
 */
int pypylog_read(struct pypylog *log, const char *data, size_t size,
		 const struct pypylog_clock *clock);
void pypylog_free(struct pypylog *log);

#endif
