/* SPDX-License-Identifier: BSD-2-Clause */
/* lisp.h: the objects of a small Lisp, and what the files of the interpreter share. */
/*
 * Programs are lists on the collected heap and are evaluated by plain recursion.
 * Every call of a Lisp function pushes a shadow-stack frame with the function's
 * code id, and keeps the line being evaluated in its `pc`: a profiler sees Lisp
 * functions with file and line between the interpreter's own C functions.
 *
 * The empty list is NULL. Anything but #f is true. Functions that take a struct
 * lisp may allocate unless said otherwise: they root their own arguments, and
 * the caller roots what it needs afterwards.
 */
#ifndef GCPROF_LISP_H
#define GCPROF_LISP_H

#include "gc.h"
#include "../workload.h"

enum {
	SMALL_MIN = -128, /* integers that are made once and shared */
	SMALL_MAX = 1024,
	MAX_PORTS = 64,
	MAX_FILE = 64 << 20, /* bytes of a program, or of a file that a program reads at once */
	MAX_STRING = 64 << 20,
	MAX_PARAMETERS = 64,
};

struct object {
	struct gc_header header;
};

struct integer {
	struct gc_header header;
	int64_t value;
};

struct string {
	struct gc_header header;
	uint64_t length;
	char bytes[];
};

struct symbol {
	struct gc_header header;
	struct string *name;
	struct object *value; /* the global variable; `unbound` if there is none */
	uint64_t form;        /* place in the table of special forms and one more, or 0 */
};

struct pair {
	struct gc_header header;
	struct object *car;
	struct object *cdr;
};

/* A pair that the reader made; longer, but the same from outside. */
struct source_pair {
	struct pair pair;
	uint32_t line;
	uint32_t code; /* of the function that this expression makes, 0: none so far */
};

struct binding {
	struct gc_header header;
	struct symbol *name;
	struct object *value;
	struct binding *next;
};

/* The variables of one activation of a function, or of a let. NULL is the outermost. */
struct scope {
	struct gc_header header;
	struct binding *first;
	struct scope *outer;
};

struct closure {
	struct gc_header header;
	struct symbol *name;
	struct object *parameters;
	struct pair *body;
	struct scope *scope;
	uint32_t code;
	uint32_t line;
};

struct builtin {
	struct gc_header header;
	uint64_t index; /* in lisp->builtins */
};

struct vector {
	struct gc_header header;
	uint64_t length;
	struct object *items[];
};

struct entry {
	struct gc_header header;
	struct object *key;
	struct object *value;
	struct entry *next;
	uint64_t hash;
};

struct table {
	struct gc_header header;
	struct vector *buckets; /* chains of entries; a power of two */
	uint64_t count;
};

struct port {
	struct gc_header header;
	int64_t slot; /* in lisp->ports, -1 when closed */
};

struct truth {
	struct gc_header header;
	uint64_t value;
};

/* A file being read. Not an object: the kernel writes into the buffer. */
struct open_file {
	int fd; /* -1: free */
	uint32_t used;
	uint32_t next;
	char buffer[4096];
};

struct lisp;

typedef struct object *builtin_function(struct lisp *lisp, struct pair *args);

/* args is a list of min to max values; max -1: any number. Ends with a NULL name. */
struct builtin_row {
	const char *name;
	builtin_function *call;
	int min;
	int max;
};

/* NAME=VALUE on the command line. */
struct parameter {
	const char *name;
	size_t name_length;
	const char *value;
};

enum lisp_type {
	TYPE_INTEGER,
	TYPE_STRING,
	TYPE_SYMBOL,
	TYPE_PAIR,
	TYPE_SOURCE_PAIR,
	TYPE_BINDING,
	TYPE_SCOPE,
	TYPE_CLOSURE,
	TYPE_BUILTIN,
	TYPE_VECTOR,
	TYPE_ENTRY,
	TYPE_TABLE,
	TYPE_PORT,
	TYPE_TRUTH,
	N_TYPES,
};

struct lisp {
	struct gc_heap *heap;
	struct gc_thread *thread;
	gc_type types[N_TYPES];

	/* Global roots. */
	void *symbols; /* struct table: string -> struct symbol */
	void *small;   /* struct vector of the small integers */
	void *truth;
	void *falsehood;
	void *unbound;
	void *quote; /* struct symbol */

	const char *file;
	struct gc_frame *function; /* of the innermost Lisp function */
	const char *calling;       /* the builtin being called, for messages */
	char *stack_end;           /* below this address the recursion is too deep */
	char **code_names;         /* by code id; a NULL where it is not ours */
	uint32_t n_code_names;
	const struct builtin_row **builtins;
	uint32_t n_builtins;
	struct parameter parameters[MAX_PARAMETERS];
	uint32_t n_parameters;
	struct open_file *ports[MAX_PORTS];
};

