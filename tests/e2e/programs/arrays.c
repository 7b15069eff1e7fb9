/* SPDX-License-Identifier: BSD-2-Clause */
/* arrays.c: arrays of very different sizes, as many of each; prints how many and how large. */
/*
 * arrays COUNT: so many of each size, in turns. What is sampled of them is random, as the
 * sampler's seed is; the amounts, on standard output in the form of `known`, are not.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gc.h"

struct array {
	struct gc_header header;
	uint64_t length;
	uint8_t items[];
};

static const struct gc_type_desc array_desc = {.name = "array",
					       .size = sizeof(struct array),
					       .item_size = 1,
					       .length_offset = offsetof(struct array, length)};

int main(int argc, char **argv)
{
	static const uint64_t sizes[] = {100, 5000, 200000};
	enum { SIZES = sizeof(sizes) / sizeof(*sizes) };
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 2500, bytes = 0;
	struct gc_heap *heap;
	struct gc_thread *thread;
	gc_type type;

	if (gc_heap_create(NULL, &heap) || gc_type_register(heap, &array_desc, &type) ||
	    gc_thread_attach(heap, &thread)) {
		fprintf(stderr, "arrays: %s\n", gc_error());
		return 1;
	}
	for (uint64_t i = 0; i < count * SIZES; i++) {
		uint64_t size = sizes[i % SIZES];

		gc_alloc_array(thread, type, size - sizeof(struct array));
		bytes += GC_ALIGN(size);
	}
	printf("{\"types\":{\"array\":{\"bytes\":%" PRIu64 ",\"objects\":%" PRIu64 "}}}\n", bytes,
	       count * SIZES);
	gc_thread_detach(thread);
	gc_heap_destroy(heap);
	return 0;
}
