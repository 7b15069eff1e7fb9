/* SPDX-License-Identifier: BSD-2-Clause */
/* forms.c: special forms: what does not evaluate its arguments like a call. */
#include "lisp.h"

_Noreturn static void bad_form(struct lisp *lisp, const char *wanted)
{
	lisp->calling = NULL;
	lisp_error(lisp, "this should look like %s", wanted);
}

/* Item `n` of an expression that must have it. */
static struct object *item(struct lisp *lisp, const struct pair *expr, int n, const char *wanted)
{
	const struct object *rest = (const struct object *)expr;
	for (; n > 0 && is_pair(lisp, rest); n--)
		rest = ((const struct pair *)rest)->cdr;
	if (!is_pair(lisp, rest))
		bad_form(lisp, wanted);
	return ((const struct pair *)rest)->car;
}

/* What follows the first `n` items of an expression. */
static struct pair *rest_of(struct lisp *lisp, struct pair *expr, int n, const char *wanted)
{
	for (; n > 0; n--) {
		if (!is_pair(lisp, expr))
			bad_form(lisp, wanted);
		expr = (struct pair *)expr->cdr;
	}
	if (expr && !is_pair(lisp, expr))
		bad_form(lisp, wanted);
	return expr;
}

static struct symbol *need_symbol(struct lisp *lisp, struct object *object, const char *wanted)
{
	if (!is_type(lisp, object, TYPE_SYMBOL))
		bad_form(lisp, wanted);
	return (struct symbol *)object;
}

static struct object *form_quote(struct lisp *lisp, struct pair *expr, struct scope *scope)
{
	(void)scope;
	return item(lisp, expr, 1, "(quote OBJECT)");
}

NAMED_FUNCTION static struct object *form_if(struct lisp *lisp, struct pair *expr,
					     struct scope *scope)
{
	static const char wanted[] = "(if TEST THEN ELSE)";
	struct object *result = NULL;
	struct pair *rest;
	GC_FRAME(lisp->thread, frame, 0, struct pair * rest; struct scope * scope;);
	frame.root.rest = rest_of(lisp, expr, 2, wanted);
	frame.root.scope = scope;
	if (!frame.root.rest)
		bad_form(lisp, wanted);
	if (!is_true(lisp, eval(lisp, item(lisp, expr, 1, wanted), scope)))
		rest = (struct pair *)frame.root.rest->cdr;
	else
		rest = frame.root.rest;
	if (is_pair(lisp, rest))
		result = eval(lisp, rest->car, frame.root.scope);
	GC_FRAME_END(lisp->thread, frame);
	return result;
}

NAMED_FUNCTION static struct object *form_cond(struct lisp *lisp, struct pair *expr,
					       struct scope *scope)
{
	static const char wanted[] = "(cond (TEST BODY...)... (else BODY...))";
	struct object *result = NULL;
	GC_FRAME(lisp->thread, frame, 0, struct pair * clauses; struct pair * clause;
		 struct scope * scope;);
	frame.root.clauses = rest_of(lisp, expr, 1, wanted);
	frame.root.scope = scope;
	while (is_pair(lisp, frame.root.clauses)) {
		if (!is_pair(lisp, frame.root.clauses->car))
			bad_form(lisp, wanted);
		frame.root.clause = (struct pair *)frame.root.clauses->car;
		result = eval(lisp, frame.root.clause->car, frame.root.scope);
		if (is_true(lisp, result)) {
			if (frame.root.clause->cdr)
				result = eval_body(lisp, (struct pair *)frame.root.clause->cdr,
						   frame.root.scope);
			break;
		}
		result = NULL;
		frame.root.clauses = (struct pair *)frame.root.clauses->cdr;
	}
	GC_FRAME_END(lisp->thread, frame);
	return result;
}

