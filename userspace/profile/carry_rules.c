// SPDX-License-Identifier: BSD-2-Clause
/* carry_rules.c: how each kind of record is treated when a recording continues in another file. */
#include "carry_parts.h"

#define AT(in, name) offsetof(struct record, in.name)

const struct rule carry_rules[RECORD_CODES] = {
	[RECORD_string] = {ACTION_DEFINE},
	[RECORD_module] = {ACTION_DEFINE},
	[RECORD_process] = {ACTION_DEFINE},
	[RECORD_thread] = {ACTION_DEFINE},
	[RECORD_native_frame] = {ACTION_DEFINE},
	[RECORD_kernel_frame] = {ACTION_DEFINE},
	[RECORD_managed_frame] = {ACTION_DEFINE},
	[RECORD_stack] = {ACTION_DEFINE},
	[RECORD_meta] = {ACTION_NOTE, .many = true},
	[RECORD_argument] = {ACTION_NOTE, .many = true},
	[RECORD_recording] = {ACTION_NOTE},
	[RECORD_stream] = {ACTION_NOTE, .key = AT(stream, stream)},
	[RECORD_loss_kind] = {ACTION_NOTE, .key = AT(loss_kind, kind)},
	[RECORD_call_window] = {ACTION_NOTE},
	[RECORD_paused] = {ACTION_NOTE, .at_begin = true},
	[RECORD_period] = {ACTION_NOTE, .at_begin = true},
	[RECORD_type] = {ACTION_NAME, REF_process, AT(type, process), AT(type, type)},
	[RECORD_code] = {ACTION_NAME, REF_process, AT(code, process), AT(code, code)},
	[RECORD_symbol] = {ACTION_NAME, REF_frame, AT(symbol, frame), .many = true},
	[RECORD_runtime] = {ACTION_NAME, REF_process, AT(runtime, process), AT(runtime, provider)},
	[RECORD_gc_name] = {ACTION_NAME, REF_process, AT(gc_name, process), AT(gc_name, number)},
	[RECORD_mmap] = {ACTION_NOTE, REF_process, AT(mmap, process), AT(mmap, address),
			 .at_begin = true},
	[RECORD_comm] = {ACTION_NOTE, REF_thread, AT(comm, thread), .at_begin = true},
	[RECORD_title] = {ACTION_NOTE, REF_thread, AT(title, thread), .at_begin = true},
	[RECORD_gc_begin] = {ACTION_OPEN, REF_thread, AT(gc_begin, thread), AT(gc_begin, cycle)},
	[RECORD_gc_end] = {ACTION_CLOSE, REF_thread, AT(gc_end, thread), AT(gc_end, cycle)},
};

struct thing *carry_owner(const struct carry *carry, const struct record *record)
{
	const struct rule *rule = &carry_rules[record->kind];
	struct thing *thread;

	if (rule->owner == REF_none)
		return carry->recording;
	if (rule->action != ACTION_OPEN && rule->action != ACTION_CLOSE)
		return carry_find(carry, rule->owner, carry_at(record, rule->owner_field));
	/* A collection may end in another thread of the process. */
	thread = carry_find(carry, REF_thread, carry_at(record, rule->owner_field));
	return thread ? carry_find(carry, REF_process, thread->process) : NULL;
}

uint64_t carry_key(const struct record *record, struct thing *owner)
{
	const struct rule *rule = &carry_rules[record->kind];

	if (rule->many)
		return owner->appended++;
	/* Each heap numbers its cycles separately. */
	if (record->kind == RECORD_gc_begin)
		return carry_at(record, rule->key) ^ record->gc_begin.heap << 40;
	if (record->kind == RECORD_gc_end)
		return carry_at(record, rule->key) ^ record->gc_end.heap << 40;
	/* Withheld addresses are all 0. */
	if (record->kind == RECORD_mmap && !record->mmap.address)
		return record->mmap.module;
	return carry_at(record, rule->key);
}
