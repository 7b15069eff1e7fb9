/* SPDX-License-Identifier: BSD-2-Clause */
/* plugin.c: a library that brings the collector along, and allocates when it is called. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gc.h"

struct item {
	struct gc_header header;
	uint64_t value[7];
};

static const struct gc_type_desc item_desc = {.name = "plugin_item", .size = sizeof(struct item)};

/* The semaphores of all probes, by the table that makes them. */
#define PROBE(name, tier, since, when) extern volatile uint16_t gcprof_##name##_semaphore;
#define ARG(probe, name, type, unit, meaning)
#define END_PROBE(name, n)
#include "provider/probes.def"
#undef PROBE
static const volatile uint16_t *const semaphores[] = {
#define PROBE(name, tier, since, when) &gcprof_##name##_semaphore,
#include "provider/probes.def"
};

int plugin_heard(void);
int plugin_run(uint64_t bytes);

/* Whether somebody listens to all of its probes. */
__attribute__((visibility("default"))) int plugin_heard(void)
{
	for (size_t i = 0; i < sizeof(semaphores) / sizeof(semaphores[0]); i++)
		if (!*semaphores[i])
			return 0;
	return 1;
}

/* Allocates so many bytes; 0 if it could. */
__attribute__((visibility("default"))) int plugin_run(uint64_t bytes)
{
	struct gc_heap *heap;
	struct gc_thread *thread;
	gc_type type;

	if (gc_heap_create(NULL, &heap) || gc_type_register(heap, &item_desc, &type) ||
	    gc_thread_attach(heap, &thread)) {
		fprintf(stderr, "%s\n", gc_error());
		return 1;
	}
	for (uint64_t i = 0; i < bytes / sizeof(struct item); i++)
		GC_NEW(thread, type, struct item);
	gc_thread_detach(thread);
	gc_heap_destroy(heap);
	return 0;
}
