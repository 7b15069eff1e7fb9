/* SPDX-License-Identifier: BSD-2-Clause */
/* error.c: error messages with the line and the Lisp call stack; names of functions. */
#include <sys/resource.h>

#include "lisp.h"

enum {
	MAX_SHOWN = 10,            /* functions in a message */
	STACK_RESERVE = 256 << 10, /* for what builtins and libc need */
	STACK_DEFAULT = 8 << 20,   /* if the limit is "unlimited" */
};

static const char *code_name(const struct lisp *lisp, uint32_t code)
{
	return code < lisp->n_code_names ? lisp->code_names[code] : NULL;
}

/* The frames that a profiler reads are also the interpreter's own backtrace. */
static void print_callers(const struct lisp *lisp)
{
	uint64_t address = (uint64_t)(uintptr_t)lisp->function;
	int shown = 0;
	while (address && shown < MAX_SHOWN) {
		const struct gc_frame *frame = (const struct gc_frame *)(uintptr_t)address;
		const char *name = frame->code ? code_name(lisp, frame->code) : NULL;
		if (name) {
			fprintf(stderr, "  in %s, line %u\n", name, frame->pc);
			shown++;
		}
		address = frame->prev;
	}
	if (address)
		fprintf(stderr, "  ...\n");
}

void lisp_error(struct lisp *lisp, const char *format, ...)
{
	va_list args;
	fflush(stdout);
	fprintf(stderr, "%s:%u: ", lisp->file, lisp->function ? lisp->function->pc : 0);
	if (lisp->calling)
		fprintf(stderr, "%s: ", lisp->calling);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	print_callers(lisp);
	_exit(EXIT_FAILURE);
}

void lisp_stack_init(struct lisp *lisp)
{
	char *here = __builtin_frame_address(0);
	size_t size = STACK_DEFAULT;
	struct rlimit limit;
	if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur < (rlim_t)STACK_DEFAULT)
		size = limit.rlim_cur;
	lisp->stack_end = here - size + (size > 2 * STACK_RESERVE ? STACK_RESERVE : size / 2);
}

void lisp_check_stack(struct lisp *lisp)
{
	if ((char *)__builtin_frame_address(0) < lisp->stack_end) {
		lisp->calling = NULL;
		lisp_error(lisp, "the recursion is too deep");
	}
}

uint32_t lisp_code(struct lisp *lisp, const char *name, uint32_t line)
{
	uint32_t code = gc_code(name, lisp->file, line);
	if (!code)
		die("out of memory");
	if (code >= lisp->n_code_names) {
		uint32_t count = code * 2;
		lisp->code_names = reallocarray(lisp->code_names, count, sizeof(*lisp->code_names));
		if (!lisp->code_names)
			die("out of memory");
		memset(lisp->code_names + lisp->n_code_names, 0,
		       (count - lisp->n_code_names) * sizeof(*lisp->code_names));
		lisp->n_code_names = count;
	}
	free(lisp->code_names[code]);
	lisp->code_names[code] = strdup(name);
	return code;
}
