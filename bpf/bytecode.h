/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* bytecode.h: numbers interpreted functions, and reports each one once. */
/*
 * Functions are freed and processes end, so names cannot be read later. The thread that runs a
 * function reports it when it is first found on a stack, with copies of its name, file and line
 * table. The reader interprets them.
 */
#ifndef GCPROF_BYTECODE_H
#define GCPROF_BYTECODE_H

#include "ceiling.h"

#define BYTECODE_RATE 20000 /* reports per second and CPU */

/* Result of a loop callback: 0 or 1, as the compiler knows, but not the verifier. */
static __always_inline long stack_ends(int end)
{
	return opaque((uint32_t)end) != 0;
}

/* Argument of callbacks of loops over frames: as small as possible, since the stack is short. */
struct bytecode_loop {
	struct scratch *scratch;
	struct task_state *state;
};

/* Separate functions, because all callers are short of stack space. */

/* Appends memory. Returns the bytes appended; 0: unreadable, or `max` or more. */
static __always_inline uint32_t bytecode_append(struct bytecode_room *room, uint64_t from,
						uint32_t bytes, const uint32_t max)
{
	uint64_t to, size;

	if (!bytes)
		return 0;
	size = opaque(bytes);
	to = opaque(room->used);
	if (size >= max || to > sizeof(room->data) - max ||
	    bpf_probe_read_user(room->data + to, size, (const void *)from))
		return 0;
	room->used = (to + size + 7) & ~7u;
	return size;
}

/* Appends `bytes` of a text, a whole number of characters. Returns as bytecode_append(). */
static __always_inline uint32_t bytecode_copy(struct bytecode_room *room, uint64_t from,
					      uint32_t bytes)
{
	if (bytes > BYTECODE_TEXT_MAX - 4)
		bytes = BYTECODE_TEXT_MAX - 4;
	return bytecode_append(room, from, bytes, BYTECODE_TEXT_MAX);
}

/* Appends the characters of a Python string object. */
__noinline uint32_t bytecode_text(struct bytecode_room *room, const struct scratch *scratch,
				  uint64_t text)
{
	uint32_t state, bytes;

	if (!room || !scratch ||
	    bpf_probe_read_user(room->head, 3 * sizeof(room->head[0]),
				(const void *)(text + scratch->cpython.layout.at[CPYTHON_TYPE] +
					       CPYTHON_LENGTH)))
		return 0;
	state = (uint32_t)room->head[2];
	room->width = state >> CPYTHON_TEXT_WIDTH & 7;
	bytes = room->head[0] < BYTECODE_TEXT_MAX ? (uint32_t)room->head[0] * room->width
						  : BYTECODE_TEXT_MAX;
	text += state >> CPYTHON_TEXT_IS_ASCII & 1 ? scratch->cpython.layout.at[CPYTHON_TEXT_ASCII]
						   : scratch->cpython.layout.at[CPYTHON_TEXT_WIDE];
	return state >> CPYTHON_TEXT_COMPACT & 1 ? bytecode_copy(room, text, bytes) : 0;
}

/* Appends a Python bytes object. */
__noinline uint32_t bytecode_table(struct bytecode_room *room, const struct scratch *scratch,
				   uint64_t table)
{
	uint32_t bytes;

	if (!room || !scratch)
		return 0;
	table += scratch->cpython.layout.at[CPYTHON_TYPE];
	if (bpf_probe_read_user(room->head, sizeof(room->head[0]),
				(const void *)(table + CPYTHON_LENGTH)))
		return 0;
	bytes = room->head[0] < BYTECODE_TABLE_MAX ? (uint32_t)room->head[0]
						   : BYTECODE_TABLE_MAX - 1;
	return bytecode_append(room, table + CPYTHON_BYTES, bytes, BYTECODE_TABLE_MAX);
}

static __always_inline void bytecode_fill_python(struct bytecode_room *room,
						 const struct scratch *scratch)
{
	const struct walk_cpython *walk = &scratch->cpython;
	struct event_bytecode *event = &room->event;

	event->line = cpython_code_line(walk);
	event->name_size = bytecode_text(room, scratch, cpython_code_part(walk, CPYTHON_CODE_NAME));
	event->name_width = room->width;
	event->file_size = bytecode_text(room, scratch, cpython_code_part(walk, CPYTHON_CODE_FILE));
	event->file_width = room->width;
	event->table_size =
		bytecode_table(room, scratch, cpython_code_part(walk, CPYTHON_CODE_TABLE));
}

/* Appends the characters of a V8 string; nothing if it is not a string. */
static __always_inline uint32_t bytecode_v8_text(struct bytecode_room *room,
						 struct scratch *scratch, uint64_t string)
{
	const struct v8_text *text;
	int found;

	if (!room || !scratch)
		return 0;
	found = v8_text(&scratch->v8, string);
	text = &scratch->v8.text;
	room->width = text->width;
	return found ? bytecode_copy(room, text->at,
				     text->length < BYTECODE_TEXT_MAX ? text->length * text->width
								      : BYTECODE_TEXT_MAX)
		     : 0;
}

static __always_inline void bytecode_fill_v8(struct bytecode_room *room, struct scratch *scratch)
{
	struct event_bytecode *event = &room->event;

	event->line = scratch->v8.line;
	event->name_size = bytecode_v8_text(room, scratch, scratch->v8.function);
	event->name_width = room->width;
	event->file_size = bytecode_v8_text(
		room, scratch, v8_field(&scratch->v8, scratch->v8.script, V8_SCRIPT_NAME));
	event->file_width = room->width;
	event->table_size = 0;
}

