/* SPDX-License-Identifier: BSD-2-Clause */
/* string_builtins.c: builtins for strings. Strings are bytes and are never changed. */
#include "lisp.h"

static struct object *call_is_string(struct lisp *lisp, struct pair *args)
{
	return make_truth(lisp, is_type(lisp, args->car, TYPE_STRING));
}

static struct object *call_length(struct lisp *lisp, struct pair *args)
{
	return make_integer(lisp, (int64_t)need_string(lisp, args->car)->length);
}

static struct object *call_append(struct lisp *lisp, struct pair *args)
{
	uint64_t length = 0;
	struct string *result;
	GC_FRAME(lisp->thread, frame, 0, struct pair * args;);
	frame.root.args = args;
	while (args) {
		length += need_string(lisp, next_arg(&args))->length;
		if (length > MAX_STRING)
			break; /* and before the sum could wrap */
	}
	result = make_blank_string(lisp, length);
	length = 0;
	for (args = frame.root.args; args;) {
		const struct string *part = (const struct string *)next_arg(&args);
		memcpy(result->bytes + length, part->bytes, part->length);
		length += part->length;
	}
	GC_FRAME_END(lisp->thread, frame);
	return (struct object *)result;
}

/* A part of a string that lies in a frame slot of the caller. */
static struct string *part_of(struct lisp *lisp, struct string *const *from, uint64_t start,
			      uint64_t end)
{
	struct string *part = make_blank_string(lisp, end - start);
	memcpy(part->bytes, (*from)->bytes + start, end - start);
	return part;
}

static struct object *call_substring(struct lisp *lisp, struct pair *args)
{
	struct string *result;
	int64_t start;
	int64_t end;
	GC_FRAME(lisp->thread, frame, 0, struct string * string;);
	frame.root.string = need_string(lisp, next_arg(&args));
	start = need_integer(lisp, next_arg(&args));
	end = args ? need_integer(lisp, args->car) : (int64_t)frame.root.string->length;
	if (start < 0 || start > end || end > (int64_t)frame.root.string->length)
		lisp_error(lisp, "no part from %lld to %lld in a string of %llu", (long long)start,
			   (long long)end, (unsigned long long)frame.root.string->length);
	result = part_of(lisp, &frame.root.string, (uint64_t)start, (uint64_t)end);
	GC_FRAME_END(lisp->thread, frame);
	return (struct object *)result;
}

/* The byte at a position, as a number. */
static struct object *call_ref(struct lisp *lisp, struct pair *args)
{
	const struct string *string = need_string(lisp, next_arg(&args));
	int64_t position = need_integer(lisp, args->car);
	if (position < 0 || position >= (int64_t)string->length)
		lisp_error(lisp, "no position %lld in a string of %llu", (long long)position,
			   (unsigned long long)string->length);
	return make_integer(lisp, (unsigned char)string->bytes[position]);
}

static struct object *call_equal(struct lisp *lisp, struct pair *args)
{
	const struct string *left = need_string(lisp, next_arg(&args));
	const struct string *right = need_string(lisp, args->car);
	return make_truth(lisp, left->length == right->length &&
					!memcmp(left->bytes, right->bytes, left->length));
}

static struct object *call_less(struct lisp *lisp, struct pair *args)
{
	const struct string *left = need_string(lisp, next_arg(&args));
	const struct string *right = need_string(lisp, args->car);
	uint64_t shorter = left->length < right->length ? left->length : right->length;
	int order = memcmp(left->bytes, right->bytes, shorter);
	return make_truth(lisp, order ? order < 0 : left->length < right->length);
}

/* A copy with every byte between `first` and `last` moved by `by`. */
static struct object *shift_case(struct lisp *lisp, struct pair *args, char first, int by)
{
	struct string *result;
	GC_FRAME(lisp->thread, frame, 0, struct string * string;);
	frame.root.string = need_string(lisp, args->car);
	result = part_of(lisp, &frame.root.string, 0, frame.root.string->length);
	for (uint64_t i = 0; i < result->length; i++) {
		if (result->bytes[i] >= first && result->bytes[i] <= first + ('z' - 'a'))
			result->bytes[i] = (char)(result->bytes[i] + by);
	}
	GC_FRAME_END(lisp->thread, frame);
	return (struct object *)result;
}

static struct object *call_upcase(struct lisp *lisp, struct pair *args)
{
	return shift_case(lisp, args, 'a', 'A' - 'a');
}

static struct object *call_downcase(struct lisp *lisp, struct pair *args)
{
	return shift_case(lisp, args, 'A', 'a' - 'A');
}

