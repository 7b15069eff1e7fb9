/* SPDX-License-Identifier: BSD-2-Clause */
/* chroot.c: programs in another root do not get an agent that is not there. */
/* The dynamic linker would print an error into what they print. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PUBLIC     __attribute__((visibility("default")))
#define VARIABLE   "LD_PRELOAD"
#define SEPARATORS ": "

/* Removes a file from the variable. */
static void remove_preloaded(const char *file)
{
	const char *value = getenv(VARIABLE), *found = value ? strstr(value, file) : NULL;
	size_t size = strlen(file), before;
	char *rest;

	if (!found || (found > value && !strchr(SEPARATORS, found[-1])) ||
	    (found[size] && !strchr(SEPARATORS, found[size])))
		return;
	before = (size_t)(found - value);
	size += found[size] != '\0';
	rest = strdup(value);
	if (!rest)
		return;
	memmove(rest + before, rest + before + size, strlen(rest + before + size) + 1);
	if (!found[size] && before)
		rest[before - 1] = '\0';
	if (*rest)
		setenv(VARIABLE, rest, 1);
	else
		unsetenv(VARIABLE);
	free(rest);
}

PUBLIC int chroot(const char *path)
{
	int result = (int)syscall(SYS_chroot, path), saved = errno;
	Dl_info self;

	if (!result && dladdr(VARIABLE, &self) && access(self.dli_fname, R_OK))
		remove_preloaded(self.dli_fname);
	errno = saved;
	return result;
}
