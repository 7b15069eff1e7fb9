/* SPDX-License-Identifier: BSD-2-Clause */
/* firefox_sources.c: the text of source files, so that the profiler can show lines with times. */
/*
 * The recorded program chose the paths, or the author of the profile, and an export may be given to
 * others. So only files that are clearly source code are read, that everybody may read or the
 * program's user owns, and only if they are what the program was made of as far as one can tell: on
 * the host of the recording, and unchanged since it began.
 */
#include "firefox_sources.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/path_base.h"
#include "../util/regular.h"

enum {
	FILE_MAX = 1 << 20,  /* bytes of one file */
	ALL_MAX = 16 << 20,  /* of all files, as JSON */
	RESOLVED_MAX = 4096, /* bytes of a path */
};

static const char *const suffixes[] = {
	"adb",    "ads", "asm",   "c",    "cc",    "cjs", "clj", "cpp",  "cr",   "cs",  "cts",
	"cxx",    "d",   "dart",  "el",   "erl",   "ex",  "exs", "f",    "f90",  "fs",  "go",
	"groovy", "h",   "hh",    "hpp",  "hs",    "hxx", "inc", "inl",  "java", "jl",  "js",
	"jsx",    "kt",  "kts",   "lisp", "lua",   "m",   "mjs", "ml",   "mli",  "mm",  "mts",
	"nim",    "pas", "php",   "pl",   "pm",    "py",  "pyi", "pyx",  "r",    "rb",  "rkt",
	"rs",     "s",   "scala", "scm",  "swift", "ts",  "tsx", "vala", "vb",   "zig",
};

static bool is_source_name(const char *path)
{
	const char *dot = strrchr(path_base(path), '.');

	for (size_t i = 0; dot && i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (strcmp(dot + 1, suffixes[i]) == 0)
			return true;
	return false;
}

/* A symbolic link may have the name of source code and lead to something else. */
static bool leads_to_source(int fd)
{
	char link[32], path[RESOLVED_MAX];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	if (size <= 0)
		return false;
	path[size] = '\0';
	return is_source_name(path);
}

/* Bytes that output_string() writes at most. */
static uint64_t json_size(const char *text)
{
	uint64_t size = sizeof("\"\",");

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= 0x80)
			size += sizeof("\xef\xbf\xbd") - 1;
		else if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r')
			size += 2;
		else
			size += c < ' ' || c == 0x7f ? sizeof("\\u0000") - 1 : 1;
	}
	return size;
}

static bool is_older(const struct stat *st, uint64_t realtime)
{
	return st->st_mtim.tv_sec >= 0 &&
	       (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec <=
		       realtime;
}

/* The text, which the caller frees; NULL: it cannot be read, or is none. */
static char *read_text(int fd, size_t size)
{
	char *text = malloc(size + 1);
	size_t used = 0;
	ssize_t n = 1;

	while (text && used < size && n > 0) {
		n = pread(fd, text + used, size - used, (off_t)used);
		used += n > 0 ? (size_t)n : 0;
	}
	if (!text || used < size || memchr(text, '\0', size)) {
		free(text);
		return NULL;
	}
	text[size] = '\0';
	return text;
}

static char *read_source(const char *path, const struct sources_wanted *wanted)
{
	char *text = NULL;
	struct stat st;
	int fd;

	if (*path != '/' || !is_source_name(path))
		return NULL;
	fd = regular_open(path, &st);
	if (fd < 0)
		return NULL;
	if (st.st_size <= FILE_MAX && leads_to_source(fd) &&
	    regular_may_name(fd, &st, wanted->user))
		text = read_text(fd, (size_t)st.st_size);
	/* After reading: a change in the meantime is noticed, too. */
	if (text && (fstat(fd, &st) < 0 || !is_older(&st, wanted->realtime))) {
		free(text);
		text = NULL;
	}
	close(fd);
	return text;
}

int firefox_sources_read(struct sources *sources, const char *const *paths, uint32_t count,
			 const struct sources_wanted *wanted)
{
	uint64_t room = wanted->room < ALL_MAX ? wanted->room : ALL_MAX;

	sources->texts = calloc(count + 1, sizeof(*sources->texts));
	if (!sources->texts)
		return -ENOMEM;
	sources->count = count;
	for (uint32_t i = 0; i < count; i++) {
		char *text = read_source(paths[i], wanted);
		uint64_t size = text ? json_size(text) : 0;

		if (size > room - sources->size) {
			free(text);
			continue;
		}
		sources->texts[i] = text;
		sources->size += size;
		sources->embedded += text != NULL;
	}
	return 0;
}

void firefox_sources_free(struct sources *sources)
{
	for (uint32_t i = 0; i < sources->count; i++)
		free(sources->texts[i]);
	free(sources->texts);
}