/* The name of the function that `expr` makes: its own, or one that tells where it is. */
static uint32_t code_of(struct lisp *lisp, struct pair *expr, const struct symbol *name)
{
	char text[128];
	struct source_pair *source = (struct source_pair *)expr;
	uint32_t code;
	if (!is_type(lisp, expr, TYPE_SOURCE_PAIR))
		return lisp->function->code;
	if (source->code)
		return source->code;
	snprintf(text, sizeof(text), "%.*s", (int)name->name->length, name->name->bytes);
	code = lisp_code(lisp, text, source->line);
	source->code = code;
	return code;
}

static void check_parameters(struct lisp *lisp, const struct object *names, const char *wanted)
{
	for (; is_pair(lisp, names); names = ((const struct pair *)names)->cdr)
		need_symbol(lisp, ((const struct pair *)names)->car, wanted);
	if (names)
		need_symbol(lisp, (struct object *)names, wanted);
}

/* `expr` stands for the function in the source; its code id is kept there. */
static struct object *make_closure(struct lisp *lisp, struct pair *expr,
				   const struct closure *template)
{
	struct gc_thread *thread = lisp->thread;
	uint32_t line = lisp->function->pc;
	struct closure *closure;
	uint32_t code;
	GC_FRAME(thread, frame, 0, struct symbol * name; struct object * parameters;
		 struct pair * body; struct scope * scope;);
	check_parameters(lisp, template->parameters, "(lambda (NAME...) BODY...)");
	frame.root.name = template->name;
	frame.root.parameters = template->parameters;
	frame.root.body = template->body;
	frame.root.scope = template->scope;
	code = code_of(lisp, expr, template->name);
	if (is_type(lisp, expr, TYPE_SOURCE_PAIR))
		line = ((const struct source_pair *)expr)->line;
	closure = GC_NEW(thread, lisp->types[TYPE_CLOSURE], struct closure);
	closure->code = code;
	closure->line = line;
	gc_write(thread, closure, &closure->name, frame.root.name);
	gc_write(thread, closure, &closure->parameters, frame.root.parameters);
	gc_write(thread, closure, &closure->body, frame.root.body);
	gc_write(thread, closure, &closure->scope, frame.root.scope);
	GC_FRAME_END(thread, frame);
	return (struct object *)closure;
}

/* (lambda PARAMETERS BODY...) under a name. */
static struct object *lambda(struct lisp *lisp, struct pair *expr, struct scope *scope,
			     struct symbol *name)
{
	static const char wanted[] = "(lambda (NAME...) BODY...)";
	const struct closure template = {
		.name = name,
		.parameters = item(lisp, expr, 1, wanted),
		.body = rest_of(lisp, expr, 2, wanted),
		.scope = scope,
	};
	return make_closure(lisp, expr, &template);
}

static struct object *form_lambda(struct lisp *lisp, struct pair *expr, struct scope *scope)
{
	struct symbol *name;
	GC_FRAME(lisp->thread, frame, 0, struct pair * expr; struct scope * scope;);
	frame.root.expr = expr;
	frame.root.scope = scope;
	name = intern(lisp, "lambda", 6);
	expr = frame.root.expr;
	scope = frame.root.scope;
	GC_FRAME_END(lisp->thread, frame);
	return lambda(lisp, expr, scope, name);
}

/* Gives a variable a value, where `define` stands. */
static void define_variable(struct lisp *lisp, struct scope *scope, struct symbol *name,
			    struct object *value)
{
	struct binding *binding;
	if (!scope) {
		gc_write(lisp->thread, name, &name->value, value);
		return;
	}
	for (binding = scope->first; binding && binding->name != name; binding = binding->next)
		;
	if (binding)
		gc_write(lisp->thread, binding, &binding->value, value);
	else
		scope_add(lisp, scope, name, value);
}