static struct object *call_number_to_string(struct lisp *lisp, struct pair *args)
{
	char text[24];
	int length = snprintf(text, sizeof(text), "%lld", (long long)need_integer(lisp, args->car));
	return (struct object *)make_string(lisp, text, (size_t)length);
}

/* #f if it is no number. */
static struct object *call_string_to_number(struct lisp *lisp, struct pair *args)
{
	const struct string *string = need_string(lisp, args->car);
	char text[24];
	char *end;
	long long value;
	if (!string->length || string->length >= sizeof(text))
		return make_truth(lisp, 0);
	memcpy(text, string->bytes, string->length);
	text[string->length] = 0;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end != text + string->length || text[0] <= ' ')
		return make_truth(lisp, 0);
	return make_integer(lisp, value);
}

static struct object *call_symbol_to_string(struct lisp *lisp, struct pair *args)
{
	if (!is_type(lisp, args->car, TYPE_SYMBOL))
		lisp_error(lisp, "this needs a symbol");
	return (struct object *)((const struct symbol *)args->car)->name;
}

static int is_separator(const struct string *separators, char byte)
{
	return memchr(separators->bytes, byte, separators->length) != NULL;
}

/* (string-split STRING SEPARATORS): the parts between any of these bytes; none is empty. */
NAMED_FUNCTION static struct object *call_split(struct lisp *lisp, struct pair *args)
{
	struct object *parts;
	uint64_t start;
	uint64_t end = 0;
	GC_FRAME(lisp->thread, frame, 0, struct string * string; struct string * separators;
		 struct list parts;);
	frame.root.string = need_string(lisp, next_arg(&args));
	frame.root.separators = need_string(lisp, args->car);
	for (;;) {
		const struct string *string = frame.root.string;
		for (start = end; start < string->length; start++) {
			if (!is_separator(frame.root.separators, string->bytes[start]))
				break;
		}
		for (end = start; end < string->length; end++) {
			if (is_separator(frame.root.separators, string->bytes[end]))
				break;
		}
		if (start == end)
			break;
		list_add(lisp, &frame.root.parts, part_of(lisp, &frame.root.string, start, end));
	}
	parts = (struct object *)frame.root.parts.first;
	GC_FRAME_END(lisp->thread, frame);
	return parts;
}

/* The bytes of all strings in a list with `between` between them; checks the list. */
static uint64_t joined_length(struct lisp *lisp, struct object *list, const struct string *between)
{
	uint64_t length = 0;
	while (list && length <= MAX_STRING) {
		length += need_string(lisp, need_pair(lisp, list)->car)->length;
		list = ((const struct pair *)list)->cdr;
		length += list ? between->length : 0;
	}
	return length;
}

/* (string-join LIST SEPARATOR) */
NAMED_FUNCTION static struct object *call_join(struct lisp *lisp, struct pair *args)
{
	struct string *result;
	uint64_t length = 0;
	GC_FRAME(lisp->thread, frame, 0, struct object * list; struct string * between;);
	frame.root.list = next_arg(&args);
	frame.root.between = need_string(lisp, args->car);
	result = make_blank_string(lisp, joined_length(lisp, frame.root.list, frame.root.between));
	for (const struct pair *pair = (struct pair *)frame.root.list; pair;) {
		const struct string *part = (const struct string *)pair->car;
		memcpy(result->bytes + length, part->bytes, part->length);
		length += part->length;
		pair = (const struct pair *)pair->cdr;
		if (pair) {
			part = frame.root.between;
			memcpy(result->bytes + length, part->bytes, part->length);
			length += part->length;
		}
	}
	GC_FRAME_END(lisp->thread, frame);
	return (struct object *)result;
}

const struct builtin_row string_builtins[] = {
	{"string?", call_is_string, 1, 1},
	{"string-length", call_length, 1, 1},
	{"string-append", call_append, 0, -1},
	{"substring", call_substring, 2, 3},
	{"string-ref", call_ref, 2, 2},
	{"string=?", call_equal, 2, 2},
	{"string<?", call_less, 2, 2},
	{"string-upcase", call_upcase, 1, 1},
	{"string-downcase", call_downcase, 1, 1},
	{"number->string", call_number_to_string, 1, 1},
	{"string->number", call_string_to_number, 1, 1},
	{"symbol->string", call_symbol_to_string, 1, 1},
	{"string-split", call_split, 2, 2},
	{"string-join", call_join, 2, 2},
	{NULL, NULL, 0, 0},
};
