/* SPDX-License-Identifier: BSD-2-Clause */
/* source_text.c: the text of source files that a profile names. */
#include "source_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "path_base.h"
#include "regular.h"

enum {
	FILE_MAX = 1 << 20,  /* bytes of one file */
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

char *source_text_read(const char *path, uint64_t realtime, uid_t user)
{
	char *text = NULL;
	struct stat st;
	int fd;

	if (*path != '/' || !is_source_name(path))
		return NULL;
	fd = regular_open(path, &st);
	if (fd < 0)
		return NULL;
	if (st.st_size <= FILE_MAX && leads_to_source(fd) && regular_may_name(fd, &st, user))
		text = read_text(fd, (size_t)st.st_size);
	/* After reading: a change in the meantime is noticed, too. */
	if (text && (fstat(fd, &st) < 0 || !is_older(&st, realtime))) {
		free(text);
		text = NULL;
	}
	close(fd);
	return text;
}
