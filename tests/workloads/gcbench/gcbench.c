/* SPDX-License-Identifier: BSD-2-Clause */
/* gcbench.c: the classic tree benchmark of Ellis, Kovac and Boehm, with its published parameters.
 */
/*
 * It stretches the heap with one big tree, keeps a smaller tree and an array of
 * doubles alive, and then builds many short-lived trees of growing depth, each
 * depth both top-down (parents first: every new child is stored into an older
 * parent) and bottom-up (children first).
 *
 * This is also the smallest complete user of gc.h: one heap, one thread, one
 * type with pointers, one array type.
 */
#include <getopt.h>
#include <stdbool.h>

#include "gc.h"
#include "../workload.h"

enum {
	STRETCH_TREE_DEPTH = 18,
	LONG_LIVED_TREE_DEPTH = 16,
	ARRAY_SIZE = 500000,
	MIN_TREE_DEPTH = 4,
	MAX_TREE_DEPTH = 16,
	MAX_RUNS = 1000000,
};

struct node {
	struct gc_header header;
	struct node *left;
	struct node *right;
	int i;
	int j;
};

struct doubles {
	struct gc_header header;
	uint64_t length;
	double items[];
};

struct bench {
	struct gc_heap *heap;
	struct gc_thread *thread;
	gc_type node;
	gc_type doubles;
};

static int tree_size(int depth)
{
	return (1 << (depth + 1)) - 1;
}

/* As many trees of this depth as make up two stretch trees. */
static int tree_count(int depth)
{
	return 2 * tree_size(STRETCH_TREE_DEPTH) / tree_size(depth);
}

/* Top-down: gives `node`, which has no children yet, a tree of `depth` below it. */
NAMED_FUNCTION static void populate(struct bench *bench, int depth, struct node *node)
{
	struct gc_thread *thread = bench->thread;
	struct node *child;
	if (depth <= 0)
		return;
	/* Each allocation may move every object: what is needed afterwards lies in a frame. */
	GC_FRAME(thread, frame, 0, struct node * node;);
	frame.root.node = node;
	child = GC_NEW(thread, bench->node, struct node);
	gc_write(thread, frame.root.node, &frame.root.node->left, child);
	child = GC_NEW(thread, bench->node, struct node);
	gc_write(thread, frame.root.node, &frame.root.node->right, child);
	populate(bench, depth - 1, frame.root.node->left);
	populate(bench, depth - 1, frame.root.node->right);
	GC_FRAME_END(thread, frame);
}

/* Bottom-up: returns the root of a new tree. */
NAMED_FUNCTION static struct node *make_tree(struct bench *bench, int depth)
{
	struct gc_thread *thread = bench->thread;
	struct node *node;
	if (depth <= 0)
		return GC_NEW(thread, bench->node, struct node);
	GC_FRAME(thread, frame, 0, struct node * left; struct node * right;);
	frame.root.left = make_tree(bench, depth - 1);
	frame.root.right = make_tree(bench, depth - 1);
	node = GC_NEW(thread, bench->node, struct node);
	gc_write(thread, node, &node->left, frame.root.left);
	gc_write(thread, node, &node->right, frame.root.right);
	GC_FRAME_END(thread, frame);
	return node;
}

NAMED_FUNCTION static void build_top_down(struct bench *bench, int depth)
{
	for (int i = 0; i < tree_count(depth); i++)
		populate(bench, depth, GC_NEW(bench->thread, bench->node, struct node));
}

NAMED_FUNCTION static void build_bottom_up(struct bench *bench, int depth)
{
	for (int i = 0; i < tree_count(depth); i++)
		make_tree(bench, depth);
}

/* Nodes of the tree, counted one by one: the collector must not have lost any. */
static int count_nodes(const struct node *node)
{
	return node ? 1 + count_nodes(node->left) + count_nodes(node->right) : 0;
}

static void run(struct bench *bench)
{
	struct gc_thread *thread = bench->thread;
	GC_FRAME(thread, frame, 0, struct node * long_lived; struct doubles * array;);

	make_tree(bench, STRETCH_TREE_DEPTH); /* dropped at once: it only stretches the heap */

	frame.root.long_lived = GC_NEW(thread, bench->node, struct node);
	populate(bench, LONG_LIVED_TREE_DEPTH, frame.root.long_lived);
	frame.root.array = gc_alloc_array(thread, bench->doubles, ARRAY_SIZE);
	for (int i = 1; i < ARRAY_SIZE / 2; i++)
		frame.root.array->items[i] = 1.0 / i;

	for (int depth = MIN_TREE_DEPTH; depth <= MAX_TREE_DEPTH; depth += 2) {
		build_top_down(bench, depth);
		build_bottom_up(bench, depth);
	}

	if (count_nodes(frame.root.long_lived) != tree_size(LONG_LIVED_TREE_DEPTH) ||
	    frame.root.array->items[1000] != 1.0 / 1000)
		die("the long-lived data was damaged");
	GC_FRAME_END(thread, frame);
}

static void bench_open(struct bench *bench)
{
	static const uint32_t node_pointers[] = {
		offsetof(struct node, left),
		offsetof(struct node, right),
	};
	static const struct gc_type_desc node = {
		.name = "node",
		.size = sizeof(struct node),
		.pointers = node_pointers,
		.n_pointers = 2,
	};
	static const struct gc_type_desc doubles = {
		.name = "doubles",
		.size = sizeof(struct doubles),
		.item_size = sizeof(double),
		.length_offset = offsetof(struct doubles, length),
	};
	if (gc_heap_create(NULL, &bench->heap) ||
	    gc_type_register(bench->heap, &node, &bench->node) ||
	    gc_type_register(bench->heap, &doubles, &bench->doubles) ||
	    gc_thread_attach(bench->heap, &bench->thread))
		die("cannot set up a heap: %s", gc_error());
}

static void bench_close(struct bench *bench)
{
	gc_thread_detach(bench->thread);
	gc_heap_destroy(bench->heap);
}

static const char usage[] = "usage: gcbench [OPTION]... [N]\n"
			    "The Ellis/Kovac/Boehm benchmark, N times in one process (default 1).\n"
			    "Prints the wall-clock milliseconds of each run, one per line.\n"
			    "\n"
			    "  -c, --cpu    print the CPU milliseconds of the process behind them\n"
			    "  -h, --help   this text\n";

static int parse_options(int argc, char **argv, bool *with_cpu)
{
	static const struct option options[] = {
		{"cpu", no_argument, NULL, 'c'}, {"help", no_argument, NULL, 'h'}, {0}};
	int option;
	while ((option = getopt_long(argc, argv, "ch", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			*with_cpu = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_SUCCESS);
		default:
			die_usage();
		}
	}
	if (argc - optind > 1) {
		fprintf(stderr, "gcbench: one number is enough\n");
		die_usage();
	}
	return optind < argc ? (int)option_number("N", argv[optind], 1, MAX_RUNS) : 1;
}

int main(int argc, char **argv)
{
	bool with_cpu = false;
	int runs = parse_options(argc, argv, &with_cpu);
	struct bench bench;
	bench_open(&bench);
	for (int i = 0; i < runs; i++) {
		uint64_t start = clock_ns(CLOCK_MONOTONIC);
		uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		run(&bench);
		printf("%.3f", (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e6);
		if (with_cpu)
			printf(" %.3f", (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 1e6);
		putchar('\n');
		fflush(stdout);
	}
	bench_close(&bench);
	return EXIT_SUCCESS;
}
