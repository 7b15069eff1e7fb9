/* SPDX-License-Identifier: BSD-2-Clause */
/* family.c: has children as soon as it runs, all of which allocate until they are killed. */
/*
 * family COUNT: so many children, who with it make a family: killing its process group ends it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "gc.h"

struct member {
	struct gc_header header;
	uint64_t number;
};

static const struct gc_type_desc member_desc = {.name = "member", .size = sizeof(struct member)};

int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 2;
	struct gc_heap *heap;
	struct gc_thread *thread;
	gc_type type;

	if (gc_heap_create(NULL, &heap) || gc_type_register(heap, &member_desc, &type) ||
	    gc_thread_attach(heap, &thread)) {
		fprintf(stderr, "family: %s\n", gc_error());
		return 1;
	}
	while (children-- > 0) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		break;
	}
	GC_FRAME(thread, frame, gc_code("grow_up", __FILE__, __LINE__), struct member * last;);
	for (uint64_t i = 0;; i++) {
		frame.root.last = GC_NEW(thread, type, struct member);
		frame.root.last->number = i;
	}
}
