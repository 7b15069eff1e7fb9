/* SPDX-License-Identifier: BSD-2-Clause */
/* record.h: the records of a profile as C structures, generated from records.def. */
#ifndef GCPROF_RECORD_H
#define GCPROF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORMAT_MAGIC  "gcprof"
#define FORMAT_NUMBER 5 /* raised when an older reader would misread a file; see FORMAT.md */

#define RECORDINGS_MAX 65536 /* recording numbers in a merged profile are lower */

/* Types, samples and heaps have the number of their provider minus 1 in these bits. */
#define PROVIDER_SHIFT    44
#define PROFILE_PROVIDERS 16 /* in a process */

#define GENERATED_PATH "[jit]" /* path of modules with code generated at run time */

/* Borrowed bytes: owned by the reader's chunk, or by the caller of the writer. */
struct bytes {
	const char *data; /* not terminated by a zero */
	size_t size;
};

enum record_kind {
	RECORD_none,
#define RECORD(code, name, doc) RECORD_##name = code,
#include "records.def"
	RECORD_CODES = 64 /* every code is below */
};

/* struct record_alloc, struct record_cpu ... */
#define RECORD(code, name, doc)   struct record_##name {
#define UINT(record, field, doc)  uint64_t field;
#define INT(record, field, doc)   int64_t field;
#define TIME(record, field, doc)  uint64_t field;
#define DELTA(record, field, doc) uint64_t field;
#define BACK(record, field, doc)  uint64_t field;
#define BYTES(record, field, doc) struct bytes field;
#define END_RECORD(name) \
	}                \
	;
#include "records.def"

/* Any record. `kind` selects the member of the union. */
struct record {
	enum record_kind kind;
	union {
#define RECORD(code, name, doc) struct record_##name name;
#include "records.def"
	};
};

enum field_kind { FIELD_UINT, FIELD_INT, FIELD_TIME, FIELD_DELTA, FIELD_BACK, FIELD_BYTES };

/* What a field's id refers to; frames of all kinds share one range. */
enum record_ref {
	REF_none,
	REF_string,
	REF_module,
	REF_process,
	REF_thread,
	REF_frame,
	REF_stack,
	REFS
};

struct field_info {
	const char *name;
	enum field_kind kind;
	size_t offset; /* in struct record */
	const char *doc;
	enum record_ref ref;
	bool time; /* CLOCK_MONOTONIC */
};

struct record_info {
	const char *name; /* NULL: no such code */
	const char *doc;
	const struct field_info *fields;
	size_t n_fields;
};

/* Upper limit for the ticks of a sample; no writer produces more. */
#define CPU_TICKS_MAX 65536

static inline uint32_t record_cpu_ticks(const struct record_cpu *cpu)
{
	uint64_t ticks = cpu->ticks < CPU_TICKS_MAX ? cpu->ticks : CPU_TICKS_MAX;

	return ticks ? (uint32_t)ticks : 1;
}

/* The code (bpf/streams.def) of the stream of which the record is an event; 0: of none. */
unsigned record_stream(const struct record *record);

/* What records of a kind define; their first field is the id. */
enum record_ref record_defines(enum record_kind kind);

/* May an `again` record contain records of this kind? */
bool record_may_repeat(enum record_kind kind);

/* The description of a code from records.def; NULL if unknown. Never freed. */
const struct record_info *record_info(unsigned code);

#endif
