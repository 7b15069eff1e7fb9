/* SPDX-License-Identifier: BSD-2-Clause */
/* crossing.c: code that calls the C library's allocator without an agent that is preloaded. */
/*
 * With -DPLUGIN a library. The program opens it with RTLD_DEEPBIND, and finds functions of the C
 * library by its handle: they resize and free the program's blocks, and the reverse.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 30000, SIZES = 5 };

#ifdef PLUGIN
void *plugin_take(size_t size);
void *plugin_resize(void *block, size_t size);
void plugin_release(void *block);

void *plugin_take(size_t size)
{
	return malloc(size);
}

void *plugin_resize(void *block, size_t size)
{
	return realloc(block, size);
}

void plugin_release(void *block)
{
	free(block);
}
#else

struct allocator {
	void *(*take)(size_t size);
	void *(*resize)(void *block, size_t size);
	void (*release)(void *block);
};

static unsigned long taken;

__attribute__((noinline)) static char *take_here(size_t size)
{
	char *volatile block = malloc(size);

	taken += size;
	return block;
}

static void find(struct allocator *to, void *library, const char *const names[3])
{
	void *found[3];

	for (int i = 0; i < 3; i++) {
		found[i] = library ? dlsym(library, names[i]) : NULL;
		if (!found[i]) {
			fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
	}
	memcpy(to, found, sizeof(found));
}

/* Each block is taken by one and freed by the other; both resize it. */
static void cross(const struct allocator *other, size_t size, int times)
{
	for (int i = 0; i < times; i++) {
		char *mine = take_here(size), *its = other->take(size);

		memset(mine, i, size);
		memset(its, i, size);
		mine = other->resize(mine, size * 2);
		its = realloc(its, size * 3);
		if (mine[size - 1] != (char)i || its[size - 1] != (char)i)
			exit(2);
		other->release(mine);
		free(its);
		other->release(take_here(size));
	}
}

int main(int argc, char **argv)
{
	static const size_t sizes[SIZES] = {24, 1000, 5000, 40000, 300000};
	struct allocator plugin, library;

	(void)argc;
	find(&plugin, dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND),
	     (const char *const[]){"plugin_take", "plugin_resize", "plugin_release"});
	find(&library, dlopen("libc.so.6", RTLD_NOW),
	     (const char *const[]){"malloc", "realloc", "free"});
	for (int i = 0; i < SIZES; i++) {
		cross(&plugin, sizes[i], TIMES >> i * 2);
		cross(&library, sizes[i], TIMES >> i * 2);
	}
	printf("{\"take_here\": %lu}\n", taken);
	return 0;
}
#endif
