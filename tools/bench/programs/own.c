/* SPDX-License-Identifier: BSD-2-Clause */
/* own.c: short-lived objects on our own collector, and on nothing but a pointer that is bumped. */
/*
 *	own gc N		gc_alloc()
 *	own memory N		a bare loop: the pointer and its limit lie in memory
 *	own registers N		a bare loop: both are local variables
 *	own gcbench N		gcbench with frames where references live across calls only
 *	own minor N		100,000 minor collections of an empty nursery
 *
 * The bare loops do the same stores in a nursery of the same size, which is
 * zeroed in pieces of the same size as it is handed out, and collect nothing.
 * With GC_NURSERY=... all use a nursery of another size.
 */
#include <stdbool.h>

#include "gc.h"
#include "protocol.h"

enum { EMPTY_COLLECTIONS = 100000, PIECE = 2 << 10 };

struct small {
	struct gc_header header;
	uint64_t serial;
	uint64_t rest[2];
};

struct own {
	struct gc_options options;
	struct gc_heap *heap;
	struct gc_thread *thread;
	gc_type type;
	gc_type node;
	gc_type doubles;
	void *kept;
};

struct node {
	struct gc_header header;
	struct node *left, *right;
	int i, j;
};

struct doubles {
	struct gc_header header;
	uint64_t length;
	double items[];
};

/* The bare loops' nursery. */
struct bump {
	char *free;
	char *limit;
	char *next;
	char *base;
	struct gc_options *options;
};

static struct bump bump;

static __attribute__((noinline)) char *next_piece(void)
{
	if (bump.next == bump.base + bump.options->nursery_size)
		bump.next = bump.base;
	bump.free = memset(bump.next, 0, PIECE);
	bump.next += PIECE;
	bump.limit = bump.next;
	return bump.free;
}

static inline void fill(struct own *own, gc_type type, char *memory, uint64_t serial)
{
	struct small *object = (struct small *)memory;

	object->header.type = type;
	object->serial = serial;
	if (serial % SHORT_KEPT == 0)
		own->kept = object;
}

static void run_memory(void *context)
{
	struct own *own = context;
	gc_type type = own->type;

	for (uint64_t i = 0; i < SHORT_OBJECTS; i++) {
		char *object = bump.free;

		if (object + sizeof(struct small) > bump.limit)
			object = next_piece();
		bump.free = object + sizeof(struct small);
		fill(own, type, object, i);
		__asm__("" ::: "memory"); /* or the compiler keeps them in registers */
	}
}

static void run_registers(void *context)
{
	struct own *own = context;
	char *free = bump.free, *limit = bump.limit;
	gc_type type = own->type;

	for (uint64_t i = 0; i < SHORT_OBJECTS; i++) {
		char *object = free;

		if (object + sizeof(struct small) > limit) {
			object = next_piece();
			limit = bump.limit;
		}
		free = object + sizeof(struct small);
		fill(own, type, object, i);
		__asm__("" ::"r"(object) : "memory"); /* or the compiler fills many at once */
	}
	bump.free = free;
}

static void run_gc(void *context)
{
	struct own *own = context;
	struct gc_thread *thread = own->thread;
	gc_type type = own->type;

	for (uint64_t i = 0; i < SHORT_OBJECTS; i++) {
		struct small *object = GC_NEW(thread, type, struct small);

		object->serial = i;
		if (i % SHORT_KEPT == 0)
			own->kept = object;
	}
}

/*
 * The tree benchmark as a compiler with precise roots would have it: a frame holds
 * what lives across a call and nothing else, new objects are filled without a
 * barrier, and whether a child is a leaf is seen before the call.
 */
static __attribute__((noinline)) void populate(struct own *own, int depth, struct node *node)
{
	struct gc_thread *thread = own->thread;

	for (;;) {
		struct node *left = GC_NEW_KEEPING(thread, own->node, struct node, &node, NULL);
		gc_write(thread, node, &node->left, left);
		struct node *right = GC_NEW_KEEPING(thread, own->node, struct node, &node, NULL);
		gc_write(thread, node, &node->right, right);
		if (--depth <= 0)
			return;
		GC_FRAME(thread, frame, 0, struct node * right;);
		frame.root.right = right;
		populate(own, depth, node->left);
		node = frame.root.right;
		GC_FRAME_END(thread, frame);
	}
}

