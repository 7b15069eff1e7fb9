/* SPDX-License-Identifier: BSD-2-Clause */
/* list_builtins.c: builtins for numbers, comparisons, lists, functions and tables. */
#include "lisp.h"

_Noreturn static void overflow(struct lisp *lisp)
{
	lisp_error(lisp, "the result does not fit 64 bits");
}

static struct object *call_add(struct lisp *lisp, struct pair *args)
{
	int64_t sum = 0;
	while (args) {
		if (__builtin_add_overflow(sum, need_integer(lisp, next_arg(&args)), &sum))
			overflow(lisp);
	}
	return make_integer(lisp, sum);
}

static struct object *call_multiply(struct lisp *lisp, struct pair *args)
{
	int64_t product = 1;
	while (args) {
		if (__builtin_mul_overflow(product, need_integer(lisp, next_arg(&args)), &product))
			overflow(lisp);
	}
	return make_integer(lisp, product);
}

static struct object *call_subtract(struct lisp *lisp, struct pair *args)
{
	int64_t result = need_integer(lisp, next_arg(&args));
	if (!args && __builtin_sub_overflow((int64_t)0, result, &result))
		overflow(lisp);
	while (args) {
		if (__builtin_sub_overflow(result, need_integer(lisp, next_arg(&args)), &result))
			overflow(lisp);
	}
	return make_integer(lisp, result);
}

static int64_t divisor(struct lisp *lisp, int64_t dividend, struct object *object)
{
	int64_t value = need_integer(lisp, object);
	if (!value)
		lisp_error(lisp, "division by 0");
	if (value == -1 && dividend == INT64_MIN)
		overflow(lisp);
	return value;
}

static struct object *call_quotient(struct lisp *lisp, struct pair *args)
{
	int64_t dividend = need_integer(lisp, next_arg(&args));
	return make_integer(lisp, dividend / divisor(lisp, dividend, args->car));
}

static struct object *call_remainder(struct lisp *lisp, struct pair *args)
{
	int64_t dividend = need_integer(lisp, next_arg(&args));
	return make_integer(lisp, dividend % divisor(lisp, dividend, args->car));
}

enum order { LESS = 1, EQUAL = 2, GREATER = 4 };

/* True if every two neighbours are in one of the `wanted` orders. */
static struct object *compare(struct lisp *lisp, struct pair *args, int wanted)
{
	int64_t left = need_integer(lisp, next_arg(&args));
	while (args) {
		int64_t right = need_integer(lisp, next_arg(&args));
		int order = left < right ? LESS : left > right ? GREATER : EQUAL;
		if (!(order & wanted))
			return make_truth(lisp, 0);
		left = right;
	}
	return make_truth(lisp, 1);
}

static struct object *call_equal_numbers(struct lisp *lisp, struct pair *args)
{
	return compare(lisp, args, EQUAL);
}

static struct object *call_less(struct lisp *lisp, struct pair *args)
{
	return compare(lisp, args, LESS);
}

static struct object *call_greater(struct lisp *lisp, struct pair *args)
{
	return compare(lisp, args, GREATER);
}

static struct object *call_at_most(struct lisp *lisp, struct pair *args)
{
	return compare(lisp, args, LESS | EQUAL);
}

static struct object *call_at_least(struct lisp *lisp, struct pair *args)
{
	return compare(lisp, args, GREATER | EQUAL);
}

static struct object *call_not(struct lisp *lisp, struct pair *args)
{
	return make_truth(lisp, !is_true(lisp, args->car));
}

static struct object *call_eq(struct lisp *lisp, struct pair *args)
{
	struct object *left = next_arg(&args);
	return make_truth(lisp, left == args->car);
}

/* The same, or made of parts that are. Recurses into the heads of lists only. */
static int equal(struct lisp *lisp, const struct object *left, const struct object *right)
{
	lisp_check_stack(lisp);
	for (; is_pair(lisp, left) && is_pair(lisp, right);
	     left = ((const struct pair *)left)->cdr, right = ((const struct pair *)right)->cdr) {
		if (!equal(lisp, ((const struct pair *)left)->car,
			   ((const struct pair *)right)->car))
			return 0;
	}
	if (left == right)
		return 1;
	if (is_type(lisp, left, TYPE_INTEGER) && is_type(lisp, right, TYPE_INTEGER))
		return ((const struct integer *)left)->value ==
		       ((const struct integer *)right)->value;
	if (is_type(lisp, left, TYPE_STRING) && is_type(lisp, right, TYPE_STRING)) {
		const struct string *a = (const struct string *)left;
		const struct string *b = (const struct string *)right;
		return a->length == b->length && !memcmp(a->bytes, b->bytes, a->length);
	}
	return 0;
}