/* error.c: file, line, the sentence and the Lisp functions that led there; ends the program. */
_Noreturn __attribute__((format(printf, 2, 3))) void lisp_error(struct lisp *lisp,
								const char *format, ...);
void lisp_stack_init(struct lisp *lisp);
void lisp_check_stack(struct lisp *lisp);
/* The id of a Lisp function called `name`; the same as gc_code(), but remembers the name. */
uint32_t lisp_code(struct lisp *lisp, const char *name, uint32_t line);

/* object.c */
void lisp_open(struct lisp *lisp);
void lisp_close(struct lisp *lisp);
struct object *make_integer(struct lisp *lisp, int64_t value);
struct string *make_string(struct lisp *lisp, const char *bytes, size_t length); /* copies */
struct string *make_blank_string(struct lisp *lisp, uint64_t length);
struct pair *make_pair(struct lisp *lisp, void *car, void *cdr);
struct symbol *intern(struct lisp *lisp, const char *name, size_t length);
struct object *make_truth(const struct lisp *lisp, int value); /* allocates nothing */

/* A list that grows at its end; lies in two slots of a frame. */
struct list {
	struct pair *first;
	struct pair *last;
};
void list_add(struct lisp *lisp, struct list *list, void *item);

static inline int is_type(const struct lisp *lisp, const void *object, enum lisp_type type)
{
	return object && ((const struct gc_header *)object)->type == lisp->types[type];
}

static inline int is_pair(const struct lisp *lisp, const void *object)
{
	return is_type(lisp, object, TYPE_PAIR) || is_type(lisp, object, TYPE_SOURCE_PAIR);
}

static inline int is_true(const struct lisp *lisp, const void *object)
{
	return object != lisp->falsehood;
}

/* Checks of arguments: they end the program with a message that names lisp->calling. */
struct pair *need_pair(struct lisp *lisp, struct object *object);
struct string *need_string(struct lisp *lisp, struct object *object);
int64_t need_integer(struct lisp *lisp, struct object *object);
/* The next argument, which is known to be there. Allocates nothing. */
static inline struct object *next_arg(struct pair **args)
{
	struct object *arg = (*args)->car;
	*args = (struct pair *)(*args)->cdr;
	return arg;
}

/* table.c: keys are compared by what they say if they are strings or integers. */
struct table *make_table(struct lisp *lisp);
/* NULL if there is none. Allocates nothing. */
struct entry *table_find(struct lisp *lisp, const struct table *table, const struct object *key);
struct entry *table_find_text(struct lisp *lisp, const struct table *table, const char *text,
			      size_t length);
void table_set(struct lisp *lisp, struct table *table, struct object *key, struct object *value);
uint64_t hash_bytes(const char *bytes, size_t length);

/* read.c: the expressions in a text, as a list. */
struct pair *read_program(struct lisp *lisp, const char *text, size_t size);

/* print.c: allocates nothing. `quoted`: strings as the reader takes them. */
enum print_style { PRINT_PLAIN, PRINT_QUOTED };
void print_object(struct lisp *lisp, FILE *out, const struct object *object,
		  enum print_style style);

/* eval.c */
struct object *eval(struct lisp *lisp, struct object *expr, struct scope *scope);
struct object *eval_body(struct lisp *lisp, struct pair *body, struct scope *scope);
struct object *apply(struct lisp *lisp, struct object *function, struct pair *args);
/* Adds a variable to a scope that exists. */
void scope_add(struct lisp *lisp, struct scope *scope, struct symbol *name, struct object *value);
struct scope *make_scope(struct lisp *lisp, struct scope *outer);
struct binding *scope_find(struct scope *scope, const struct symbol *name);

/* forms.c: special forms; `expr` is the whole expression. */
typedef struct object *form_function(struct lisp *lisp, struct pair *expr, struct scope *scope);
void forms_define(struct lisp *lisp);
form_function *form_by_number(uint64_t number);

/* list_builtins.c, string_builtins.c, io_builtins.c */
extern const struct builtin_row list_builtins[];
extern const struct builtin_row string_builtins[];
extern const struct builtin_row io_builtins[];
void close_files(struct lisp *lisp);
/* A malloc'ed copy of a whole file, *size bytes and a zero; -errno. The caller frees it. */
int read_whole_file(const char *path, char **out, size_t *size);

#endif