static __attribute__((noinline)) struct node *make_tree(struct own *own, int depth)
{
	struct gc_thread *thread = own->thread;
	struct node *left, *right, *node;

	if (depth > 1) {
		left = make_tree(own, depth - 1);
		GC_FRAME(thread, frame, 0, struct node * left;);
		frame.root.left = left;
		right = make_tree(own, depth - 1);
		left = frame.root.left;
		GC_FRAME_END(thread, frame);
	} else {
		left = GC_NEW(thread, own->node, struct node);
		right = GC_NEW_KEEPING(thread, own->node, struct node, &left, NULL);
	}
	node = GC_NEW_KEEPING(thread, own->node, struct node, &left, &right);
	node->left = left;
	node->right = right;
	return node;
}

static int count_nodes(const struct node *node)
{
	return node ? 1 + count_nodes(node->left) + count_nodes(node->right) : 0;
}

static void run_gcbench(void *context)
{
	struct own *own = context;
	struct gc_thread *thread = own->thread;
	GC_FRAME(thread, frame, 0, struct node * tree; struct doubles * array;);

	make_tree(own, STRETCH_DEPTH);
	frame.root.tree = GC_NEW(thread, own->node, struct node);
	populate(own, LONG_LIVED_DEPTH, frame.root.tree);
	frame.root.array = gc_alloc_array(thread, own->doubles, ARRAY_SIZE);
	for (int i = 1; i < ARRAY_SIZE / 2; i++)
		frame.root.array->items[i] = 1.0 / i;
	for (int depth = MIN_DEPTH; depth <= MAX_DEPTH; depth += 2) {
		for (int i = 0; i < protocol_trees(depth); i++)
			populate(own, depth, GC_NEW(thread, own->node, struct node));
		for (int i = 0; i < protocol_trees(depth); i++)
			make_tree(own, depth);
	}
	if (count_nodes(frame.root.tree) != (2 << LONG_LIVED_DEPTH) - 1 ||
	    frame.root.array->items[1000] != 1.0 / 1000)
		abort();
	GC_FRAME_END(thread, frame);
}

static void run_minor(void *context)
{
	struct own *own = context;

	for (int i = 0; i < EMPTY_COLLECTIONS; i++)
		gc_collect(own->thread, GC_COLLECT_MINOR);
}

static bool own_open(struct own *own)
{
	static const struct gc_type_desc small = {.name = "small", .size = sizeof(struct small)};

	static const uint32_t pointers[] = {offsetof(struct node, left),
					    offsetof(struct node, right)};
	static const struct gc_type_desc node = {
		.name = "node", .size = sizeof(struct node), .pointers = pointers, .n_pointers = 2};
	static const struct gc_type_desc doubles = {.name = "doubles",
						    .size = sizeof(struct doubles),
						    .item_size = sizeof(double),
						    .length_offset =
							    offsetof(struct doubles, length)};

	if (gc_options_default(&own->options) || gc_heap_create(&own->options, &own->heap) ||
	    gc_type_register(own->heap, &small, &own->type) ||
	    gc_type_register(own->heap, &node, &own->node) ||
	    gc_type_register(own->heap, &doubles, &own->doubles) ||
	    gc_thread_attach(own->heap, &own->thread) || gc_root_add(own->heap, &own->kept)) {
		fprintf(stderr, "own: %s\n", gc_error());
		return false;
	}
	bump.options = &own->options;
	bump.base = aligned_alloc(UINT64_C(2) << 20, own->options.nursery_size);
	bump.next = bump.base;
	return bump.base != NULL;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void *context);
	} works[] = {
		{"gc", run_gc},           {"memory", run_memory}, {"registers", run_registers},
		{"gcbench", run_gcbench}, {"minor", run_minor},
	};
	long times = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	struct own own = {.kept = NULL};

	if (times <= 0 || !own_open(&own))
		return 2;
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (!strcmp(works[i].name, argv[1]))
			protocol_repeat(times, works[i].run, &own);
	return 0;
}