static struct object *call_equal(struct lisp *lisp, struct pair *args)
{
	struct object *left = next_arg(&args);
	return make_truth(lisp, equal(lisp, left, args->car));
}

static struct object *call_cons(struct lisp *lisp, struct pair *args)
{
	struct object *car = next_arg(&args);
	return (struct object *)make_pair(lisp, car, args->car);
}

static struct object *call_car(struct lisp *lisp, struct pair *args)
{
	return need_pair(lisp, args->car)->car;
}

static struct object *call_cdr(struct lisp *lisp, struct pair *args)
{
	return need_pair(lisp, args->car)->cdr;
}

static struct object *call_list(struct lisp *lisp, struct pair *args)
{
	(void)lisp;
	return (struct object *)args;
}

static struct object *call_is_null(struct lisp *lisp, struct pair *args)
{
	return make_truth(lisp, !args->car);
}

static struct object *call_is_pair(struct lisp *lisp, struct pair *args)
{
	return make_truth(lisp, is_pair(lisp, args->car));
}

static struct object *call_is_number(struct lisp *lisp, struct pair *args)
{
	return make_truth(lisp, is_type(lisp, args->car, TYPE_INTEGER));
}

static struct object *call_is_symbol(struct lisp *lisp, struct pair *args)
{
	return make_truth(lisp, is_type(lisp, args->car, TYPE_SYMBOL));
}

static struct object *call_length(struct lisp *lisp, struct pair *args)
{
	int64_t length = 0;
	for (struct object *list = args->car; list; list = need_pair(lisp, list)->cdr)
		length++;
	return make_integer(lisp, length);
}

static struct object *call_reverse(struct lisp *lisp, struct pair *args)
{
	struct object *result;
	GC_FRAME(lisp->thread, frame, 0, struct object * rest; struct pair * result;);
	frame.root.rest = args->car;
	while (frame.root.rest) {
		struct pair *pair = need_pair(lisp, frame.root.rest);
		frame.root.rest = pair->cdr;
		frame.root.result = make_pair(lisp, pair->car, frame.root.result);
	}
	result = (struct object *)frame.root.result;
	GC_FRAME_END(lisp->thread, frame);
	return result;
}

/* Copies all lists but the last one. */
static struct object *call_append(struct lisp *lisp, struct pair *args)
{
	struct object *result;
	GC_FRAME(lisp->thread, frame, 0, struct pair * args; struct object * rest;
		 struct list list;);
	for (frame.root.args = args; frame.root.args && frame.root.args->cdr;) {
		frame.root.rest = next_arg(&frame.root.args);
		while (frame.root.rest) {
			struct pair *pair = need_pair(lisp, frame.root.rest);
			frame.root.rest = pair->cdr;
			list_add(lisp, &frame.root.list, pair->car);
		}
	}
	result = frame.root.args ? frame.root.args->car : NULL;
	if (frame.root.list.last) {
		gc_write(lisp->thread, frame.root.list.last, &frame.root.list.last->cdr, result);
		result = (struct object *)frame.root.list.first;
	}
	GC_FRAME_END(lisp->thread, frame);
	return result;
}

static struct object *call_apply(struct lisp *lisp, struct pair *args)
{
	struct object *result;
	GC_FRAME(lisp->thread, frame, 0, struct object * function; struct object * rest;
		 struct list args;);
	frame.root.function = next_arg(&args);
	frame.root.rest = args->car;
	while (frame.root.rest) { /* a copy, because the list may end in something else */
		struct pair *pair = need_pair(lisp, frame.root.rest);
		frame.root.rest = pair->cdr;
		list_add(lisp, &frame.root.args, pair->car);
	}
	result = apply(lisp, frame.root.function, frame.root.args.first);
	GC_FRAME_END(lisp->thread, frame);
	return result;
}

enum map_kind { MAP_ALL, MAP_NONE, MAP_TRUE };

