/* SPDX-License-Identifier: BSD-2-Clause */
/* record.h: the records of a profile as C structures, made from records.def. */
#ifndef GCPROF_RECORD_H
#define GCPROF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GENERATED_PATH "[jit]" /* of modules that are code made at run time */

/* Bytes that belong to somebody else: the reader's chunk, or the caller of the writer. */
struct bytes {
	const char *data; /* not ended by a zero */
	size_t size;
};

enum record_kind {
#define RECORD(code, name, doc) RECORD_##name = code,
#include "records.def"
	RECORD_CODES = 64 /* every kind lies below */
};

/* struct record_alloc, struct record_cpu ... */
#define RECORD(code, name, doc)   struct record_##name {
#define UINT(record, field, doc)  uint64_t field;
#define INT(record, field, doc)   int64_t field;
#define TIME(record, field, doc)  uint64_t field;
#define DELTA(record, field, doc) uint64_t field;
#define BYTES(record, field, doc) struct bytes field;
#define END_RECORD(name) \
	}                \
	;
#include "records.def"

/* Any record. `kind` says which member of the union counts. */
struct record {
	enum record_kind kind;
	union {
#define RECORD(code, name, doc) struct record_##name name;
#include "records.def"
	};
};

enum field_kind { FIELD_UINT, FIELD_INT, FIELD_TIME, FIELD_DELTA, FIELD_BYTES };

/* What a field may hold the id of; frames of all kinds share one range. */
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

/* Ticks of the timer's frequency that a sample stands for: no writer means more than the most. */
#define CPU_TICKS_MAX 65536

static inline uint32_t record_cpu_ticks(const struct record_cpu *cpu)
{
	uint64_t ticks = cpu->ticks < CPU_TICKS_MAX ? cpu->ticks : CPU_TICKS_MAX;

	return ticks ? (uint32_t)ticks : 1;
}

/* The code (bpf/streams.def) of the stream that records of a kind are events of; 0: of none. */
unsigned record_stream(enum record_kind kind);

/* What records of a kind define: their first field is its id. */
enum record_ref record_defines(enum record_kind kind);

/* The field with the id that it has in all files of a recording; NULL: records of the kind have
 * none.
 */
uint64_t *record_common(struct record *record);

/* What records.def says of a code; NULL for a code that it does not know. Never freed. */
const struct record_info *record_info(unsigned code);

#endif