/* Appends the characters of a Ruby string, or of the last of the two strings in an array. */
__noinline uint32_t bytecode_ruby_text(struct bytecode_room *room, uint64_t text)
{
	uint64_t other;

	if (!room || bpf_probe_read_user(room->head, sizeof(room->head), (const void *)text))
		return 0;
	if ((room->head[0] & (RUBY_TYPE | RUBY_FORM_BIT)) == (RUBY_ARRAY | RUBY_FORM_BIT)) {
		other = room->head[3];
		text = other > RUBY_LAST_SIMPLE && !(other & 7) ? other : room->head[2];
		if (bpf_probe_read_user(room->head, sizeof(room->head), (const void *)text))
			return 0;
	}
	if ((room->head[0] & RUBY_TYPE) != RUBY_STRING)
		return 0;
	if (!(room->head[0] & RUBY_FORM_BIT))
		return bytecode_copy(room, text + 2 * sizeof(uint64_t),
				     room->head[0] >> RUBY_LENGTH_SHIFT & 31);
	return bytecode_copy(room, room->head[3],
			     room->head[2] < BYTECODE_TEXT_MAX ? (uint32_t)room->head[2]
							       : BYTECODE_TEXT_MAX);
}

/* Appends the index of a function's line entries, and the entries. */
__noinline uint32_t bytecode_ruby_table(struct bytecode_room *room, const struct walk_ruby *walk)
{
	uint32_t index, words, entries;

	if (!room || !walk)
		return 0;
	words = ruby_code_words(walk);
	index = ruby_index_bytes(words);
	if (index >= RUBY_INDEX_MAX ||
	    !bytecode_append(room, ruby_body_part(walk, RUBY_BODY_INDEX), index, RUBY_INDEX_MAX))
		return 0;
	entries = walk->body[(walk->layout.at[RUBY_BODY_ENTRIES] / sizeof(uint64_t) + 2) & 31];
	entries = entries < RUBY_ENTRIES_MAX / RUBY_ENTRY_BYTES ? entries * RUBY_ENTRY_BYTES
								: RUBY_ENTRIES_MAX - 1;
	return index + bytecode_append(room, ruby_body_part(walk, RUBY_BODY_ENTRIES), entries,
				       RUBY_ENTRIES_MAX);
}

static __always_inline void bytecode_fill_ruby(struct bytecode_room *room,
					       const struct scratch *scratch)
{
	const struct walk_ruby *walk = &scratch->ruby;
	struct event_bytecode *event = &room->event;

	event->line = (uint32_t)(ruby_body_part(walk, RUBY_BODY_LINE) >> 1);
	event->words = ruby_code_words(walk);
	event->name_size = bytecode_ruby_text(room, ruby_body_part(walk, RUBY_BODY_NAME));
	event->file_size = bytecode_ruby_text(room, ruby_body_part(walk, RUBY_BODY_FILE));
	event->name_width = event->file_width = 0;
	event->table_size = bytecode_ruby_table(room, walk);
}

/* Reports the current function. Returns its number, or 0 if there was no room. */
__noinline uint32_t bytecode_report(struct scratch *scratch, const struct task_state *state)
{
	struct bytecode_room *room;
	uint64_t now, size;
	uint32_t slot;

	if (!scratch || !state)
		return 0;
	now = bpf_ktime_get_ns();
	slot = scratch->slot;
	room = bpf_map_lookup_elem(&bytecode_rooms, &slot);
	if (!room || !ceiling_below(CEILING_BYTECODE, BYTECODE_RATE, now))
		return 0;
	room->used = 0;
	room->event.runtime = scratch->bytecode.runtime;
	room->event.words = 0;
	if (scratch->bytecode.runtime == BYTECODE_V8)
		bytecode_fill_v8(room, scratch);
	else if (scratch->bytecode.runtime == BYTECODE_RUBY)
		bytecode_fill_ruby(room, scratch);
	else
		bytecode_fill_python(room, scratch);
	emit_header(&room->event.header, EVENT_bytecode, sizeof(room->event) + room->used, state,
		    now);
	room->event.number = __sync_fetch_and_add(&next_bytecode, 1);
	size = opaque(room->event.header.size);
	if (size > sizeof(room->event) + sizeof(room->data) ||
	    !ceiling_share(&ring_alloc, state->process, size, now) ||
	    bpf_ringbuf_output(&ring_alloc, &room->event, size, emit_wakeup(&ring_alloc)))
		return 0;
	return room->event.number;
}

static __always_inline void bytecode_key_of(const struct scratch *scratch,
					    const struct task_state *state,
					    struct bytecode_key *key)
{
	key->address = scratch->bytecode.address;
	key->process = state->process;
	key->reserved = 0;
}

/* Returns the number of the current function; 0: not reported yet. */
__noinline uint32_t bytecode_find(const struct scratch *scratch, const struct task_state *state)
{
	struct bytecode_known *known;
	struct bytecode_key key;

	if (!scratch || !state)
		return 0;
	bytecode_key_of(scratch, state, &key);
	known = bpf_map_lookup_elem(&bytecodes, &key);
	return known && known->print == scratch->bytecode.print ? known->number : 0;
}

/* Remembers the number of the current function; 0: it could not be reported. */
__noinline int bytecode_keep(const struct scratch *scratch, const struct task_state *state,
			     uint32_t number)
{
	struct bytecode_known known = {.number = number};
	struct bytecode_key key;

	if (!scratch || !state)
		return 0;
	bytecode_key_of(scratch, state, &key);
	known.print = scratch->bytecode.print;
	if (number)
		bpf_map_update_elem(&bytecodes, &key, &known, BPF_ANY);
	else
		loss_count(LOSS_BYTECODE);
	return 0;
}

#endif
