/* SPDX-License-Identifier: BSD-2-Clause */
/* name_table.c: answers READ_TABLE: reads the name table from a program's memory. */
/*
 * The program may have written anything: circular chunks, invalid addresses, any count. Chunks,
 * entries and bytes are therefore limited, and unreadable parts are skipped.
 */
#include "reader.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../../gc/provider/frame.h"
#include "remote_memory.h"

enum { READ_AT_ONCE = 64 }; /* entries */

struct walk {
	struct remote *memory;
	uint32_t entries, chunks; /* so far */
	size_t bytes;             /* of the answer */
	int err;                  /* why names are missing; 0: none are */
};

/* A text of a program, truncated to TABLE_TEXT_MAX: its length, 0 if unreadable. */
static uint16_t read_text(struct remote *memory, uint64_t from, char out[TABLE_TEXT_MAX])
{
	size_t size = from ? remote_read(memory, from, out, TABLE_TEXT_MAX) : 0;

	return (uint16_t)strnlen(out, size);
}

/* Stops reading, with the reason in `err`; returns false. */
static bool stop(struct walk *walk, int err)
{
	walk->err = err;
	return false;
}

static bool name_table_put_name(struct walk *walk, const struct gcprof_name *entry)
{
	char text[TABLE_TEXT_MAX], file[TABLE_TEXT_MAX];
	struct table_name name = {.id = entry->id, .line = entry->line, .kind = entry->kind};

	if (entry->kind < GCPROF_NAME_TYPE || entry->kind > GCPROF_NAME_GC)
		return true;
	name.text_size = read_text(walk->memory, entry->name, text);
	name.file_size = read_text(walk->memory, entry->file, file);
	if (!name.text_size) {
		walk->err = -EFAULT;
		return true;
	}
	walk->bytes += sizeof(name) + name.text_size + name.file_size;
	if (walk->bytes > TABLE_ANSWER_MAX - sizeof(name))
		return stop(walk, -E2BIG);
	wire_put(&name, sizeof(name));
	wire_put(text, name.text_size);
	wire_put(file, name.file_size);
	return true;
}

/* Sends the entries of a chunk, which begin at `from`. */
static bool put_entries(struct walk *walk, uint64_t from, uint32_t count)
{
	struct gcprof_name entries[READ_AT_ONCE];
	uint32_t n;

	for (; count; count -= n, from += n * sizeof(*entries)) {
		n = count < READ_AT_ONCE ? count : READ_AT_ONCE;
		walk->entries += n;
		if (walk->entries > TABLE_ENTRIES_MAX)
			return stop(walk, -E2BIG);
		if (!remote_read_all(walk->memory, from, entries, n * sizeof(*entries)))
			return stop(walk, -EFAULT);
		for (uint32_t i = 0; i < n; i++)
			if (!name_table_put_name(walk, &entries[i]))
				return false;
	}
	return true;
}

static bool put_chunk(struct walk *walk, uint64_t at, uint64_t *next)
{
	struct gcprof_names chunk;

	if (walk->chunks++ == TABLE_CHUNKS_MAX)
		return stop(walk, -E2BIG);
	if (!remote_read_all(walk->memory, at, &chunk, sizeof(chunk)))
		return stop(walk, -EFAULT);
	*next = chunk.next;
	return put_entries(walk, at + sizeof(chunk), chunk.count);
}

static int answer_table(struct remote *memory, uint64_t address)
{
	struct walk walk = {.memory = memory};
	struct gcprof_control control;
	struct table_name end = {.kind = 0};

	if (!remote_read_all(memory, address, &control, sizeof(control)))
		return remote_error(memory) ? remote_error(memory) : -ESRCH;
	if (control.magic != GCPROF_CONTROL_MAGIC || control.version != GCPROF_CONTROL_VERSION)
		return -ENOENT;
	for (uint64_t at = control.names; at && put_chunk(&walk, at, &at);)
		;
	if (remote_error(memory))
		walk.err = remote_error(memory);
	end.id = (uint64_t)-walk.err;
	wire_put(&end, sizeof(end));
	return 0;
}

int table_answer(struct request *request)
{
	struct table_request wanted;
	struct remote *memory = NULL;
	int err = -EBADMSG;

	if (request->files.n == 1 && request->head.size == sizeof(wanted)) {
		memcpy(&wanted, request->data, sizeof(wanted));
		err = remote_open(request->files.fds[0], &memory);
		if (!err)
			err = answer_table(memory, wanted.control);
		remote_close(memory);
	}
	for (size_t i = 0; i < request->files.n; i++)
		close(request->files.fds[i]);
	return err;
}

static bool is_reason(uint64_t err)
{
	return err == E2BIG || err == EFAULT || err == ETIMEDOUT;
}

int table_take(const void *data, size_t size, table_visit *visit, void *context)
{
	const char *at = data, *end = at + size;
	struct table_name name;

	while ((size_t)(end - at) >= sizeof(name)) {
		memcpy(&name, at, sizeof(name));
		at += sizeof(name);
		if (!name.kind)
			return is_reason(name.id) ? -(int)name.id : 0;
		if (name.kind > GCPROF_NAME_GC || !name.text_size ||
		    name.text_size > TABLE_TEXT_MAX || name.file_size > TABLE_TEXT_MAX ||
		    name.text_size + name.file_size > end - at)
			return -EBADMSG;
		visit(context, &name, at, at + name.text_size);
		at += name.text_size + name.file_size;
	}
	return -EBADMSG;
}
