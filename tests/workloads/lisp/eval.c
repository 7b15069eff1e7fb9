/* SPDX-License-Identifier: BSD-2-Clause */
/* eval.c: the evaluator: variables, calls of builtins and of Lisp functions. */
/*
 * Plain recursion on the C stack: a Lisp call is eval -> apply -> call_closure
 * -> eval_body -> eval, and a Lisp frame lies among them. There are no tail
 * calls: every call that has not returned is a real frame, which makes profiles
 * exact, and loops that run long are written with `while`.
 */
#include "lisp.h"

struct scope *make_scope(struct lisp *lisp, struct scope *outer)
{
	struct gc_thread *thread = lisp->thread;
	struct scope *scope;
	GC_FRAME(thread, frame, 0, struct scope * outer;);
	frame.root.outer = outer;
	scope = GC_NEW(thread, lisp->types[TYPE_SCOPE], struct scope);
	gc_write(thread, scope, &scope->outer, frame.root.outer);
	GC_FRAME_END(thread, frame);
	return scope;
}

void scope_add(struct lisp *lisp, struct scope *scope, struct symbol *name, struct object *value)
{
	struct gc_thread *thread = lisp->thread;
	struct binding *binding;
	GC_FRAME(thread, frame, 0, struct scope * scope; struct symbol * name;
		 struct object * value;);
	frame.root.scope = scope;
	frame.root.name = name;
	frame.root.value = value;
	binding = GC_NEW(thread, lisp->types[TYPE_BINDING], struct binding);
	scope = frame.root.scope;
	gc_write(thread, binding, &binding->name, frame.root.name);
	gc_write(thread, binding, &binding->value, frame.root.value);
	gc_write(thread, binding, &binding->next, scope->first);
	gc_write(thread, scope, &scope->first, binding);
	GC_FRAME_END(thread, frame);
}

struct binding *scope_find(struct scope *scope, const struct symbol *name)
{
	for (; scope; scope = scope->outer) {
		for (struct binding *binding = scope->first; binding; binding = binding->next) {
			if (binding->name == name)
				return binding;
		}
	}
	return NULL;
}

static struct object *variable(struct lisp *lisp, const struct symbol *name, struct scope *scope)
{
	const struct binding *binding = scope_find(scope, name);
	if (binding)
		return binding->value;
	if (name->value == lisp->unbound)
		lisp_error(lisp, "%.*s has no value", (int)name->name->length, name->name->bytes);
	return name->value;
}

/* The values of the expressions in a list, as a list. */
NAMED_FUNCTION static struct pair *eval_arguments(struct lisp *lisp, struct object *list,
						  struct scope *scope)
{
	struct pair *values;
	GC_FRAME(lisp->thread, frame, 0, struct object * rest; struct scope * scope;
		 struct list values;);
	frame.root.rest = list;
	frame.root.scope = scope;
	while (is_pair(lisp, frame.root.rest)) {
		struct pair *pair = (struct pair *)frame.root.rest;
		struct object *value;
		frame.root.rest = pair->cdr;
		value = eval(lisp, pair->car, frame.root.scope);
		list_add(lisp, &frame.root.values, value);
	}
	values = frame.root.values.first;
	GC_FRAME_END(lisp->thread, frame);
	return values;
}

/* Where the innermost Lisp function is now. Atomic, for a profiler may look at any time. */
static void set_line(struct lisp *lisp, const struct pair *expr)
{
	if (is_type(lisp, expr, TYPE_SOURCE_PAIR))
		__atomic_store_n(&lisp->function->pc, ((const struct source_pair *)expr)->line,
				 __ATOMIC_RELAXED);
}

NAMED_FUNCTION static struct object *eval_call(struct lisp *lisp, struct pair *expr,
					       struct scope *scope)
{
	struct object *result;
	struct pair *args;
	GC_FRAME(lisp->thread, frame, 0, struct pair * expr; struct scope * scope;
		 struct object * function;);
	frame.root.expr = expr;
	frame.root.scope = scope;
	frame.root.function = eval(lisp, expr->car, scope);
	args = eval_arguments(lisp, frame.root.expr->cdr, frame.root.scope);
	set_line(lisp, frame.root.expr); /* the arguments may have been on other lines */
	result = apply(lisp, frame.root.function, args);
	GC_FRAME_END(lisp->thread, frame);
	return result;
}

