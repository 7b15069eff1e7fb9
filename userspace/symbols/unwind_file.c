// SPDX-License-Identifier: BSD-2-Clause
/* unwind_file.c: the unwind rows of an ELF file. */
#include "unwind_file.h"

#include <stdlib.h>
#include <string.h>

void unwind_free(struct unwind_file *file)
{
	if (!file)
		return;
	free(file->pages);
	free(file->starts);
	free(file->rows);
	free(file->rules);
	free(file);
}

const struct unwind_rule *unwind_find(const struct unwind_file *file, uint64_t address)
{
	uint64_t page = (address - file->base) >> UNWIND_PAGE_SHIFT;
	const unwind_row *rows;
	size_t low = 0, high;

	if (page >= file->n_pages || !file->pages[page].count)
		return &file->rules[0];
	rows = file->rows + file->starts[page];
	high = file->pages[page].count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if ((rows[middle] & 0xffff) <= (address & 0xffff))
			low = middle;
		else
			high = middle;
	}
	return &file->rules[rows[low] >> 16];
}

bool unwind_address(const struct unwind_segment *segments, size_t n, uint64_t offset,
		    uint64_t *address)
{
	for (size_t i = 0; i < n; i++) {
		if (offset - segments[i].offset < segments[i].size) {
			*address = offset - segments[i].offset + segments[i].address;
			return true;
		}
	}
	return false;
}

bool unwind_locate(const struct unwind_segment *segments, size_t n, uint64_t start, uint64_t offset,
		   uint64_t address, uint64_t *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct unwind_segment *segment = &segments[i];
		uint64_t first = segment->offset & ~UINT64_C(0xfff);
		uint64_t before = segment->offset - first;

		/* Mappings start at page boundaries, segments anywhere in their first page. */
		if (offset < first || offset - first >= segment->size + before)
			continue;
		*out = address + start - (offset - first) - (segment->address - before);
		return true;
	}
	return false;
}

/* --- hash of the rows -------------------------------------------------------------------- */

struct hash {
	uint64_t value[2];
};

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
	hash ^= hash >> 32;
	hash *= UINT64_C(0xc4ceb9fe1a85ec53);
	return hash ^ hash >> 29;
}

static void add_word(struct hash *hash, uint64_t word)
{
	hash->value[0] = mix(hash->value[0], word);
	hash->value[1] = mix(hash->value[1] + word, word ^ UINT64_C(0x9e3779b97f4a7c15));
}

/* Adds the size too, so that the parts are delimited. */
static void add_bytes(struct hash *hash, const void *data, size_t size)
{
	const char *at = data;
	uint64_t word;

	add_word(hash, size);
	for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		add_word(hash, word);
	}
	word = 0;
	memcpy(&word, at, size);
	add_word(hash, word);
}

void unwind_rows_hash(const struct unwind_file *file, const uint64_t seed[2], uint64_t out[2])
{
	struct hash hash = {{seed[0], seed[1]}};

	add_word(&hash, file->base);
	add_bytes(&hash, file->segments, file->n_segments * sizeof(file->segments[0]));
	add_bytes(&hash, file->pages, file->n_pages * sizeof(file->pages[0]));
	add_bytes(&hash, file->starts, file->n_pages * sizeof(file->starts[0]));
	add_bytes(&hash, file->rows, file->n_rows * sizeof(file->rows[0]));
	add_bytes(&hash, file->rules, file->n_rules * sizeof(file->rules[0]));
	memcpy(out, hash.value, sizeof(hash.value));
}
