/* SPDX-License-Identifier: BSD-2-Clause */
/* starters.c: functions that start threads, fibers and programs. */
#include "starters.h"

#include <stdlib.h>
#include <string.h>

static const char *const starters[] = {
	"__clone3",
	"__libc_start_call_main",
	"__libc_start_main",
	"__libc_start_main_impl",
	"_start",
	"clone",
	"clone3",
	"java.lang.Thread.run",
	"java.lang.Thread.runWith",
	"runtime.goexit",
	"runtime.goexit.abi0",
	"runtime.main",
	"runtime.mstart",
	"runtime.mstart.abi0",
	"runtime.mstart0",
	"runtime.mstart1",
	"start_thread",
	"thread_native_entry",
};

static int by_text(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

bool is_starter(const char *name)
{
	char plain[64];
	size_t size = strcspn(name, "(");

	if (size >= sizeof(plain))
		return false;
	memcpy(plain, name, size);
	plain[size] = 0;
	return bsearch(plain, starters, sizeof(starters) / sizeof(*starters), sizeof(*starters),
		       by_text);
}