/* A value that is about to get a name: a function takes it for its own. */
static struct object *eval_named(struct lisp *lisp, struct object *expr, struct scope *scope,
				 struct symbol *name)
{
	struct pair *pair = (struct pair *)expr;
	if (is_pair(lisp, expr) && is_type(lisp, pair->car, TYPE_SYMBOL)) {
		uint64_t form = ((const struct symbol *)pair->car)->form;
		if (form && form_by_number(form) == form_lambda)
			return lambda(lisp, pair, scope, name);
	}
	return eval(lisp, expr, scope);
}

static struct object *define_function(struct lisp *lisp, struct pair *expr, struct scope *scope)
{
	static const char wanted[] = "(define (NAME PARAMETER...) BODY...)";
	struct pair *head = (struct pair *)item(lisp, expr, 1, wanted);
	const struct closure template = {
		.name = need_symbol(lisp, head->car, wanted),
		.parameters = head->cdr,
		.body = rest_of(lisp, expr, 2, wanted),
		.scope = scope,
	};
	return make_closure(lisp, expr, &template);
}

NAMED_FUNCTION static struct object *form_define(struct lisp *lisp, struct pair *expr,
						 struct scope *scope)
{
	static const char wanted[] = "(define NAME VALUE)";
	struct object *head = item(lisp, expr, 1, wanted);
	int is_function = is_pair(lisp, head);
	struct object *value;
	GC_FRAME(lisp->thread, frame, 0, struct symbol * name; struct scope * scope;);
	frame.root.name =
		need_symbol(lisp, is_function ? ((struct pair *)head)->car : head, wanted);
	frame.root.scope = scope;
	if (is_function)
		value = define_function(lisp, expr, scope);
	else
		value = eval_named(lisp, item(lisp, expr, 2, wanted), scope, frame.root.name);
	define_variable(lisp, frame.root.scope, frame.root.name, value);
	GC_FRAME_END(lisp->thread, frame);
	return NULL;
}

static struct object *parameter_value(struct lisp *lisp, const char *text)
{
	char *end;
	long long value;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (end != text && !*end && !errno)
		return make_integer(lisp, value);
	return (struct object *)make_string(lisp, text, strlen(text));
}

/* (parameter NAME DEFAULT): a global variable that NAME=VALUE on the command line may set. */
static struct object *form_parameter(struct lisp *lisp, struct pair *expr, struct scope *scope)
{
	static const char wanted[] = "(parameter NAME DEFAULT)";
	const struct parameter *given = NULL;
	const struct string *text;
	struct object *value;
	GC_FRAME(lisp->thread, frame, 0, struct symbol * name;);
	frame.root.name = need_symbol(lisp, item(lisp, expr, 1, wanted), wanted);
	text = frame.root.name->name;
	for (uint32_t i = 0; i < lisp->n_parameters; i++) {
		if (lisp->parameters[i].name_length == text->length &&
		    !memcmp(lisp->parameters[i].name, text->bytes, text->length))
			given = &lisp->parameters[i];
	}
	if (given)
		value = parameter_value(lisp, given->value);
	else
		value = eval(lisp, item(lisp, expr, 2, wanted), scope);
	define_variable(lisp, NULL, frame.root.name, value);
	GC_FRAME_END(lisp->thread, frame);
	return NULL;
}

static struct object *form_set(struct lisp *lisp, struct pair *expr, struct scope *scope)
{
	static const char wanted[] = "(set! NAME VALUE)";
	struct symbol *name = need_symbol(lisp, item(lisp, expr, 1, wanted), wanted);
	struct binding *binding;
	struct object *value;
	GC_FRAME(lisp->thread, frame, 0, struct symbol * name; struct scope * scope;);
	frame.root.name = name;
	frame.root.scope = scope;
	value = eval(lisp, item(lisp, expr, 2, wanted), scope);
	name = frame.root.name;
	binding = scope_find(frame.root.scope, name);
	if (binding)
		gc_write(lisp->thread, binding, &binding->value, value);
	else if (name->value == lisp->unbound)
		lisp_error(lisp, "%.*s has no value that could be changed", (int)name->name->length,
			   name->name->bytes);
	else
		gc_write(lisp->thread, name, &name->value, value);
	GC_FRAME_END(lisp->thread, frame);
	return NULL;
}

