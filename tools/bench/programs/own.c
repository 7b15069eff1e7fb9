/* SPDX-License-Identifier: BSD-2-Clause */
/* own.c: short-lived objects on our own collector, and on nothing but a pointer that is bumped. */
/*
 *	own gc N		gc_alloc()
 *	own cursor N		gc_cursor_alloc(): the same with the pointer in registers
 *	own memory N		a bare loop: the pointer and its limit lie in memory
 *	own registers N		a bare loop: both are local variables
 *	own minor N		100,000 minor collections of an empty nursery
 *
 * The bare loops do the same stores in a nursery of the same size, which is
 * zeroed in buffers of the same size as it is handed out, and collect nothing.
 * With GC_NURSERY=... all use a nursery of another size.
 */
#include <stdbool.h>

#include "gc.h"
#include "protocol.h"

enum { EMPTY_COLLECTIONS = 100000 };

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
	void *kept;
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

static __attribute__((noinline)) char *next_buffer(void)
{
	if (bump.next == bump.base + bump.options->nursery_size)
		bump.next = bump.base;
	bump.free = memset(bump.next, 0, bump.options->buffer_size);
	bump.next += bump.options->buffer_size;
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
			object = next_buffer();
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
			object = next_buffer();
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

static void run_cursor(void *context)
{
	struct own *own = context;
	struct gc_thread *thread = own->thread;
	struct gc_cursor cursor = gc_cursor_open(thread);
	gc_type type = own->type;

	for (uint64_t i = 0; i < SHORT_OBJECTS; i++) {
		struct small *object = gc_cursor_alloc(thread, &cursor, type, sizeof(*object));

		object->serial = i;
		if (i % SHORT_KEPT == 0)
			own->kept = object;
	}
	gc_cursor_close(thread, &cursor);
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

	if (gc_options_default(&own->options) || gc_heap_create(&own->options, &own->heap) ||
	    gc_type_register(own->heap, &small, &own->type) ||
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
		{"gc", run_gc},         {"cursor", run_cursor},
		{"memory", run_memory}, {"registers", run_registers},
		{"minor", run_minor},
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
