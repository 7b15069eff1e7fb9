/* SPDX-License-Identifier: BSD-2-Clause */
/* long_name.c: shortens names of C++ and Rust functions. */
#include "symbols.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define OPERATOR "operator"

enum {
	HASH_ROOM = 10, /* " #89abcdef" */
	DEPTH_MAX = 16, /* template arguments nested more deeply are always left out */
	HEAD_MAX = 128, /* of a name that is too long without any arguments */
};

/* FNV-1a. */
static uint32_t hash_of(const char *text)
{
	uint32_t hash = 0x811c9dc5;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x01000193;
	return hash;
}

/* How many characters at `at` are no brackets, whatever they look like: of operator< and its kind,
 * an arrow, and a namespace without a name. */
static size_t plain_size(const char *at, bool begins)
{
	static const char nameless[] = "(anonymous namespace)";
	const size_t size = sizeof(OPERATOR) - 1;

	if (begins && strncmp(at, OPERATOR, size) == 0)
		return strncmp(at + size, "()", 2) == 0 ? size + 2
							: size + strspn(at + size, "<>=-!");
	if (strncmp(at, nameless, sizeof(nameless) - 1) == 0)
		return sizeof(nameless) - 1;
	return strncmp(at, "->", 2) == 0 ? 2 : 1;
}

/* What a copy has passed. */
struct brackets {
	int templates, calls; /* open < and ( */
};

static void pass_bracket(struct brackets *open, char letter)
{
	open->templates += (letter == '<') - (letter == '>' && open->templates > 0);
	open->calls += (letter == '(') - (letter == ')' && open->calls > 0);
}

/* Has the bracket at `at` so little in it that leaving it out shortens nothing? */
static bool closes_soon(const char *at)
{
	const char *next = at + 1 + strcspn(at + 1, "<>()");

	return next - at <= 3 && *next == (*at == '<' ? '>' : ')');
}

/* Leaves out parameters, and template arguments in more than `depth` brackets. */
static void leave_out(char *name, int depth)
{
	bool hidden = false, begins = true;
	struct brackets open = {0};
	char *to = name;

	for (const char *from = name; *from;) {
		size_t size = plain_size(from, begins);
		char letter = size == 1 ? *from : '\0';
		bool inside;

		pass_bracket(&open, letter);
		inside = open.calls || open.templates > depth;
		if (!hidden || !inside)
			to = (char *)memmove(to, from, size) + size;
		if (!hidden && inside && (letter == '(' || letter == '<') && !closes_soon(from)) {
			to = (char *)memcpy(to, "...", 3) + 3;
			hidden = true;
		} else if (!inside) {
			hidden = false;
		}
		begins = strchr(":, <(", *from) != NULL;
		from += size;
	}
	*to = '\0';
}

/* The head, and as much of the end as fits. */
static void leave_middle_out(char *name, size_t most)
{
	size_t end = most - HEAD_MAX - 3;

	memcpy(name + HEAD_MAX, "...", 3);
	memmove(name + HEAD_MAX + 3, name + strlen(name) - end, end + 1);
}

void long_name_shorten(char *name)
{
	const size_t most = LONG_NAME_MAX - HASH_ROOM;
	uint32_t hash = hash_of(name);

	if (strlen(name) <= LONG_NAME_MAX)
		return;
	for (int depth = DEPTH_MAX; depth >= 0 && strlen(name) > most; depth--)
		leave_out(name, depth);
	if (strlen(name) > most)
		leave_middle_out(name, most);
	snprintf(name + strlen(name), HASH_ROOM + 1, " #%08x", hash);
}
