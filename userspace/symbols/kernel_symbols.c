// SPDX-License-Identifier: BSD-2-Clause
/* kernel_symbols.c: the functions of the running kernel. */
/*
 * Lines look like "ffffffff81000000 T name" and, for modules, "...\t[module]". There are a quarter
 * of a million of them, so the whole text is read, split into strings in place, and only code is
 * kept.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel_symbols.h"
#include "../util/buffer.h"
#include "../util/sorted.h"

#define TEXT_MAX    (256 << 20) /* bytes */
#define READ_BYTES  (1 << 20)
#define REACH_MAX   (1 << 20) /* bytes from the start of the last function before a gap */
#define LOWEST_CODE (UINT64_C(1) << 63)

struct function {
	uint64_t address;
	const char *name;
};

struct kernel_symbols {
	struct buffer text;
	struct buffer functions; /* struct function[], sorted by address */
};

static int read_text(int fd, struct buffer *text)
{
	for (;;) {
		ssize_t n;
		int err = buffer_reserve(text, READ_BYTES + 1);

		if (err)
			return err;
		n = read(fd, text->data + text->size, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		text->size += (size_t)n;
		if (text->size > TEXT_MAX)
			return -EFBIG;
	}
	text->data[text->size] = 0; /* terminates the last line if it has no newline */
	return 0;
}

/* Parses hexadecimal digits up to another character. */
static char *parse_address(char *at, uint64_t *out)
{
	uint64_t value = 0;

	for (;; at++) {
		if (*at >= '0' && *at <= '9')
			value = value << 4 | (uint64_t)(*at - '0');
		else if (*at >= 'a' && *at <= 'f')
			value = value << 4 | (uint64_t)(*at - 'a' + 10);
		else
			break;
	}
	*out = value;
	return at;
}

/* Parses a zero-terminated line: true if it is a function with an address. */
static bool parse_line(char *line, struct function *out)
{
	char *at = parse_address(line, &out->address);
	char type;

	if (at[0] != ' ' || !at[1] || at[2] != ' ' || out->address < LOWEST_CODE)
		return false;
	type = at[1] | 0x20;
	at += 3;
	out->name = at;
	at[strcspn(at, " \t")] = 0;
	return (type == 't' || type == 'w') && *out->name;
}

static int parse_text(struct kernel_symbols *symbols)
{
	char *line = symbols->text.data, *end = line + symbols->text.size;

	while (line < end) {
		char *next = memchr(line, '\n', (size_t)(end - line));
		struct function function;

		next = next ? next : end;
		*next = 0;
		if (parse_line(line, &function) &&
		    buffer_append(&symbols->functions, &function, sizeof(function)))
			return -ENOMEM;
		line = next + 1;
	}
	return 0;
}

static int by_address(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	/* The first alias in the file wins: the text keeps its order. */
	return a->name < b->name ? -1 : a->name > b->name;
}

static size_t count(const struct kernel_symbols *symbols)
{
	return symbols->functions.size / sizeof(struct function);
}

int kernel_symbols_read(int fd, struct kernel_symbols **out)
{
	struct kernel_symbols *symbols = calloc(1, sizeof(*symbols));
	int err = symbols ? 0 : -ENOMEM;

	if (!err)
		err = read_text(fd, &symbols->text);
	if (!err)
		err = parse_text(symbols);
	if (err) {
		kernel_symbols_free(symbols);
		return err;
	}
	if (count(symbols))
		qsort(symbols->functions.data, count(symbols), sizeof(struct function), by_address);
	*out = symbols;
	return 0;
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	buffer_free(&symbols->text);
	buffer_free(&symbols->functions);
	free(symbols);
}

const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
				uint64_t *within)
{
	const struct function *functions = (const void *)symbols->functions.data;
	size_t n = sorted_up_to(functions, count(symbols), sizeof(*functions), address);

	if (!n)
		return NULL;
	/* Keep the first alias. */
	while (n > 1 && functions[n - 2].address == functions[n - 1].address)
		n--;
	*within = address - functions[n - 1].address;
	return *within < REACH_MAX ? functions[n - 1].name : NULL;
}
