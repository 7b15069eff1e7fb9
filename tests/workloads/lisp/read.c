/* SPDX-License-Identifier: BSD-2-Clause */
/* read.c: turns the text of a program into lists, and remembers the lines. */
#include "lisp.h"

struct reader {
	struct lisp *lisp;
	const char *next;
	const char *end;
	uint32_t line;
};

static struct object *read_expression(struct reader *reader);

_Noreturn static void read_error(struct reader *reader, uint32_t line, const char *message)
{
	reader->lisp->function->pc = line;
	lisp_error(reader->lisp, "%s", message);
}

/* The byte that comes next, or 0 at the end; a zero byte is no character of a program. */
static char peek(const struct reader *reader)
{
	return reader->next < reader->end ? *reader->next : 0;
}

static char take(struct reader *reader)
{
	char byte = peek(reader);
	if (byte == '\n')
		reader->line++;
	if (reader->next < reader->end)
		reader->next++;
	return byte;
}

static void skip_blanks(struct reader *reader)
{
	for (;;) {
		char byte = peek(reader);
		if (byte == ';') {
			while (peek(reader) && peek(reader) != '\n')
				take(reader);
		} else if (byte && strchr(" \t\r\n", byte)) {
			take(reader);
		} else {
			return;
		}
	}
}

static struct object *make_source_pair(struct reader *reader, struct object *car, uint32_t line)
{
	struct lisp *lisp = reader->lisp;
	struct source_pair *source;
	GC_FRAME(lisp->thread, frame, 0, struct object * car;);
	frame.root.car = car;
	source = GC_NEW(lisp->thread, lisp->types[TYPE_SOURCE_PAIR], struct source_pair);
	source->line = line;
	gc_write(lisp->thread, source, &source->pair.car, frame.root.car);
	GC_FRAME_END(lisp->thread, frame);
	return (struct object *)source;
}

static int ends_word(char byte)
{
	return !byte || strchr(" \t\r\n()\";'", byte);
}

/* Whether a dot stands here that is a word of its own. */
static int at_dot(const struct reader *reader)
{
	return peek(reader) == '.' &&
	       (reader->next + 1 == reader->end || ends_word(reader->next[1]));
}

static void list_append(struct lisp *lisp, struct list *list, struct object *pair)
{
	if (list->last)
		gc_write(lisp->thread, list->last, &list->last->cdr, pair);
	else
		list->first = (struct pair *)pair;
	list->last = (struct pair *)pair;
}

/* After "(A B .": what the list ends in, up to the ")". */
static void read_tail(struct reader *reader, struct list *list)
{
	struct object *tail;
	take(reader);
	skip_blanks(reader);
	if (!list->last || peek(reader) == ')')
		read_error(reader, reader->line, "something is missing beside the dot");
	tail = read_expression(reader);
	gc_write(reader->lisp->thread, list->last, &list->last->cdr, tail);
	skip_blanks(reader);
	if (peek(reader) != ')')
		read_error(reader, reader->line, "only one thing may follow a dot");
}

/* After "(": what lies before ")". The pairs get the lines where their items begin. */
static struct object *read_list(struct reader *reader)
{
	struct lisp *lisp = reader->lisp;
	uint32_t first_line = reader->line;
	struct object *list;
	GC_FRAME(lisp->thread, frame, 0, struct list list;);
	for (skip_blanks(reader); peek(reader) != ')'; skip_blanks(reader)) {
		uint32_t line = frame.root.list.first ? reader->line : first_line;
		struct object *item;
		if (!peek(reader))
			read_error(reader, first_line, "this list has no end");
		if (at_dot(reader)) {
			read_tail(reader, &frame.root.list);
			break;
		}
		item = make_source_pair(reader, read_expression(reader), line);
		list_append(lisp, &frame.root.list, item);
	}
	take(reader);
	list = (struct object *)frame.root.list.first;
	GC_FRAME_END(lisp->thread, frame);
	return list;
}

