/* SPDX-License-Identifier: BSD-2-Clause */
/* hash.h: a hash that is the same on all machines (FNV-1a with a final mix). */
#ifndef GCPROF_FLEET_HASH_H
#define GCPROF_FLEET_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static inline uint64_t hash_end(uint64_t hash)
{
	hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
	hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return hash ^ hash >> 32;
}

#endif