/* Calls a function for every item; the results, nothing, or the items with a true result. */
NAMED_FUNCTION static struct object *map(struct lisp *lisp, struct pair *args, enum map_kind kind)
{
	struct object *results;
	GC_FRAME(lisp->thread, frame, 0, struct object * function; struct object * rest;
		 struct object * item; struct list results;);
	frame.root.function = next_arg(&args);
	frame.root.rest = args->car;
	while (frame.root.rest) {
		struct object *result;
		struct pair *pair = need_pair(lisp, frame.root.rest);
		frame.root.rest = pair->cdr;
		frame.root.item = pair->car;
		pair = make_pair(lisp, pair->car, NULL); /* before the function is looked at */
		result = apply(lisp, frame.root.function, pair);
		if (kind == MAP_ALL)
			list_add(lisp, &frame.root.results, result);
		else if (kind == MAP_TRUE && is_true(lisp, result))
			list_add(lisp, &frame.root.results, frame.root.item);
	}
	results = (struct object *)frame.root.results.first;
	GC_FRAME_END(lisp->thread, frame);
	return results;
}

static struct object *call_map(struct lisp *lisp, struct pair *args)
{
	return map(lisp, args, MAP_ALL);
}

static struct object *call_for_each(struct lisp *lisp, struct pair *args)
{
	return map(lisp, args, MAP_NONE);
}

static struct object *call_filter(struct lisp *lisp, struct pair *args)
{
	return map(lisp, args, MAP_TRUE);
}

static struct table *need_table(struct lisp *lisp, struct object *object)
{
	if (!is_type(lisp, object, TYPE_TABLE))
		lisp_error(lisp, "this needs a table");
	return (struct table *)object;
}

static struct object *call_make_table(struct lisp *lisp, struct pair *args)
{
	(void)args;
	return (struct object *)make_table(lisp);
}

static struct object *call_table_get(struct lisp *lisp, struct pair *args)
{
	const struct table *table = need_table(lisp, next_arg(&args));
	const struct entry *entry = table_find(lisp, table, next_arg(&args));
	if (entry)
		return entry->value;
	return args ? args->car : make_truth(lisp, 0);
}

static struct object *call_table_set(struct lisp *lisp, struct pair *args)
{
	struct table *table = need_table(lisp, next_arg(&args));
	struct object *key = next_arg(&args);
	table_set(lisp, table, key, args->car);
	return NULL;
}

static struct object *call_table_count(struct lisp *lisp, struct pair *args)
{
	return make_integer(lisp, (int64_t)need_table(lisp, args->car)->count);
}

static struct object *call_table_keys(struct lisp *lisp, struct pair *args)
{
	struct object *keys;
	GC_FRAME(lisp->thread, frame, 0, struct vector * buckets; struct entry * entry;
		 struct list keys;);
	frame.root.buckets = need_table(lisp, args->car)->buckets;
	for (uint64_t i = 0; i < frame.root.buckets->length; i++) {
		frame.root.entry = (struct entry *)frame.root.buckets->items[i];
		while (frame.root.entry) {
			list_add(lisp, &frame.root.keys, frame.root.entry->key);
			frame.root.entry = frame.root.entry->next;
		}
	}
	keys = (struct object *)frame.root.keys.first;
	GC_FRAME_END(lisp->thread, frame);
	return keys;
}

const struct builtin_row list_builtins[] = {
	{"+", call_add, 0, -1},
	{"-", call_subtract, 1, -1},
	{"*", call_multiply, 0, -1},
	{"quotient", call_quotient, 2, 2},
	{"remainder", call_remainder, 2, 2},
	{"=", call_equal_numbers, 1, -1},
	{"<", call_less, 1, -1},
	{">", call_greater, 1, -1},
	{"<=", call_at_most, 1, -1},
	{">=", call_at_least, 1, -1},
	{"not", call_not, 1, 1},
	{"eq?", call_eq, 2, 2},
	{"equal?", call_equal, 2, 2},
	{"cons", call_cons, 2, 2},
	{"car", call_car, 1, 1},
	{"cdr", call_cdr, 1, 1},
	{"list", call_list, 0, -1},
	{"null?", call_is_null, 1, 1},
	{"pair?", call_is_pair, 1, 1},
	{"number?", call_is_number, 1, 1},
	{"symbol?", call_is_symbol, 1, 1},
	{"length", call_length, 1, 1},
	{"reverse", call_reverse, 1, 1},
	{"append", call_append, 0, -1},
	{"apply", call_apply, 2, 2},
	{"map", call_map, 2, 2},
	{"for-each", call_for_each, 2, 2},
	{"filter", call_filter, 2, 2},
	{"make-table", call_make_table, 0, 0},
	{"table-get", call_table_get, 2, 3},
	{"table-set!", call_table_set, 3, 3},
	{"table-count", call_table_count, 1, 1},
	{"table-keys", call_table_keys, 1, 1},
	{NULL, NULL, 0, 0},
};