static char read_escape(struct reader *reader)
{
	switch (take(reader)) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case '"':
		return '"';
	case '\\':
		return '\\';
	}
	read_error(reader, reader->line, "an escape is one of \\n \\t \\\" \\\\");
}

static struct object *read_string(struct reader *reader)
{
	uint32_t line = reader->line;
	size_t room = (size_t)(reader->end - reader->next) + 1;
	char *bytes = must_alloc(room); /* an escape is longer than what it stands for */
	size_t length = 0;
	struct string *string;
	for (;;) {
		char byte = take(reader);
		if (byte == '"')
			break;
		if (!byte)
			read_error(reader, line, "this string has no end");
		bytes[length++] = byte == '\\' ? read_escape(reader) : byte;
	}
	string = make_string(reader->lisp, bytes, length);
	free(bytes);
	return (struct object *)string;
}

/* 0 if the word is a number, -ERANGE if it is one that is too big, or -EINVAL. */
static int parse_integer(const char *word, size_t length, int64_t *out)
{
	char text[24];
	char *end;
	size_t i = *word == '-' || *word == '+';
	if (i == length)
		return -EINVAL;
	for (; i < length; i++) {
		if (word[i] < '0' || word[i] > '9')
			return -EINVAL;
	}
	if (length >= sizeof(text))
		return -ERANGE;
	memcpy(text, word, length);
	text[length] = 0;
	errno = 0;
	*out = strtoll(text, &end, 10);
	return -errno;
}

static struct object *read_word(struct reader *reader)
{
	struct lisp *lisp = reader->lisp;
	const char *word = reader->next;
	size_t length;
	int64_t value;
	while (!ends_word(peek(reader)))
		take(reader);
	length = (size_t)(reader->next - word);
	if (length == 2 && !memcmp(word, "#t", 2))
		return lisp->truth;
	if (length == 2 && !memcmp(word, "#f", 2))
		return lisp->falsehood;
	switch (parse_integer(word, length, &value)) {
	case 0:
		return make_integer(lisp, value);
	case -ERANGE:
		read_error(reader, reader->line, "this integer is too big");
	}
	return (struct object *)intern(lisp, word, length);
}

/* 'x is (quote x). */
static struct object *read_quoted(struct reader *reader)
{
	struct lisp *lisp = reader->lisp;
	struct gc_thread *thread = lisp->thread;
	uint32_t line = reader->line;
	struct object *quote;
	GC_FRAME(thread, frame, 0, struct object * rest;);
	skip_blanks(reader);
	frame.root.rest = make_source_pair(reader, read_expression(reader), line);
	quote = make_source_pair(reader, lisp->quote, line);
	gc_write(thread, quote, &((struct pair *)quote)->cdr, frame.root.rest);
	GC_FRAME_END(thread, frame);
	return quote;
}

static struct object *read_expression(struct reader *reader)
{
	char byte = peek(reader);
	lisp_check_stack(reader->lisp);
	switch (byte) {
	case 0:
		read_error(reader, reader->line,
			   reader->next < reader->end ? "a zero byte is no character"
						      : "something is missing at the end");
	case '(':
		take(reader);
		return read_list(reader);
	case ')':
		read_error(reader, reader->line, "this ) closes nothing");
	case '"':
		take(reader);
		return read_string(reader);
	case '\'':
		take(reader);
		return read_quoted(reader);
	}
	return read_word(reader);
}

struct pair *read_program(struct lisp *lisp, const char *text, size_t size)
{
	struct reader reader = {lisp, text, text + size, 1};
	struct pair *program;
	GC_FRAME(lisp->thread, frame, 0, struct list list;);
	for (skip_blanks(&reader); reader.next < reader.end; skip_blanks(&reader)) {
		lisp->function->pc = reader.line;
		list_add(lisp, &frame.root.list, read_expression(&reader));
	}
	program = frame.root.list.first;
	GC_FRAME_END(lisp->thread, frame);
	return program;
}
