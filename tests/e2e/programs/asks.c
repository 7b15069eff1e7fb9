// SPDX-License-Identifier: BSD-2-Clause
/* asks.c: allocates, and requests MINOR minor and FULL full collections, and steps until STEPS were
 * run. Waits in between, so that some requests are reported individually. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gc.h"

struct node {
	struct gc_header header;
	struct node *next;
	uint64_t content[6];
};

static const uint32_t pointers[] = {offsetof(struct node, next)};
static const struct gc_type_desc description = {
	.name = "node", .size = sizeof(struct node), .pointers = pointers, .n_pointers = 1};

int main(int argc, char **argv)
{
	unsigned left[3];
	struct gc_heap *heap;
	struct gc_thread *thread;
	gc_type type;

	if (argc < 4 || gc_heap_create(NULL, &heap) ||
	    gc_type_register(heap, &description, &type) || gc_thread_attach(heap, &thread))
		return 1;
	for (int i = 0; i < 3; i++)
		left[i] = (unsigned)atoi(argv[i + 1]);
	GC_FRAME(thread, frame, 0, struct node * list;);
	for (unsigned i = 1; left[0] || left[1] || left[2]; i++) {
		/* Most die; the heap grows and is collected for other reasons, too. */
		for (int j = 0; j < 1000; j++) {
			struct node *node = GC_NEW(thread, type, struct node);

			if (j == 0)
				gc_write(thread, node, &node->next, frame.root.list);
			if (j == 0)
				frame.root.list = node;
		}
		if (i % 10 == 0 && left[1] && left[1]--)
			gc_collect(thread, GC_COLLECT_FULL);
		else if (i % 10 < 6 && left[0] && left[0]--)
			gc_collect(thread, GC_COLLECT_MINOR);
		else if (i % 10 > 6 && left[2] && left[2]--)
			gc_collect_step(thread);
		if (i % 1000 == 0)
			usleep(100000);
	}
	GC_FRAME_END(thread, frame);
	gc_thread_detach(thread);
	gc_heap_destroy(heap);
	return 0;
}
