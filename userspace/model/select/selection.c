/* SPDX-License-Identifier: BSD-2-Clause */
/* selection.c: which events a filter selects. */
#include "selection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/events.h"
#include "../../util/path_base.h"
#include "../gc/heap_sites.h"
#include "../world/syscall_text.h"
#include "../world/world.h"

static uint16_t bits_of(const struct matches *matches, uint64_t number)
{
	return number < matches->count ? matches->bits[number] : 0;
}

static int matches_init(struct matches *matches, size_t count)
{
	matches->bits = calloc(count + 1, sizeof(*matches->bits));
	matches->count = matches->bits ? count : 0;
	return matches->bits ? 0 : -ENOMEM;
}

/* Matches the whole path or its last part. */
static bool is_module(const char *value, const char *module)
{
	return module &&
	       (filter_matches(value, module) || filter_matches(value, path_base(module)));
}

/*
 * The stack of a timer sample in a system call contains the kernel's system call entry. A kernel
 * function may name the call. But tail calls can remove that frame; then the C library's function
 * that made the call names it.
 */
static bool enters_kernel(const struct model_function *row)
{
	return strcmp(row->name, "do_syscall_64") == 0 || strcmp(row->name, "x64_sys_call") == 0;
}

static bool is_in_syscall(const char *calls, const struct model_function *row)
{
	static const char *const kernel[] = {"__x64_sys_", "__ia32_sys_", "__se_sys_",
					     "__do_sys_",  "ksys_",       NULL};
	static const char *const library[] = {"__libc_", "__GI_", "__", "_", "", NULL};
	const char *const *prefixes = row->runtime == RUNTIME_KERNEL ? kernel : library;

	for (; *prefixes; prefixes++) {
		size_t size = strlen(*prefixes);

		if (strncmp(row->name, *prefixes, size) == 0 &&
		    filter_matches(calls, row->name + size))
			return true;
	}
	return false;
}

static bool row_matches(const struct filter_term *term, const struct model_function *row)
{
	switch (term->key) {
	case FILTER_FUNCTION:
		return filter_matches(term->value, row->name);
	case FILTER_MODULE:
		return is_module(term->value, row->module);
	case FILTER_DURING:
		if (!term->calls)
			return false;
		return *term->calls ? is_in_syscall(term->calls, row) : enters_kernel(row);
	default:
		return false;
	}
}

static uint16_t mask_row(const struct filter *filter, const struct model_function *row)
{
	unsigned mask = 0;

	for (size_t i = 0; i < filter->count; i++)
		mask |= row_matches(&filter->terms[i], row) ? 1U << i : 0;
	return (uint16_t)mask;
}

/* The `during` terms: they match kernel functions and the one that called the kernel. */
static uint16_t during_terms(const struct filter *filter)
{
	unsigned mask = 0;

	for (size_t i = 0; i < filter->count; i++)
		mask |= filter->terms[i].key == FILTER_DURING ? 1U << i : 0;
	return (uint16_t)mask;
}

/* A stack matches what any of its functions matches. */
static uint16_t mask_stack(const struct world *world, const struct matches *rows, uint16_t during,
			   uint32_t stack)
{
	const struct functions *functions = &world->functions;
	const struct tree *tree = &world->tree;
	bool entered = false, left = false;
	unsigned mask = 0;

	for (uint32_t id = stack; id; id = tree_node(tree, id)->parent) {
		const struct frame *frame = tree_frame(tree, tree_node(tree, id)->frame);
		bool kernel = frame->runtime == RUNTIME_KERNEL;

		for (uint32_t i = frame->n_functions; i--;) {
			uint32_t row = functions->of_frames[frame->first_function + i];
			bool caller = !kernel && entered && !left;

			entered |= kernel && enters_kernel(&functions->rows[row]);
			left |= !kernel;
			mask |= kernel || caller ? rows->bits[row]
						 : rows->bits[row] & ~(unsigned)during;
		}
	}
	return (uint16_t)mask;
}

