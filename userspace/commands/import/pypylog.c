/* SPDX-License-Identifier: BSD-2-Clause */
/* pypylog.c: reads the log that PyPy writes with PYPYLOG=gc:FILE. */
/*
 * A section begins with the line "[HEX] {name" and ends with "[HEX] name}", where HEX is
 * the time stamp counter. Sections are nested; the lines between say what was done.
 */
#include "vmprof.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_MAX = 64, HEX_MAX = 16 };

struct line {
	uint64_t tsc;
	const char *name; /* not zero-terminated */
	size_t size;
	bool begins;
};

static int digit_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static bool pypylog_parse(const char *at, const char *end, struct line *line)
{
	int digits = 0;

	*line = (struct line){0};
	if (at == end || *at++ != '[')
		return false;
	for (; at < end && digit_of(*at) >= 0 && digits < HEX_MAX; at++, digits++)
		line->tsc = line->tsc << 4 | (uint64_t)digit_of(*at);
	if (!digits || end - at < 4 || at[0] != ']' || at[1] != ' ')
		return false;
	at += 2;
	line->begins = *at == '{';
	line->name = at + line->begins;
	line->size = (size_t)(end - line->name);
	if (line->begins)
		return line->size > 0;
	return line->name[--line->size] == '}' && line->size > 0;
}

static bool is_named(const struct line *line, const char *name)
{
	return line->size == strlen(name) && memcmp(line->name, name, line->size) == 0;
}

static enum pypylog_section section_of(const struct line *line)
{
	return is_named(line, "gc-minor")          ? PYPYLOG_MINOR
	       : is_named(line, "gc-collect-step") ? PYPYLOG_STEP
						   : (enum pypylog_section)0;
}

static uint64_t monotonic_of(const struct pypylog_clock *clock, uint64_t tsc)
{
	double ns = (double)(int64_t)(tsc - clock->tsc) * clock->ns_per_tick;

	if (ns < -(double)clock->monotonic)
		return 0;
	return ns < 1e18 ? clock->monotonic + (uint64_t)(int64_t)ns : UINT64_MAX / 2;
}

static int pypylog_add(struct pypylog *log, const struct pypylog_gc *gc)
{
	size_t capacity = log->capacity ? 2 * log->capacity : 256;
	struct pypylog_gc *larger;

	if (log->n_gcs == log->capacity) {
		larger = realloc(log->gcs, capacity * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		log->gcs = larger;
		log->capacity = capacity;
	}
	log->gcs[log->n_gcs++] = *gc;
	return 0;
}

/* Open sections, innermost last. */
struct open {
	struct line lines[OPEN_MAX];
	size_t count;
	uint64_t sections;
};

static int pypylog_take(struct pypylog *log, struct open *open, const struct line *line,
			const struct pypylog_clock *clock)
{
	struct pypylog_gc gc = {.section = section_of(line)};
	const struct line *begin;

	if (line->begins) {
		if (open->count < OPEN_MAX)
			open->lines[open->count++] = *line;
		else
			log->bad_lines++;
		return 0;
	}
	begin = open->count ? &open->lines[open->count - 1] : NULL;
	if (!begin || begin->size != line->size ||
	    memcmp(begin->name, line->name, line->size) != 0 || begin->tsc > line->tsc) {
		log->bad_lines++;
		return 0;
	}
	open->count--;
	open->sections++;
	if (!gc.section)
		return 0;
	gc.begin = monotonic_of(clock, begin->tsc);
	gc.end = monotonic_of(clock, line->tsc);
	return pypylog_add(log, &gc);
}

static int by_begin(const void *a, const void *b)
{
	const struct pypylog_gc *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

int pypylog_read(struct pypylog *log, const char *data, size_t size,
		 const struct pypylog_clock *clock)
{
	struct open open = {.count = 0};
	const char *end = data + size;
	int error = 0;

	*log = (struct pypylog){0};
	for (const char *at = data; at < end && !error;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		struct line line;

		stop = stop ? stop : end;
		if (pypylog_parse(at, stop, &line))
			error = pypylog_take(log, &open, &line, clock);
		at = stop + 1;
	}
	if (log->n_gcs)
		qsort(log->gcs, log->n_gcs, sizeof(*log->gcs), by_begin);
	return error ? error : open.sections ? 0 : -EBADMSG;
}

void pypylog_free(struct pypylog *log)
{
	free(log->gcs);
	*log = (struct pypylog){0};
}
