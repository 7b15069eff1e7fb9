/* SPDX-License-Identifier: BSD-2-Clause */
/* native.c: the peers' programs in C: malloc and free of whatever library, or the Boehm collector.
 */
/*
 * Built with -DPEER_BDWGC memory comes from GC_malloc() and is never freed;
 * otherwise everything is freed as soon as it is dead, as a C programmer would.
 */
#include <pthread.h>

#include "protocol.h"

#ifdef PEER_BDWGC
#define GC_THREADS
#include <gc.h>
#define ALLOC(size)      GC_MALLOC(size)
#define ALLOC_DATA(size) GC_MALLOC_ATOMIC(size)
#define RELEASE(memory)  ((void)(memory))
#define START()          GC_INIT()
#else
#define ALLOC(size)      calloc(1, size)
#define ALLOC_DATA(size) malloc(size)
#define RELEASE(memory)  free(memory)
#define START()          ((void)0)
#endif

struct node {
	struct node *left, *right;
	int i, j;
};

static struct node *new_node(struct node *left, struct node *right)
{
	struct node *node = ALLOC(sizeof(*node));

	node->left = left;
	node->right = right;
	return node;
}

static void free_tree(struct node *node)
{
#ifndef PEER_BDWGC
	if (!node)
		return;
	free_tree(node->left);
	free_tree(node->right);
#endif
	RELEASE(node);
}

static void populate(int depth, struct node *node)
{
	if (depth <= 0)
		return;
	node->left = new_node(NULL, NULL);
	node->right = new_node(NULL, NULL);
	populate(depth - 1, node->left);
	populate(depth - 1, node->right);
}

static struct node *make_tree(int depth)
{
	if (depth <= 0)
		return new_node(NULL, NULL);
	struct node *left = make_tree(depth - 1);
	struct node *right = make_tree(depth - 1);
	return new_node(left, right);
}

static int count_nodes(const struct node *node)
{
	return node ? 1 + count_nodes(node->left) + count_nodes(node->right) : 0;
}

static void gcbench(void *context)
{
	struct node *long_lived = new_node(NULL, NULL);
	double *array = ALLOC_DATA(ARRAY_SIZE * sizeof(*array));

	(void)context;
	free_tree(make_tree(STRETCH_DEPTH));
	populate(LONG_LIVED_DEPTH, long_lived);
	memset(array, 0, ARRAY_SIZE * sizeof(*array));
	for (int i = 1; i < ARRAY_SIZE / 2; i++)
		array[i] = 1.0 / i;
	for (int depth = MIN_DEPTH; depth <= MAX_DEPTH; depth += 2) {
		for (int i = 0; i < protocol_trees(depth); i++) {
			struct node *tree = new_node(NULL, NULL);

			populate(depth, tree);
			free_tree(tree);
		}
		for (int i = 0; i < protocol_trees(depth); i++)
			free_tree(make_tree(depth));
	}
	if (count_nodes(long_lived) != (2 << LONG_LIVED_DEPTH) - 1 || array[1000] != 1.0 / 1000)
		abort();
	free_tree(long_lived);
	RELEASE(array);
}

struct small {
	uint64_t serial;
	uint64_t rest[3];
};

static struct small *volatile kept;

static void allocate_short(void *context)
{
	(void)context;
	for (uint64_t i = 0; i < SHORT_OBJECTS; i++) {
		struct small *object = ALLOC_DATA(sizeof(*object));

		__asm__("" : "+r"(object)); /* or the compiler leaves the pair out */
		object->serial = i;
		if (i % SHORT_KEPT == 0) {
			struct small *before = kept;

			kept = object;
			object = before;
		}
		RELEASE(object);
	}
}

static void *churn_thread(void *context)
{
	static const size_t sizes[CHURN_SIZES] = {16, 24, 32, 48, 64, 128, 512};
	uint64_t **ring = ALLOC(CHURN_RING * sizeof(*ring));

	for (uint64_t i = 0; i < CHURN_OBJECTS; i++) {
		uint64_t *object = ALLOC(sizes[i % CHURN_SIZES]);

		*object = i;
		if (i % CHURN_KEPT == 0) {
			uint64_t **slot = &ring[i / CHURN_KEPT % CHURN_RING];
			uint64_t *before = *slot;

			*slot = object;
			object = before;
		}
		RELEASE(object);
	}
	for (int i = 0; i < CHURN_RING; i++)
		RELEASE(ring[i]);
	RELEASE(ring);
	return context;
}

static void churn(void *context)
{
	long threads = *(long *)context;
	pthread_t others[MAX_THREADS];

	for (long i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, churn_thread, NULL))
			abort();
	churn_thread(NULL);
	for (long i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
}

int main(int argc, char **argv)
{
	long times = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	long threads = argc > 3 ? strtol(argv[3], NULL, 10) : 1;

	START();
	if (times > 0 && !strcmp(argv[1], "gcbench"))
		protocol_repeat(times, gcbench, NULL);
	else if (times > 0 && !strcmp(argv[1], "short"))
		protocol_repeat(times, allocate_short, NULL);
	else if (times > 0 && !strcmp(argv[1], "churn") && threads > 0 && threads <= MAX_THREADS)
		protocol_repeat(times, churn, &threads);
	else
		return 2;
	return 0;
}
