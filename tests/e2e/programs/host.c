/* SPDX-License-Identifier: BSD-2-Clause */
/* host.c: loads a library with probes, uses it, unloads it, and so again: host LIBRARY ROUNDS. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The recorder hears of the library when it is mapped, and then needs a moment. */
static void wait_until_heard(void *library)
{
	int (*heard)(void) = (int (*)(void))(uintptr_t)dlsym(library, "plugin_heard");

	for (int i = 0; heard && !heard() && i < 6000; i++)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

int main(int argc, char **argv)
{
	long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	for (long i = 0; i < rounds; i++) {
		void *library = dlopen(argv[1], RTLD_NOW);
		int (*run)(uint64_t) =
			library ? (int (*)(uint64_t))(uintptr_t)dlsym(library, "plugin_run") : NULL;

		if (!run) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		wait_until_heard(library);
		if (run(64 << 20))
			return 1;
		dlclose(library);
	}
	return 0;
}
