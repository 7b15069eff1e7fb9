/* SPDX-License-Identifier: BSD-2-Clause */
/* vmprof_read.c: parses a VMProf profile, entry by entry. */
#include <errno.h>
#include <string.h>

#include "vmprof.h"

enum {
	HEADER_WORDS = 5,
	VERSION_THREADS = 1,
	VERSION_MEMORY = 3,
	VERSION_MODES = 4,
	VERSION_DURATION = 5,
	VERSION_TIMES = 7,
	MODE_MEMORY = 1,
	MODE_LINES = 2,
	MODE_RPYTHON = 8,
	ZONE_SIZE = 8,
};

static bool take_word(struct vmprof_reader *reader, uint64_t *out)
{
	const uint8_t *at;

	if (!cursor_take(&reader->cursor, 8, &at))
		return false;
	*out = vmprof_word(at, 0);
	return true;
}

static bool take_byte(struct vmprof_reader *reader, unsigned *out)
{
	const uint8_t *at;

	if (!cursor_take(&reader->cursor, 1, &at))
		return false;
	*out = *at;
	return true;
}

/* Takes `size` bytes without copying them. */
static bool take_bytes(struct vmprof_reader *reader, uint64_t size, struct bytes *out)
{
	const uint8_t *at;

	if (!cursor_take(&reader->cursor, size, &at))
		return false;
	*out = (struct bytes){(const char *)at, size};
	return true;
}

static bool take_text(struct vmprof_reader *reader, struct bytes *out)
{
	uint64_t size;

	return take_word(reader, &size) && take_bytes(reader, size, out);
}

/* Seconds, microseconds and a time zone, which is ignored. */
static bool take_realtime(struct vmprof_reader *reader, uint64_t *out)
{
	struct bytes zone;
	uint64_t seconds, micros;

	if (!take_word(reader, &seconds) || !take_word(reader, &micros) ||
	    !take_bytes(reader, ZONE_SIZE, &zone) || seconds > UINT32_MAX || micros > 1000000)
		return false;
	*out = (seconds * 1000000 + micros) * 1000;
	return true;
}

int vmprof_open(struct vmprof_reader *reader, const void *data, size_t size)
{
	uint64_t words[HEADER_WORDS];

	*reader = (struct vmprof_reader){.cursor = cursor_make(data, size)};
	for (int i = 0; i < HEADER_WORDS; i++)
		if (!take_word(reader, &words[i]))
			return -EBADMSG;
	/* With words of 4 bytes, the first 8-byte word contains the 0 and the 3. */
	if (words[0] == UINT64_C(3) << 32)
		return -ENOTSUP;
	if (words[0] != 0 || words[1] != 3 || words[2] != 0)
		return -EBADMSG;
	if (words[4] != 0)
		return -ENOTSUP;
	reader->interval_us = words[3];
	return 0;
}

static bool take_header(struct vmprof_reader *reader, struct vmprof_entry *entry)
{
	unsigned high, low, mode = 0, length;

	if (!take_byte(reader, &high) || !take_byte(reader, &low))
		return false;
	reader->version = high << 8 | low;
	if (reader->version >= VERSION_MODES && !take_byte(reader, &mode))
		return false;
	reader->memory = mode & MODE_MEMORY || reader->version == VERSION_MEMORY;
	reader->lines = mode & MODE_LINES;
	if (!take_byte(reader, &length) || !take_bytes(reader, length, &entry->text))
		return false;
	reader->rpython = mode & MODE_RPYTHON ||
			  (length == 4 && memcmp(entry->text.data, "pypy", 4) == 0);
	return true;
}

/* The head of every entry with words: its time and the number of words. */
static bool take_words(struct vmprof_reader *reader, struct vmprof_entry *entry)
{
	uint64_t first, count;

	if (!take_word(reader, &first) || !take_word(reader, &count) || count > VMPROF_WORDS_MAX)
		return false;
	entry->seconds = -1;
	if (reader->version >= VERSION_TIMES)
		memcpy(&entry->seconds, &first, sizeof(first));
	else if (first != 1)
		return false;
	entry->n_words = count;
	return cursor_take(&reader->cursor, 8 * count, &entry->words);
}

static bool take_sample(struct vmprof_reader *reader, struct vmprof_entry *entry)
{
	if (!take_words(reader, entry) || (reader->rpython && entry->n_words % 2))
		return false;
	if (reader->version >= VERSION_THREADS && !take_word(reader, &entry->thread))
		return false;
	return !reader->memory || take_word(reader, &entry->rss_kib);
}

static bool take_interpreter(struct vmprof_reader *reader, struct vmprof_entry *entry)
{
	unsigned length;

	return take_byte(reader, &length) && take_bytes(reader, length, &entry->text);
}

static bool take_entry(struct vmprof_reader *reader, struct vmprof_entry *entry)
{
	switch (entry->kind) {
	case VMPROF_HEADER:
		return take_header(reader, entry);
	case VMPROF_INTERPRETER:
		return take_interpreter(reader, entry);
	case VMPROF_TIME:
		return take_realtime(reader, &entry->realtime);
	case VMPROF_META:
		return take_text(reader, &entry->key) && take_text(reader, &entry->text);
	case VMPROF_TIME_SAMPLE:
	case VMPROF_GC_SAMPLE:
		return take_sample(reader, entry);
	case VMPROF_OBJECTS:
		return take_words(reader, entry);
	case VMPROF_VIRTUAL_IP:
	case VMPROF_NATIVE_SYMBOL:
		return take_word(reader, &entry->id) && take_text(reader, &entry->text);
	case VMPROF_TRAILER:
		return reader->version < VERSION_DURATION ||
		       take_realtime(reader, &entry->realtime);
	default:
		return false;
	}
}

int vmprof_next(struct vmprof_reader *reader, struct vmprof_entry *entry)
{
	unsigned kind;

	*entry = (struct vmprof_entry){0};
	if (!take_byte(reader, &kind))
		return 0;
	entry->kind = (enum vmprof_kind)kind;
	if (!take_entry(reader, entry))
		return -EBADMSG;
	return reader->version > VERSION_TIMES ? -EPROTO : 1;
}