static int resolve_stacks(struct selection *selection, const struct world *world,
			  const struct heap_sites *heap)
{
	const struct functions *functions = &world->functions;
	const struct tree *tree = &world->tree;
	uint16_t during = during_terms(selection->filter);
	struct matches rows;

	if (matches_init(&rows, functions->n_rows) < 0 ||
	    matches_init(&selection->stacks, tree->nodes.limit) < 0) {
		free(rows.bits);
		return -ENOMEM;
	}
	for (size_t i = 0; i < functions->n_rows; i++)
		rows.bits[i] = mask_row(selection->filter, &functions->rows[i]);
	for (size_t i = 1; i < tree->n_costs; i++) {
		uint32_t stack = tree->costs[i].stack;

		if (stack)
			selection->stacks.bits[stack] = mask_stack(world, &rows, during, stack);
	}
	for (size_t i = 0; i < heap->count; i++)
		selection->stacks.bits[heap->items[i].stack] =
			mask_stack(world, &rows, during, heap->items[i].stack);
	free(rows.bits);
	return 0;
}

static int resolve_types(struct selection *selection, const struct world *world)
{
	const struct filter *filter = selection->filter;

	if (matches_init(&selection->types, world->types.count) < 0)
		return -ENOMEM;
	for (size_t type = 1; type < world->types.count; type++)
		for (size_t i = 0; i < filter->count; i++)
			if (filter->terms[i].key == FILTER_TYPE && world->types.items[type].name &&
			    filter_matches(filter->terms[i].value, world->types.items[type].name))
				selection->types.bits[type] |= (uint16_t)(1U << i);
	return 0;
}

/* Matches threads and processes by number or name. */
static bool is_task(const char *value, uint64_t id, const char *name)
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRIu64, id);
	return filter_matches(value, number) || (name && filter_matches(value, name));
}

static bool is_process(const char *value, const struct process *process)
{
	return is_task(value, process->pid, process->name) ||
	       (process->title && filter_matches(value, process->title));
}

static bool is_thread(const struct filter_term *term, const struct thread *thread,
		      const struct process *process)
{
	switch (term->key) {
	case FILTER_THREAD:
		return is_task(term->value, thread->tid, thread->name);
	case FILTER_PROCESS:
		return is_process(term->value, process);
	default:
		return false;
	}
}

static int resolve_threads(struct selection *selection, const struct world *world)
{
	const struct filter *filter = selection->filter;

	if (matches_init(&selection->threads, world->tasks.threads.limit) < 0)
		return -ENOMEM;
	for (uint64_t id = 1; id < world->tasks.threads.limit; id++) {
		const struct thread *thread = tasks_find_thread(&world->tasks, id);

		for (size_t i = 0; thread && i < filter->count; i++)
			if (is_thread(&filter->terms[i], thread,
				      tasks_find_process(&world->tasks, thread->process)))
				selection->threads.bits[id] |= (uint16_t)(1U << i);
	}
	return 0;
}

static int resolve_processes(struct selection *selection, const struct world *world)
{
	const struct filter *filter = selection->filter;

	if (matches_init(&selection->processes, world->tasks.processes.limit) < 0)
		return -ENOMEM;
	for (uint64_t id = 1; id < world->tasks.processes.limit; id++) {
		const struct process *process = tasks_find_process(&world->tasks, id);

		for (size_t i = 0; process && i < filter->count; i++)
			if (filter->terms[i].key == FILTER_PROCESS &&
			    is_process(filter->terms[i].value, process))
				selection->processes.bits[id] |= (uint16_t)(1U << i);
	}
	return 0;
}

int selection_resolve(struct selection *selection, const struct filter *filter,
		      const struct world *world, const struct heap_sites *heap)
{
	const char *machine = world->model->run.machine;

	selection->filter = filter;
	if (machine) {
		snprintf(selection->machine_name, sizeof(selection->machine_name), "%s", machine);
		selection->machine = selection->machine_name;
	}
	if (resolve_stacks(selection, world, heap) < 0 || resolve_types(selection, world) < 0 ||
	    resolve_threads(selection, world) < 0 || resolve_processes(selection, world) < 0)
		return -ENOMEM;
	return 0;
}

void selection_free(struct selection *selection)
{
	free(selection->stacks.bits);
	free(selection->types.bits);
	free(selection->threads.bits);
	free(selection->processes.bits);
	*selection = (struct selection){0};
}

/* The properties of an event that terms refer to. */
struct properties {
	uint64_t time, thread, stack, type;
	uint64_t process; /* only for events without a thread */
	uint64_t fiber;   /* 0: none */
	uint64_t gc_kind; /* of the collection that contains it; 0: none */
	bool is_syscall;  /* or a wait in one; with this number */
	uint64_t number;
	bool is_wait; /* with this reason */
	uint64_t reason;
	bool in_kernel_call; /* its stack shows which call it is in */
	bool is_state;       /* a state without time and phase */
};

