/* SPDX-License-Identifier: BSD-2-Clause */
/* library.c: functions of runtime libraries, and those that start threads, fibers and programs. */
#include "library.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/path_base.h"
#include "../rows.h"

enum place {
	SOURCE_BEGIN, /* the source file's path begins with this text */
	SOURCE_PART,  /* contains it */
	MODULE,       /* the name of the file with the code begins with it */
	NAME,         /* the name, without its return type, begins with it */
};

static const struct {
	enum place place;
	const char *text;
} marks[] = {
	{SOURCE_BEGIN, "/usr/include/"},
	{SOURCE_BEGIN, "/rustc/"},
	{SOURCE_BEGIN, "/rust/deps/"},
	{SOURCE_BEGIN, "library/alloc/src/"},
	{SOURCE_BEGIN, "library/core/src/"},
	{SOURCE_BEGIN, "library/std/src/"},
	{SOURCE_PART, "/include/c++/"},
	{SOURCE_PART, "/libstdc++-v3/"},
	{SOURCE_PART, "/rustlib/src/rust/library/"},
	{MODULE, "ld-linux"},
	{MODULE, "ld-musl"},
	{MODULE, "libc++"},
	{MODULE, "libc-2."},
	{MODULE, "libc.so"},
	{MODULE, "libgcc_s.so"},
	{MODULE, "libgcprof-"},
	{MODULE, "libstd-"},
	{MODULE, "libstdc++.so"},
	{NAME, "__gnu_cxx::"},
	{NAME, "__rdl_"},
	{NAME, "__rust_"},
	{NAME, "alloc::"},
	{NAME, "core::"},
	{NAME, "operator new"},
	{NAME, "std::"},
};

/*
 * Where the name begins in "void std::f<int>(int)" and "<alloc::T as core::U>::f", and in
 * "<u8 as core::U>::f", whose type belongs to the language.
 */
static const char *plain_name(const char *name)
{
	const char *begin = name, *trait = strstr(name, " as "), *scope = strstr(name, "::");
	int depth = 0;

	if (*name == '<')
		return trait && scope && trait < scope ? trait + 4 : name + 1;
	if (strncmp(name, "operator ", 9) == 0)
		return name;
	for (; *name && (depth || *name != '('); name++) {
		depth += (*name == '<') - (*name == '>');
		if (*name == ' ' && !depth)
			begin = name + 1;
	}
	return begin;
}

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

bool is_library_function(const struct model_function *function)
{
	const char *source = function->file, *name = plain_name(function->name);
	const char *module = function->module ? path_base(function->module) : "";

	if (is_starter(function->name))
		return true;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		const char *text = marks[i].text;

		if ((marks[i].place == SOURCE_BEGIN && source && begins_with(source, text)) ||
		    (marks[i].place == SOURCE_PART && source && strstr(source, text)) ||
		    (marks[i].place == MODULE && begins_with(module, text)) ||
		    (marks[i].place == NAME && !source && begins_with(name, text)))
			return true;
	}
	return false;
}

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