NAMED_FUNCTION static struct object *form_begin(struct lisp *lisp, struct pair *expr,
						struct scope *scope)
{
	return eval_body(lisp, (struct pair *)expr->cdr, scope);
}

NAMED_FUNCTION static struct object *form_while(struct lisp *lisp, struct pair *expr,
						struct scope *scope)
{
	static const char wanted[] = "(while TEST BODY...)";
	GC_FRAME(lisp->thread, frame, 0, struct pair * expr; struct scope * scope;);
	frame.root.expr = expr;
	frame.root.scope = scope;
	while (is_true(lisp, eval(lisp, item(lisp, frame.root.expr, 1, wanted), frame.root.scope)))
		eval_body(lisp, rest_of(lisp, frame.root.expr, 2, wanted), frame.root.scope);
	GC_FRAME_END(lisp->thread, frame);
	return NULL;
}

static struct object *and_or(struct lisp *lisp, struct pair *expr, struct scope *scope, int stop_at)
{
	struct object *value = make_truth(lisp, !stop_at);
	GC_FRAME(lisp->thread, frame, 0, struct object * rest; struct scope * scope;);
	frame.root.rest = expr->cdr;
	frame.root.scope = scope;
	while (is_pair(lisp, frame.root.rest)) {
		struct object *next = ((struct pair *)frame.root.rest)->car;
		frame.root.rest = ((struct pair *)frame.root.rest)->cdr;
		value = eval(lisp, next, frame.root.scope);
		if (is_true(lisp, value) == stop_at)
			break;
	}
	GC_FRAME_END(lisp->thread, frame);
	return value;
}

static struct object *form_and(struct lisp *lisp, struct pair *expr, struct scope *scope)
{
	return and_or(lisp, expr, scope, 0);
}

static struct object *form_or(struct lisp *lisp, struct pair *expr, struct scope *scope)
{
	return and_or(lisp, expr, scope, 1);
}

static const char let_wanted[] = "(let ((NAME VALUE)...) BODY...)";

enum let_kind { LET_ALL_AT_ONCE, LET_ONE_BY_ONE };

/* A new scope with the variables of a let; values see `scope`, or the new one. */
static struct scope *bind_let(struct lisp *lisp, struct object *list, struct scope *scope,
			      enum let_kind kind)
{
	struct scope *inner;
	GC_FRAME(lisp->thread, frame, 0, struct object * list; struct pair * pair;
		 struct scope * inner; struct scope * outer;);
	frame.root.list = list;
	frame.root.outer = scope;
	frame.root.inner = make_scope(lisp, scope);
	while (is_pair(lisp, frame.root.list)) {
		struct object *value;
		struct pair *pair = (struct pair *)((struct pair *)frame.root.list)->car;
		if (!is_pair(lisp, pair))
			bad_form(lisp, let_wanted);
		frame.root.pair = pair;
		need_symbol(lisp, pair->car, let_wanted);
		value = eval_named(lisp, item(lisp, pair, 1, let_wanted),
				   kind == LET_ONE_BY_ONE ? frame.root.inner : frame.root.outer,
				   (struct symbol *)pair->car);
		scope_add(lisp, frame.root.inner, (struct symbol *)frame.root.pair->car, value);
		frame.root.list = ((struct pair *)frame.root.list)->cdr;
	}
	if (frame.root.list)
		bad_form(lisp, let_wanted);
	inner = frame.root.inner;
	GC_FRAME_END(lisp->thread, frame);
	return inner;
}

