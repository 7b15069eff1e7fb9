// SPDX-License-Identifier: BSD-2-Clause
/* record.c: the tables that describe every record and field, made from records.def. */
#include "record.h"

#include "../../bpf/events.h"

/* That of the events that become the record, all of the same one. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const unsigned char stream_of[RECORD_CODES] = {
#define EVENT(code, name, stream, record, stored, traits, doc) \
	[(traits)&TRAIT_SERVES ? RECORD_none : RECORD_##record] = STREAM_##stream,
#include "../../bpf/events.def"
};
#pragma GCC diagnostic pop

unsigned record_stream(const struct record *record)
{
	/* The part of a thread's usage until then. */
	if (record->kind == RECORD_usage && record->usage.flags & USAGE_GOES_ON)
		return 0;
	return record->kind && (unsigned)record->kind < RECORD_CODES ? stream_of[record->kind] : 0;
}

/* fields_alloc[], fields_cpu[] ... */
#define RECORD(code_, name_, doc_) static const struct field_info fields_##name_[] = {
#define FIELD(kind_, in_, name_, doc_, to_, time_) \
	{#name_, kind_, offsetof(struct record, in_.name_), doc_, REF_##to_, time_},
#define UINT(in_, name_, doc_)          FIELD(FIELD_UINT, in_, name_, doc_, none, false)
#define INT(in_, name_, doc_)           FIELD(FIELD_INT, in_, name_, doc_, none, false)
#define TIME(in_, name_, doc_)          FIELD(FIELD_TIME, in_, name_, doc_, none, true)
#define DELTA(in_, name_, doc_)         FIELD(FIELD_DELTA, in_, name_, doc_, none, false)
#define WHEN(in_, name_, doc_)          FIELD(FIELD_DELTA, in_, name_, doc_, none, true)
#define BACK(in_, name_, doc_)          FIELD(FIELD_BACK, in_, name_, doc_, none, false)
#define BYTES(in_, name_, doc_)         FIELD(FIELD_BYTES, in_, name_, doc_, none, false)
#define REF(in_, name_, to_, doc_)      FIELD(FIELD_UINT, in_, name_, doc_, to_, false)
#define REF_BACK(in_, name_, to_, doc_) FIELD(FIELD_BACK, in_, name_, doc_, to_, false)
#define END_RECORD(name_) \
	}                 \
	;
#include "records.def"

static const struct record_info infos[RECORD_CODES] = {
#define RECORD(code_, name_, doc_) \
	[code_] = {#name_, doc_, fields_##name_, sizeof(fields_##name_) / sizeof(*fields_##name_)},
#include "records.def"
};

enum record_ref record_defines(enum record_kind kind)
{
	switch (kind) {
	case RECORD_string:
		return REF_string;
	case RECORD_module:
		return REF_module;
	case RECORD_process:
		return REF_process;
	case RECORD_thread:
		return REF_thread;
	case RECORD_native_frame:
	case RECORD_kernel_frame:
	case RECORD_managed_frame:
		return REF_frame;
	case RECORD_stack:
		return REF_stack;
	default:
		return REF_none;
	}
}

bool record_may_repeat(enum record_kind kind)
{
	switch (kind) {
	case RECORD_header:
	case RECORD_chunk:
	case RECORD_segment:
	case RECORD_again:
	case RECORD_end:
		return false;
	default:
		return true;
	}
}

const struct record_info *record_info(unsigned code)
{
	return code < RECORD_CODES && infos[code].name ? &infos[code] : NULL;
}