static struct properties properties_of_process(const struct record *record)
{
	if (record->kind == RECORD_gc_cycle)
		return (struct properties){.time = record->gc_cycle.time,
					   .process = record->gc_cycle.process,
					   .gc_kind = GCPROF_GC_STOP};
	return (struct properties){.process = record->heap_site.process,
				   .stack = record->heap_site.stack,
				   .is_state = true};
}

static struct properties properties_of(const struct event *event)
{
	const struct record *record = event->record;

	switch (record->kind) {
	case RECORD_alloc:
		return (struct properties){.time = record->alloc.time,
					   .thread = record->alloc.thread,
					   .fiber = record->alloc.fiber,
					   .stack = record->alloc.stack,
					   .type = event->type};
	case RECORD_cpu:
		return (struct properties){.time = record->cpu.time,
					   .thread = record->cpu.thread,
					   .fiber = record->cpu.fiber,
					   .stack = record->cpu.stack,
					   .gc_kind = event->gc_kind,
					   .in_kernel_call = true};
	case RECORD_fault:
		return (struct properties){.time = record->fault.time,
					   .thread = record->fault.thread,
					   .stack = record->fault.stack,
					   .gc_kind = event->gc_kind};
	case RECORD_syscall:
		return (struct properties){.time = record->syscall.time,
					   .thread = record->syscall.thread,
					   .fiber = record->syscall.fiber,
					   .stack = record->syscall.stack,
					   .gc_kind = event->gc_kind,
					   .is_syscall = true,
					   .number = record->syscall.flags & SYSCALL_COMPAT
							     ? UINT64_MAX
							     : record->syscall.number};
	case RECORD_wait:
		return (struct properties){.time = record->wait.time,
					   .thread = record->wait.thread,
					   .fiber = record->wait.fiber,
					   .stack = record->wait.stack,
					   .gc_kind = event->gc_kind,
					   .is_syscall = record->wait.flags & WAIT_IN_CALL,
					   .number = record->wait.flags & WAIT_COMPAT
							     ? UINT64_MAX
							     : record->wait.number,
					   .is_wait = true,
					   .reason = record->wait.reason};
	case RECORD_gc_summary:
		return (struct properties){.time = record->gc_summary.time,
					   .thread = record->gc_summary.thread,
					   .gc_kind = record->gc_summary.kind == GCPROF_GC_STOPS
							      ? GCPROF_GC_MINOR
							      : record->gc_summary.kind};
	case RECORD_gc_cycle:
	case RECORD_heap_site:
		return properties_of_process(record);
	default:
		return (struct properties){.time = record->gc_end.time,
					   .thread = record->gc_end.thread,
					   .gc_kind = record->gc_end.kind};
	}
}

static bool is_in_phase(const char *value, const struct world *world,
			const struct properties *event)
{
	static const char *const kinds[] = {"mutator", "minor", "major", "major", "minor", "gc"};
	static const char *const phases[] = {"", "scanning", "marking", "sweeping", "finalizing"};
	const struct thread *thread = tasks_find_thread(&world->tasks, event->thread);
	const struct process *process = thread ? tasks_find_process(&world->tasks, thread->process)
					       : NULL;

	if (event->gc_kind <= GCPROF_GC_STOP && filter_matches(value, kinds[event->gc_kind]))
		return true;
	if (event->gc_kind && filter_matches(value, "gc"))
		return true;
	return process && process->phase && process->phase < 5 &&
	       filter_matches(value, phases[process->phase]);
}

static bool is_during(const struct filter_term *term, bool stack_matches,
		      const struct selection *selection, const struct properties *event)
{
	const char *name;

	if (!term->calls)
		return event->is_wait;
	if (event->in_kernel_call)
		return stack_matches;
	if (!event->is_syscall || !*term->calls)
		return event->is_syscall;
	name = syscall_name(selection->machine, event->number);
	return name && filter_matches(term->calls, name);
}

