/* SPDX-License-Identifier: BSD-2-Clause */
/* stalls.c: collections while another thread waits in read(): stalls ROUNDS. */
/*
 * Each round drops many objects, keeps others, and collects: a full collection, which a
 * minor one is part of. Only then does the other thread, which the collector knows nothing
 * of, get the byte that it waits for.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gc.h"

enum { DROPPED = 20000, KEPT = 60000 };

struct node {
	struct gc_header header;
	struct node *next;
	uint64_t room[4];
};

static const uint32_t node_pointers[] = {offsetof(struct node, next)};
static const struct gc_type_desc node_desc = {
	.name = "node", .size = sizeof(struct node), .pointers = node_pointers, .n_pointers = 1};

static gc_type node_type;
static int pipe_ends[2];

static void *reader(void *unused)
{
	char byte;

	(void)unused;
	while (read(pipe_ends[0], &byte, 1) == 1)
		;
	return NULL;
}

__attribute__((noinline)) static void drop_nodes(struct gc_thread *thread)
{
	for (int i = 0; i < DROPPED; i++)
		GC_NEW(thread, node_type, struct node);
}

__attribute__((noinline)) static void keep_nodes(struct gc_thread *thread, struct node **list)
{
	for (int i = 0; i < KEPT; i++) {
		struct node *node = GC_NEW(thread, node_type, struct node);

		gc_write(thread, node, &node->next, *list);
		*list = node;
	}
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	struct gc_heap *heap;
	struct gc_thread *thread;
	pthread_t other;

	if (gc_heap_create(NULL, &heap) || gc_type_register(heap, &node_desc, &node_type) ||
	    gc_thread_attach(heap, &thread) || pipe(pipe_ends) ||
	    pthread_create(&other, NULL, reader, NULL))
		return 1;
	GC_FRAME(thread, frame, 0, struct node * list;);
	for (long i = 0; i < rounds; i++) {
		usleep(20000); /* until the other one is in its call */
		drop_nodes(thread);
		keep_nodes(thread, &frame.root.list);
		gc_collect(thread, GC_COLLECT_FULL);
		if (write(pipe_ends[1], "", 1) != 1)
			return 1;
	}
	close(pipe_ends[1]);
	pthread_join(other, NULL);
	GC_FRAME_END(thread, frame);
	gc_thread_detach(thread);
	gc_heap_destroy(heap);
	return 0;
}
