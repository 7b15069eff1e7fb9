/* SPDX-License-Identifier: BSD-2-Clause */
/* next.c: finds the allocator that the program would use without the agent. */
/*
 * The functions are looked up when the first of them is called, which is before any constructor has
 * run. The lookup's own allocations come from the C library, under names that no program replaces.
 */
#include "next.h"

#include <dlfcn.h>
#include <string.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

static void *first_malloc(size_t size);
static void *first_calloc(size_t count, size_t size);
static void *first_realloc(void *block, size_t size);
static void *first_memalign(size_t alignment, size_t size);
static void first_free(void *block);
static size_t first_usable_size(void *block);

struct next_allocator next = {first_malloc,   first_calloc, first_realloc,
			      first_memalign, first_free,   first_usable_size};

static __thread bool searching __attribute__((tls_model("initial-exec")));

/* Looks up a function in the libraries after the agent; if missing, the C library's stays. */
static void find(const char *name, void *out)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found)
		memcpy(out, &found, sizeof(found));
}

/* Two threads may search concurrently; both find the same. */
static const struct next_allocator *search(void)
{
	struct next_allocator found = {__libc_malloc,   __libc_calloc, __libc_realloc,
				       __libc_memalign, __libc_free,   NULL};

	searching = true;
	find("malloc", &found.malloc);
	find("calloc", &found.calloc);
	find("realloc", &found.realloc);
	find("memalign", &found.memalign);
	find("free", &found.free);
	find("malloc_usable_size", &found.malloc_usable_size);
	searching = false;
	next = found;
	return &next;
}

/* Whether two addresses belong to the same file. */
static bool are_of_one_file(const void *a, const void *b)
{
	Dl_info first, second;

	return dladdr(a, &first) && dladdr(b, &second) && first.dli_fbase == second.dli_fbase;
}

static const void *address_of(void *(*function)(size_t))
{
	const void *address;

	memcpy(&address, &function, sizeof(address));
	return address;
}

bool next_is_libc(void)
{
	if (next.malloc == first_malloc)
		search();
	return are_of_one_file(dlsym(RTLD_DEFAULT, "malloc"), &next) &&
	       are_of_one_file(address_of(next.malloc), address_of(__libc_malloc));
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

static void first_free(void *block)
{
	if (searching)
		__libc_free(block);
	else
		search()->free(block);
}

static size_t first_usable_size(void *block)
{
	return search()->malloc_usable_size(block);
}
