/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_profile.h: answers READ_HEAP: a program's own heap profile. */
#ifndef GCPROF_READER_HEAP_PROFILE_H
#define GCPROF_READER_HEAP_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

#define HEAP_ANSWER_MAX ((size_t)32 << 20)
#define HEAP_DEPTH_MAX  128

/* Sent with the socket of the process's memory (remote_memory.h); the fields are addresses there.
 */
struct heap_request {
	uint64_t list; /* of the list of sites */
	uint64_t rate; /* of the mean distance of samples, in bytes */
};

/* Sampled objects of a site: those not freed, and all. */
struct heap_place {
	uint64_t objects, bytes, all_objects, all_bytes;
	uint64_t rate;
	uint32_t depth, reserved;
	/* followed on the wire by `depth` words: return addresses, innermost first */
};

/* The reader's side: 0 or a negative errno. Takes over the files. */
int heap_answer(struct request *request);

/* Receives the sites of an answer; `stack` is valid during the call. */
typedef void heap_visit(void *context, const struct heap_place *place, const uint64_t *stack);

/* -EBADMSG: the answer is malformed after the visited sites. */
int heap_take(const void *data, size_t size, heap_visit *visit, void *context);

#endif