/* Two lists from one: the names and the values of a named let. */
static void split_let(struct lisp *lisp, struct object *list, struct list *names,
		      struct list *values)
{
	GC_FRAME(lisp->thread, frame, 0, struct object * list; struct object * value;);
	frame.root.list = list;
	for (; is_pair(lisp, frame.root.list);
	     frame.root.list = ((struct pair *)frame.root.list)->cdr) {
		struct pair *pair = (struct pair *)((struct pair *)frame.root.list)->car;
		if (!is_pair(lisp, pair))
			bad_form(lisp, let_wanted);
		frame.root.value = item(lisp, pair, 1, let_wanted);
		list_add(lisp, names, pair->car);
		list_add(lisp, values, frame.root.value);
	}
	if (frame.root.list)
		bad_form(lisp, let_wanted);
	GC_FRAME_END(lisp->thread, frame);
}

/* (let NAME ((VARIABLE VALUE)...) BODY...): a function that is called at once. */
static struct object *named_let(struct lisp *lisp, struct pair *expr, struct scope *scope)
{
	struct closure template = {0};
	struct object *result;
	struct pair *call;
	GC_FRAME(lisp->thread, frame, 0, struct pair * expr; struct scope * inner;
		 struct list names; struct list values; struct object * closure;);
	frame.root.expr = expr;
	frame.root.inner = make_scope(lisp, scope);
	split_let(lisp, item(lisp, frame.root.expr, 2, let_wanted), &frame.root.names,
		  &frame.root.values);
	expr = frame.root.expr;
	template.name = (struct symbol *)item(lisp, expr, 1, let_wanted);
	template.parameters = (struct object *)frame.root.names.first;
	template.body = rest_of(lisp, expr, 3, let_wanted);
	template.scope = frame.root.inner;
	frame.root.closure = make_closure(lisp, expr, &template);
	scope_add(lisp, frame.root.inner, (struct symbol *)item(lisp, frame.root.expr, 1, NULL),
		  frame.root.closure);
	call = make_pair(lisp, frame.root.closure, frame.root.values.first);
	/* The values are evaluated where the name is not known yet: the scope outside. */
	result = eval(lisp, (struct object *)call, frame.root.inner->outer);
	GC_FRAME_END(lisp->thread, frame);
	return result;
}

static struct object *let(struct lisp *lisp, struct pair *expr, struct scope *scope,
			  enum let_kind kind)
{
	struct object *result;
	struct scope *inner;
	GC_FRAME(lisp->thread, frame, 0, struct pair * body;);
	frame.root.body = rest_of(lisp, expr, 2, let_wanted);
	inner = bind_let(lisp, item(lisp, expr, 1, let_wanted), scope, kind);
	result = eval_body(lisp, frame.root.body, inner);
	GC_FRAME_END(lisp->thread, frame);
	return result;
}

NAMED_FUNCTION static struct object *form_let(struct lisp *lisp, struct pair *expr,
					      struct scope *scope)
{
	if (is_type(lisp, item(lisp, expr, 1, let_wanted), TYPE_SYMBOL))
		return named_let(lisp, expr, scope);
	return let(lisp, expr, scope, LET_ALL_AT_ONCE);
}

NAMED_FUNCTION static struct object *form_let_star(struct lisp *lisp, struct pair *expr,
						   struct scope *scope)
{
	return let(lisp, expr, scope, LET_ONE_BY_ONE);
}

static const struct {
	const char *name;
	form_function *form;
} forms[] = {
	{"quote", form_quote},   {"if", form_if},         {"cond", form_cond},
	{"lambda", form_lambda}, {"define", form_define}, {"parameter", form_parameter},
	{"set!", form_set},      {"begin", form_begin},   {"while", form_while},
	{"and", form_and},       {"or", form_or},         {"let", form_let},
	{"let*", form_let_star},
};

form_function *form_by_number(uint64_t number)
{
	return forms[number - 1].form;
}

void forms_define(struct lisp *lisp)
{
	struct symbol *otherwise;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		intern(lisp, forms[i].name, strlen(forms[i].name))->form = i + 1;
	otherwise = intern(lisp, "else", 4); /* true, so that cond needs no special case */
	gc_write(lisp->thread, otherwise, &otherwise->value, lisp->truth);
}
