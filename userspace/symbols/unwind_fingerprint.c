// SPDX-License-Identifier: BSD-2-Clause
/* unwind_fingerprint.c: tells unwind rows from other ones by a hash of all that they say. */
#include <string.h>

#include "unwind.h"

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

/* Adds the size too: what belongs to one part cannot pass for the next one's. */
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

void unwind_fingerprint(const struct unwind_file *file, const uint64_t seed[2], uint64_t out[2])
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
