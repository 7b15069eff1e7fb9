/* SPDX-License-Identifier: BSD-2-Clause */
/* print.c: prints objects. Allocates nothing, so it takes plain pointers. */
#include "lisp.h"

static void print_string(FILE *out, const struct string *string, enum print_style style)
{
	if (style == PRINT_PLAIN) {
		fwrite(string->bytes, 1, string->length, out);
		return;
	}
	fputc('"', out);
	for (uint64_t i = 0; i < string->length; i++) {
		char byte = string->bytes[i];
		if (byte == '\n')
			fputs("\\n", out);
		else if (byte == '\t')
			fputs("\\t", out);
		else if (byte == '"' || byte == '\\')
			fprintf(out, "\\%c", byte);
		else
			fputc(byte, out);
	}
	fputc('"', out);
}

static void print_list(struct lisp *lisp, FILE *out, const struct object *list,
		       enum print_style style)
{
	const char *before = "(";
	for (; is_pair(lisp, list); list = ((const struct pair *)list)->cdr) {
		fputs(before, out);
		print_object(lisp, out, ((const struct pair *)list)->car, style);
		before = " ";
	}
	if (list) {
		fputs(" . ", out);
		print_object(lisp, out, list, style);
	}
	fputc(')', out);
}

static void print_named(FILE *out, const char *what, const struct symbol *name)
{
	fprintf(out, "#<%s %.*s>", what, (int)name->name->length, name->name->bytes);
}

void print_object(struct lisp *lisp, FILE *out, const struct object *object, enum print_style style)
{
	lisp_check_stack(lisp);
	if (!object)
		fputs("()", out);
	else if (is_pair(lisp, object))
		print_list(lisp, out, object, style);
	else if (is_type(lisp, object, TYPE_INTEGER))
		fprintf(out, "%lld", (long long)((const struct integer *)object)->value);
	else if (is_type(lisp, object, TYPE_STRING))
		print_string(out, (const struct string *)object, style);
	else if (is_type(lisp, object, TYPE_SYMBOL))
		print_string(out, ((const struct symbol *)object)->name, PRINT_PLAIN);
	else if (is_type(lisp, object, TYPE_CLOSURE))
		print_named(out, "function", ((const struct closure *)object)->name);
	else if (is_type(lisp, object, TYPE_BUILTIN))
		fprintf(out, "#<builtin %s>",
			lisp->builtins[((const struct builtin *)object)->index]->name);
	else if (is_type(lisp, object, TYPE_TABLE))
		fprintf(out, "#<table of %llu>",
			(unsigned long long)((const struct table *)object)->count);
	else if (is_type(lisp, object, TYPE_PORT))
		fputs("#<port>", out);
	else
		fputs(is_true(lisp, object) ? "#t" : "#f", out);
}
