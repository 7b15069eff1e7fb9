/* SPDX-License-Identifier: BSD-2-Clause */
/* object.c: the types of the Lisp objects, and how they are made. */
#include "lisp.h"

#define POINTERS(...)       \
	(const uint32_t[])  \
	{                   \
		__VA_ARGS__ \
	}

static const struct gc_type_desc type_table[N_TYPES] = {
	[TYPE_INTEGER] = {.name = "integer", .size = sizeof(struct integer)},
	[TYPE_STRING] = {.name = "string",
			 .size = sizeof(struct string),
			 .item_size = 1,
			 .length_offset = offsetof(struct string, length)},
	[TYPE_SYMBOL] = {.name = "symbol",
			 .size = sizeof(struct symbol),
			 .pointers = POINTERS(offsetof(struct symbol, name),
					      offsetof(struct symbol, value)),
			 .n_pointers = 2},
	[TYPE_PAIR] = {.name = "pair",
		       .size = sizeof(struct pair),
		       .pointers = POINTERS(offsetof(struct pair, car), offsetof(struct pair, cdr)),
		       .n_pointers = 2},
	[TYPE_SOURCE_PAIR] = {.name = "source-pair",
			      .size = sizeof(struct source_pair),
			      .pointers = POINTERS(offsetof(struct pair, car),
						   offsetof(struct pair, cdr)),
			      .n_pointers = 2},
	[TYPE_BINDING] = {.name = "binding",
			  .size = sizeof(struct binding),
			  .pointers = POINTERS(offsetof(struct binding, name),
					       offsetof(struct binding, value),
					       offsetof(struct binding, next)),
			  .n_pointers = 3},
	[TYPE_SCOPE] = {.name = "scope",
			.size = sizeof(struct scope),
			.pointers = POINTERS(offsetof(struct scope, first),
					     offsetof(struct scope, outer)),
			.n_pointers = 2},
	[TYPE_CLOSURE] = {.name = "closure",
			  .size = sizeof(struct closure),
			  .pointers = POINTERS(offsetof(struct closure, name),
					       offsetof(struct closure, parameters),
					       offsetof(struct closure, body),
					       offsetof(struct closure, scope)),
			  .n_pointers = 4},
	[TYPE_BUILTIN] = {.name = "builtin", .size = sizeof(struct builtin)},
	[TYPE_VECTOR] = {.name = "vector",
			 .size = sizeof(struct vector),
			 .item_size = sizeof(struct object *),
			 .length_offset = offsetof(struct vector, length),
			 .item_pointers = POINTERS(0),
			 .n_item_pointers = 1},
	[TYPE_ENTRY] = {.name = "entry",
			.size = sizeof(struct entry),
			.pointers = POINTERS(offsetof(struct entry, key),
					     offsetof(struct entry, value),
					     offsetof(struct entry, next)),
			.n_pointers = 3},
	[TYPE_TABLE] = {.name = "table",
			.size = sizeof(struct table),
			.pointers = POINTERS(offsetof(struct table, buckets)),
			.n_pointers = 1},
	[TYPE_PORT] = {.name = "port", .size = sizeof(struct port)},
	[TYPE_TRUTH] = {.name = "truth", .size = sizeof(struct truth)},
};

static void *make(struct lisp *lisp, enum lisp_type type)
{
	return gc_alloc(lisp->thread, lisp->types[type], type_table[type].size);
}

struct object *make_integer(struct lisp *lisp, int64_t value)
{
	struct integer *integer;
	if (value >= SMALL_MIN && value < SMALL_MAX && lisp->small)
		return ((struct vector *)lisp->small)->items[value - SMALL_MIN];
	integer = make(lisp, TYPE_INTEGER);
	integer->value = value;
	return (struct object *)integer;
}

struct string *make_blank_string(struct lisp *lisp, uint64_t length)
{
	if (length > MAX_STRING)
		lisp_error(lisp, "a string of %llu bytes is too long", (unsigned long long)length);
	return gc_alloc_array(lisp->thread, lisp->types[TYPE_STRING], length);
}

struct string *make_string(struct lisp *lisp, const char *bytes, size_t length)
{
	struct string *string = make_blank_string(lisp, length);
	if (length)
		memcpy(string->bytes, bytes, length);
	return string;
}

struct pair *make_pair(struct lisp *lisp, void *car, void *cdr)
{
	struct gc_thread *thread = lisp->thread;
	struct pair *pair;
	GC_FRAME(thread, frame, 0, void *car; void *cdr;);
	frame.root.car = car;
	frame.root.cdr = cdr;
	pair = make(lisp, TYPE_PAIR);
	gc_write(thread, pair, &pair->car, frame.root.car);
	gc_write(thread, pair, &pair->cdr, frame.root.cdr);
	GC_FRAME_END(thread, frame);
	return pair;
}

/* `list` lies in the caller's frame, so it is up to date after the allocation. */
void list_add(struct lisp *lisp, struct list *list, void *item)
{
	struct pair *pair = make_pair(lisp, item, NULL);
	if (list->last)
		gc_write(lisp->thread, list->last, &list->last->cdr, pair);
	else
		list->first = pair;
	list->last = pair;
}

