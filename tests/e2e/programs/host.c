/* SPDX-License-Identifier: BSD-2-Clause */
/* host.c: loads a library with probes, uses it, unloads it, and so again: host LIBRARY ROUNDS. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
		/* The recorder hears of the library when it is mapped: give it a moment. */
		nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
		if (run(64 << 20))
			return 1;
		dlclose(library);
	}
	return 0;
}
