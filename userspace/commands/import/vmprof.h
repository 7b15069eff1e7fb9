/* SPDX-License-Identifier: BSD-2-Clause */
/* vmprof.h: reads VMProf's profiles and PyPy's logs, and converts them to gcprof's. */
/*
 * A VMProf file is a header of five words, then tagged entries. Entries have no lengths, so
 * reading ends at the first unknown one. Words have 8 bytes, least significant first.
 * Versions up to 7 are known; version 7 has times, allocation samples and objects'
 * outcomes.
 */
#ifndef GCPROF_VMPROF_H
#define GCPROF_VMPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../profile/cursor.h"
#include "../../profile/record.h"
#include "../../profile/sink.h"

enum vmprof_kind {
	VMPROF_TIME_SAMPLE = 0x01,
	VMPROF_VIRTUAL_IP = 0x02, /* a code object: id, name */
	VMPROF_TRAILER = 0x03,    /* with the time, from version 5 on */
	VMPROF_INTERPRETER = 0x04,
	VMPROF_HEADER = 0x05,
	VMPROF_TIME = 0x06, /* start time */
	VMPROF_META = 0x07,
	VMPROF_NATIVE_SYMBOL = 0x08,
	VMPROF_GC_SAMPLE = 0x09, /* an allocation */
	VMPROF_OBJECTS = 0x0a    /* at the end of a minor collection: the outcomes */
};

enum { VMPROF_WORDS_MAX = 1 << 16 };

/* An entry. Fields that its kind does not have are 0. */
struct vmprof_entry {
	enum vmprof_kind kind;
	double seconds;       /* CLOCK_MONOTONIC; negative: the version has no times */
	uint64_t realtime;    /* ns since 1970 */
	const uint8_t *words; /* 8 bytes each, possibly unaligned: use vmprof_word() */
	size_t n_words;
	uint64_t thread, rss_kib;
	uint64_t id;
	struct bytes key, text; /* key of a META; name, or value */
};

struct vmprof_reader {
	struct cursor cursor;
	uint64_t interval_us;
	unsigned version;
	bool memory, lines, rpython;
};

/*
 * Starts reading; `data` is borrowed. -EBADMSG: not a VMProf profile; -ENOTSUP: from a
 * 32-bit or Windows program.
 */
int vmprof_open(struct vmprof_reader *reader, const void *data, size_t size);

/* 1 and an entry; 0 at the end; -EBADMSG: truncated or invalid; -EPROTO: a newer version. */
int vmprof_next(struct vmprof_reader *reader, struct vmprof_entry *entry);

static inline uint64_t vmprof_word(const uint8_t *words, size_t index)
{
	uint64_t word = 0;

	for (int i = 8; i--;)
		word = word << 8 | words[8 * index + (size_t)i];
	return word;
}

struct pypylog;

struct vmprof_import {
	const char *name;          /* the file's name, for the facts of the profile */
	const struct pypylog *log; /* NULL: none */
	uint64_t
		clock_offset; /* REALTIME minus MONOTONIC, for versions without times; 0: unknown */
};

/* The outcome. */
struct vmprof_result {
	uint64_t time_samples, gc_samples;
	uint64_t unmatched;              /* allocation samples without type and outcome */
	uint64_t log_before, log_behind; /* sections of the log outside the profile */
	bool torn;                       /* the end is missing */
	unsigned version;
};

/*
 * Writes the profile of `data`. Takes over the sink, also on failure. Errors: those of
 * vmprof_open(), -EPROTO, those of the sink, -ENOMEM. A truncated file is not an error.
 */
int vmprof_convert(const void *data, size_t size, const struct vmprof_import *import,
		   struct sink *sink, struct vmprof_result *result);

/* Reads the log that PyPy writes with PYPYLOG=gc:FILE. */

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