struct object *make_truth(const struct lisp *lisp, int value)
{
	return value ? lisp->truth : lisp->falsehood;
}

struct symbol *intern(struct lisp *lisp, const char *name, size_t length)
{
	struct gc_thread *thread = lisp->thread;
	struct entry *entry = table_find_text(lisp, lisp->symbols, name, length);
	struct symbol *symbol;
	if (entry)
		return (struct symbol *)entry->value;
	GC_FRAME(thread, frame, 0, struct string * name; struct symbol * symbol;);
	frame.root.name = make_string(lisp, name, length);
	symbol = frame.root.symbol = make(lisp, TYPE_SYMBOL);
	gc_write(thread, symbol, &symbol->name, frame.root.name);
	gc_write(thread, symbol, &symbol->value, lisp->unbound);
	table_set(lisp, lisp->symbols, (struct object *)frame.root.name,
		  (struct object *)frame.root.symbol);
	symbol = frame.root.symbol;
	GC_FRAME_END(thread, frame);
	return symbol;
}

struct pair *need_pair(struct lisp *lisp, struct object *object)
{
	if (!is_pair(lisp, object))
		lisp_error(lisp, "this needs a pair");
	return (struct pair *)object;
}

struct string *need_string(struct lisp *lisp, struct object *object)
{
	if (!is_type(lisp, object, TYPE_STRING))
		lisp_error(lisp, "this needs a string");
	return (struct string *)object;
}

int64_t need_integer(struct lisp *lisp, struct object *object)
{
	if (!is_type(lisp, object, TYPE_INTEGER))
		lisp_error(lisp, "this needs an integer");
	return ((const struct integer *)object)->value;
}

static void define_builtins(struct lisp *lisp, const struct builtin_row *rows)
{
	struct gc_thread *thread = lisp->thread;
	for (; rows->name; rows++) {
		struct builtin *builtin;
		GC_FRAME(thread, frame, 0, struct symbol * symbol;);
		frame.root.symbol = intern(lisp, rows->name, strlen(rows->name));
		builtin = make(lisp, TYPE_BUILTIN);
		builtin->index = lisp->n_builtins;
		gc_write(thread, frame.root.symbol, &frame.root.symbol->value, builtin);
		GC_FRAME_END(thread, frame);
		lisp->builtins =
			reallocarray(lisp->builtins, lisp->n_builtins + 1, sizeof(*lisp->builtins));
		if (!lisp->builtins)
			die("out of memory");
		lisp->builtins[lisp->n_builtins++] = rows;
	}
}

static void make_small_integers(struct lisp *lisp)
{
	struct vector *small =
		gc_alloc_array(lisp->thread, lisp->types[TYPE_VECTOR], SMALL_MAX - SMALL_MIN);
	GC_FRAME(lisp->thread, frame, 0, struct vector * small;);
	frame.root.small = small;
	for (int64_t value = SMALL_MIN; value < SMALL_MAX; value++) {
		struct object *integer = make_integer(lisp, value);
		small = frame.root.small;
		gc_write(lisp->thread, small, &small->items[value - SMALL_MIN], integer);
	}
	lisp->small = frame.root.small;
	GC_FRAME_END(lisp->thread, frame);
}

void lisp_open(struct lisp *lisp)
{
	void **roots[] = {&lisp->symbols,   &lisp->small,   &lisp->truth,
			  &lisp->falsehood, &lisp->unbound, &lisp->quote};
	if (gc_heap_create(NULL, &lisp->heap) || gc_thread_attach(lisp->heap, &lisp->thread))
		die("cannot set up a heap: %s", gc_error());
	for (int i = 0; i < N_TYPES; i++) {
		if (gc_type_register(lisp->heap, &type_table[i], &lisp->types[i]))
			die("cannot register the type %s: %s", type_table[i].name, gc_error());
	}
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		if (gc_root_add(lisp->heap, roots[i]))
			die("cannot add a root: %s", gc_error());
	}
	lisp->symbols = make_table(lisp);
	lisp->truth = make(lisp, TYPE_TRUTH);
	((struct truth *)lisp->truth)->value = 1;
	lisp->falsehood = make(lisp, TYPE_TRUTH);
	lisp->unbound = make(lisp, TYPE_TRUTH);
	make_small_integers(lisp);
	lisp->quote = intern(lisp, "quote", 5);
	forms_define(lisp);
	define_builtins(lisp, list_builtins);
	define_builtins(lisp, string_builtins);
	define_builtins(lisp, io_builtins);
}

void lisp_close(struct lisp *lisp)
{
	void **roots[] = {&lisp->symbols,   &lisp->small,   &lisp->truth,
			  &lisp->falsehood, &lisp->unbound, &lisp->quote};
	close_files(lisp);
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		gc_root_remove(lisp->heap, roots[i]);
	gc_thread_detach(lisp->thread);
	gc_heap_destroy(lisp->heap);
	for (uint32_t i = 0; i < lisp->n_code_names; i++)
		free(lisp->code_names[i]);
	free(lisp->code_names);
	free(lisp->builtins);
}
