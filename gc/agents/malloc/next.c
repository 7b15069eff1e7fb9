/* SPDX-License-Identifier: BSD-2-Clause */
/* next.c: finds the allocator that the program would use without the agent. */
/*
 * The functions are looked up when the first of them is called, which is before any constructor has
 * run. The lookup's own allocations come from the C library, under names that no program replaces.
 */
#include "next.h"

#include <string.h>

#include "../common/definition.h"
#include "../common/sampling.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);
extern void *__free_hook __attribute__((weak)); /* a function of the program's */

static void *first_malloc(size_t size);
static void *first_calloc(size_t count, size_t size);
static void *first_realloc(void *block, size_t size);
static void *first_memalign(size_t alignment, size_t size);
static void *first_aligned_alloc(size_t alignment, size_t size);
static void first_free(void *block);

struct next_allocator next = {first_malloc,   first_calloc,        first_realloc,
			      first_memalign, first_aligned_alloc, first_free};

static const struct function {
	const char *name;
	size_t offset; /* in struct next_allocator */
} functions[] = {
	{"malloc", offsetof(struct next_allocator, malloc)},
	{"calloc", offsetof(struct next_allocator, calloc)},
	{"realloc", offsetof(struct next_allocator, realloc)},
	{"memalign", offsetof(struct next_allocator, memalign)},
	{"aligned_alloc", offsetof(struct next_allocator, aligned_alloc)},
	{"free", offsetof(struct next_allocator, free)},
};

enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

/* Volatile, since dlsym() is declared as a function that calls nothing of this file. */
static __thread volatile bool searching __attribute__((tls_model("initial-exec")));

/* Finds the functions in the libraries after the agent; all have these: a failure of dlsym() would
 * allocate a message here, which another allocator would free later.
 * Two threads may search concurrently; both find the same. */
static const struct next_allocator *search(void)
{
	struct next_allocator found = {__libc_malloc,   __libc_calloc,   __libc_realloc,
				       __libc_memalign, __libc_memalign, __libc_free};

	searching = true;
	for (int i = 0; i < FUNCTIONS; i++) {
		void *function = dlsym(RTLD_NEXT, functions[i].name);

		if (function)
			memcpy((char *)&found + functions[i].offset, &function, sizeof(function));
	}
	searching = false;
	next = found;
	return &next;
}

bool next_is_hooked(void)
{
	return &__free_hook && __atomic_load_n(&__free_hook, __ATOMIC_RELAXED);
}

static bool are_all_libc(void)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		const void *function;

		memcpy(&function, (const char *)&next + functions[i].offset, sizeof(function));
		if (!definition_same_file(function, dlsym(RTLD_NEXT, "__libc_malloc")))
			return false;
	}
	return true;
}

/* Whether the program's malloc() and free() get here. Calling malloc() proves it: a library before
 * the agent may have another, behind a stub of the program. */
static bool is_called(void)
{
	const uint64_t left = 1 << 20;
	bool is_stub, counted;
	const void *found = definition("free", &is_stub);
	void *(*allocate)(size_t);
	void (*release)(void *);

	if (!is_stub && !definition_same_file(found, &next))
		return false;
	memcpy(&release, &found, sizeof(found));
	found = dlsym(RTLD_DEFAULT, "malloc");
	memcpy(&allocate, &found, sizeof(found));
	sampling_thread.left = left;
	release(allocate(1));
	counted = sampling_thread.left != left;
	sampling_thread.left = 0;
	return counted;
}

enum gcprof_refusal next_why_not(void)
{
	if (next.malloc == first_malloc)
		search();
	return are_all_libc() && is_called() ? 0 : GCPROF_REFUSED_MALLOC;
}

static void *first_malloc(size_t size)
{
	return searching ? __libc_malloc(size) : search()->malloc(size);
}

static void *first_calloc(size_t count, size_t size)
{
	return searching ? __libc_calloc(count, size) : search()->calloc(count, size);
}

static void *first_realloc(void *block, size_t size)
{
	return searching ? __libc_realloc(block, size) : search()->realloc(block, size);
}

static void *first_memalign(size_t alignment, size_t size)
{
	return searching ? __libc_memalign(alignment, size) : search()->memalign(alignment, size);
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	return searching ? __libc_memalign(alignment, size)
			 : search()->aligned_alloc(alignment, size);
}

static void first_free(void *block)
{
	if (searching)
		__libc_free(block);
	else
		search()->free(block);
}
