/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_profile.h: a program's own heap profile as an answer of the reader: READ_HEAP. */
#ifndef GCPROF_READER_HEAP_PROFILE_H
#define GCPROF_READER_HEAP_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

#define HEAP_ANSWER_MAX ((size_t)32 << 20)
#define HEAP_DEPTH_MAX  128

/* With the socket of the process's memory (remote_memory.h): addresses in there. */
struct heap_request {
	uint64_t list; /* of the profile's places */
	uint64_t rate; /* of the mean distance of samples in bytes */
};

/* What was sampled at a place that is not freed, and what was in all. */
struct heap_place {
	uint64_t objects, bytes, all_objects, all_bytes;
	uint64_t rate;
	uint32_t depth, reserved;
	/* on the wire `depth` words: return addresses, innermost first */
};

/* The reader's part: 0 or a negative errno. Takes the files over. */
int heap_answer(struct request *request);

/* Receives the places of an answer; `stack` is valid during the call. */
typedef void heap_visit(void *context, const struct heap_place *place, const uint64_t *stack);

/* -EBADMSG: it makes no sense, behind what was visited. */
int heap_take(const void *data, size_t size, heap_visit *visit, void *context);

#endif