static bool holds(const struct selection *selection, size_t i, const struct world *world,
		  const struct properties *event)
{
	const struct filter_term *term = &selection->filter->terms[i];
	uint16_t bits = bits_of(&selection->stacks, event->stack);
	uint64_t start = world->model->run.start, offset;

	switch (term->key) {
	case FILTER_TYPE:
		return bits_of(&selection->types, event->type) >> i & 1;
	case FILTER_THREAD:
	case FILTER_PROCESS:
		if (event->process && term->key == FILTER_PROCESS)
			return bits_of(&selection->processes, event->process) >> i & 1;
		return bits_of(&selection->threads, event->thread) >> i & 1;
	case FILTER_FIBER:
		return event->fiber && is_task(term->value, event->fiber, NULL);
	case FILTER_PHASE:
		return !event->is_state && is_in_phase(term->value, world, event);
	case FILTER_DURING:
		return is_during(term, bits >> i & 1, selection, event);
	case FILTER_REASON:
		return event->is_wait &&
		       filter_matches(term->value, wait_reason_name((unsigned)event->reason));
	case FILTER_TIME:
		offset = event->time > start ? event->time - start : 0;
		return !event->is_state && offset >= term->from && offset < term->to;
	default:
		return bits >> i & 1;
	}
}

/* May a filter leave this kind out? */
static bool is_countable(enum record_kind kind)
{
	switch (kind) {
	case RECORD_alloc:
	case RECORD_cpu:
	case RECORD_fault:
	case RECORD_syscall:
	case RECORD_wait:
	case RECORD_gc_end:
	case RECORD_gc_cycle:
	case RECORD_gc_summary:
	case RECORD_heap_site:
		return true;
	default:
		return false;
	}
}

bool selection_admits(const struct selection *selection, const struct world *world,
		      const struct event *event)
{
	struct properties properties;

	if (!is_countable(event->record->kind))
		return true;
	properties = properties_of(event);
	for (size_t i = 0; i < selection->filter->count; i++)
		if (holds(selection, i, world, &properties) == selection->filter->terms[i].negated)
			return false;
	return true;
}

bool selection_admits_thread(const struct selection *selection, uint64_t thread)
{
	uint16_t bits = bits_of(&selection->threads, thread);

	for (size_t i = 0; i < selection->filter->count; i++) {
		const struct filter_term *term = &selection->filter->terms[i];

		if (term->key != FILTER_THREAD && term->key != FILTER_PROCESS)
			return false;
		if ((bits >> i & 1) == term->negated)
			return false;
	}
	return true;
}

/* Does the term hold for all calls of this kind, or for none? False: it depends on the call. */
static bool is_decided(const struct selection *selection, size_t i, uint64_t process,
		       const struct properties *call, bool *held)
{
	const struct filter_term *term = &selection->filter->terms[i];

	*held = false;
	switch (term->key) {
	case FILTER_PROCESS:
		*held = bits_of(&selection->processes, process) >> i & 1;
		return true;
	case FILTER_DURING:
		*held = is_during(term, false, selection, call);
		return true;
	case FILTER_TYPE:
	case FILTER_REASON:
		return true; /* calls have neither */
	default:
		return false;
	}
}

enum selection_verdict selection_of_calls(const struct selection *selection, uint64_t process,
					  uint64_t number)
{
	const struct properties call = {
		.is_syscall = true, .number = number & SYSCALL_NUMBER_COMPAT ? UINT64_MAX : number};
	enum selection_verdict verdict = SELECTION_ALL;

	for (size_t i = 0; i < selection->filter->count; i++) {
		bool held;

		if (!is_decided(selection, i, process, &call, &held))
			verdict = SELECTION_SOME;
		else if (held == selection->filter->terms[i].negated)
			return SELECTION_NONE;
	}
	return verdict;
}

bool selection_has_time(const struct filter *filter, uint64_t from, uint64_t to)
{
	bool any = false;

	for (size_t i = 0; i < filter->count; i++) {
		const struct filter_term *term = &filter->terms[i];

		if (term->key != FILTER_TIME)
			continue;
		any = true;
		if (!term->negated && (term->from >= to || term->to <= from))
			return false;
	}
	return any;
}

bool selection_needs_stacks(const struct filter *filter)
{
	bool any = false;

	for (size_t i = 0; i < filter->count; i++)
		any |= !filter->terms[i].negated && (filter->terms[i].key == FILTER_FUNCTION ||
						     filter->terms[i].key == FILTER_MODULE);
	return any;
}

uint64_t selection_time(const struct filter *filter, uint64_t from, uint64_t to)
{
	for (size_t i = 0; filter && i < filter->count; i++) {
		const struct filter_term *term = &filter->terms[i];

		if (term->key != FILTER_TIME || term->negated)
			continue;
		from = term->from > from ? term->from : from;
		to = term->to < to ? term->to : to;
	}
	return to > from ? to - from : 0;
}