NAMED_FUNCTION struct object *eval(struct lisp *lisp, struct object *expr, struct scope *scope)
{
	struct pair *pair;
	if (is_type(lisp, expr, TYPE_SYMBOL))
		return variable(lisp, (struct symbol *)expr, scope);
	if (!is_pair(lisp, expr))
		return expr;
	lisp_check_stack(lisp);
	pair = (struct pair *)expr;
	set_line(lisp, pair);
	if (is_type(lisp, pair->car, TYPE_SYMBOL)) {
		uint64_t form = ((const struct symbol *)pair->car)->form;
		if (form)
			return form_by_number(form)(lisp, pair, scope);
	}
	return eval_call(lisp, pair, scope);
}

NAMED_FUNCTION struct object *eval_body(struct lisp *lisp, struct pair *body, struct scope *scope)
{
	struct object *value = NULL;
	GC_FRAME(lisp->thread, frame, 0, struct pair * body; struct scope * scope;);
	frame.root.body = body;
	frame.root.scope = scope;
	while (is_pair(lisp, frame.root.body)) {
		struct object *expr = frame.root.body->car;
		frame.root.body = (struct pair *)frame.root.body->cdr;
		value = eval(lisp, expr, frame.root.scope);
	}
	GC_FRAME_END(lisp->thread, frame);
	return value;
}

_Noreturn static void wrong_count(struct lisp *lisp, const struct closure *closure)
{
	lisp->calling = NULL;
	lisp_error(lisp, "%.*s: wrong number of arguments", (int)closure->name->name->length,
		   closure->name->name->bytes);
}

/* A scope with the parameters; a symbol in the place of the rest takes a list. */
static struct scope *bind_parameters(struct lisp *lisp, struct closure *closure, struct pair *args)
{
	struct scope *scope;
	GC_FRAME(lisp->thread, frame, 0, struct closure * closure; struct object * names;
		 struct pair * args; struct scope * scope;);
	frame.root.closure = closure;
	frame.root.names = closure->parameters;
	frame.root.args = args;
	frame.root.scope = make_scope(lisp, closure->scope);
	while (is_pair(lisp, frame.root.names)) {
		struct symbol *name = (struct symbol *)((struct pair *)frame.root.names)->car;
		if (!frame.root.args)
			wrong_count(lisp, frame.root.closure);
		frame.root.names = ((struct pair *)frame.root.names)->cdr;
		scope_add(lisp, frame.root.scope, name, next_arg(&frame.root.args));
	}
	if (frame.root.names)
		scope_add(lisp, frame.root.scope, (struct symbol *)frame.root.names,
			  (struct object *)frame.root.args);
	else if (frame.root.args)
		wrong_count(lisp, frame.root.closure);
	scope = frame.root.scope;
	GC_FRAME_END(lisp->thread, frame);
	return scope;
}

/* The Lisp frame: it makes the function visible in profiles and in error messages. */
NAMED_FUNCTION static struct object *call_closure(struct lisp *lisp, struct closure *closure,
						  struct pair *args)
{
	struct gc_frame *caller = lisp->function;
	const char *calling = lisp->calling;
	struct object *result;
	struct scope *scope;
	GC_FRAME(lisp->thread, frame, closure->code, struct closure * closure;);
	frame.root.closure = closure;
	frame.header.pc = closure->line;
	scope = bind_parameters(lisp, closure, args);
	lisp->function = &frame.header;
	lisp->calling = NULL;
	result = eval_body(lisp, frame.root.closure->body, scope);
	lisp->function = caller;
	lisp->calling = calling;
	GC_FRAME_END(lisp->thread, frame);
	return result;
}

NAMED_FUNCTION static struct object *call_builtin(struct lisp *lisp, const struct builtin *builtin,
						  struct pair *args)
{
	const struct builtin_row *row = lisp->builtins[builtin->index];
	const char *caller = lisp->calling;
	struct object *result;
	int count = 0;
	for (const struct pair *arg = args; arg; arg = (const struct pair *)arg->cdr)
		count++;
	lisp->calling = row->name;
	if (count < row->min || (row->max >= 0 && count > row->max))
		lisp_error(lisp, "wrong number of arguments");
	result = row->call(lisp, args);
	lisp->calling = caller;
	return result;
}

NAMED_FUNCTION struct object *apply(struct lisp *lisp, struct object *function, struct pair *args)
{
	if (is_type(lisp, function, TYPE_BUILTIN))
		return call_builtin(lisp, (const struct builtin *)function, args);
	if (!is_type(lisp, function, TYPE_CLOSURE))
		lisp_error(lisp, "this is no function");
	return call_closure(lisp, (struct closure *)function, args);
}
