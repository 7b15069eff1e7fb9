// SPDX-License-Identifier: BSD-2-Clause
/* switches.c: enables runtimes' samplers, by writing to variables of their programs. */
/*
 * Periods that are written carry a mark (runtime_mark()). A marked one that is not ours belongs to
 * another recorder, which may have been killed. It is taken over unchanged or, if the user requests
 * a period, changed to that once; it is restored at the end. One without a mark is the program's
 * own, unless what was written before its start shows that a recorder has started it.
 */
#include "switches.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../machine/clock.h"
#include "../opener/undo.h"
#include "../world/snapshot.h"
#include "../../runtimes/runtime.h"
#include "../../util/log.h"
#include "../../util/period_mark.h"
#include "../../util/quota.h"

enum { VARIABLES_MAX = 2000 }; /* fits into the opener's queue */

/* A starting program may set its variables after us: they are checked again after this time, twice
 * that, and so on. */
#define AGAIN_NS  UINT64_C(1000000)
#define AGAIN_MAX 8
#define KEEP_NS   UINT64_C(1000000000) /* between checks of ours, KEEP_MANY at a time */
#define KEEP_MANY 16
#define START_NS  UINT64_C(1000000000) /* for a program that waits to be started */
#define END_NS    UINT64_C(10000000000)
#define WINDOW_NS UINT64_C(250000000) /* in which samples are counted */

/* The period is doubled above the ceiling and halved far enough below it, so that random variation
 * changes nothing. HotSpot's is an int; Go draws no distances with more than 112 MiB. */
#define RAISE      1.1
#define LOWER      0.4
#define PERIOD_MAX (UINT64_C(32) << 20)

/* A variable of a process. */
struct variable {
	struct variable *next;
	struct switches *switches;
	const struct runtime_write *write;
	const struct runtime *runtime;
	uint32_t user; /* who pays for it */
	struct opener_memory order;
	uint64_t again;    /* time of the next check, ns; 0: none */
	unsigned tries;    /* since it was mapped */
	unsigned checks;   /* checks that found that it is not ours */
	uint64_t own;      /* the value that we write, or have the program write */
	uint64_t started;  /* the value that the program writes itself; 0: none */
	uint64_t value;    /* the value at the last check */
	uint64_t window;   /* begin of the window that counts samples, ns; 0: none */
	uint64_t sampled;  /* samples before that */
	bool busy;         /* a request is pending */
	bool looks;        /* the request only looks whether a value is to be restored */
	bool met;          /* the recording knows its process */
	bool ours, leaves; /* ours: it has our value; leaves: the request restores it */
	undo_slot undo;    /* restores our value if we die */
	undo_slot coming;  /* the same of the value that the request writes */
};

struct switches {
	struct opener *opener;
	struct variable *variables;
	struct quota shares;
	struct switches_options options;
	uint64_t sweep; /* when ended processes are dropped next, ns */
	bool warned;
};

int switches_create(struct opener *opener, const struct switches_options *options,
		    struct switches **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->opener = opener;
	(*out)->options = *options;
	(*out)->shares.most = VARIABLES_MAX;
	return 0;
}

bool switches_write(const struct switches *switches)
{
	return !switches->options.forbidden;
}

void switches_ceiling(struct switches *switches, uint64_t ceiling)
{
	switches->options.ceiling = ceiling;
}

/* --- a variable --------------------------------------------------------------------------- */

static void warn_forbidden(struct switches *switches, const struct variable *variable)
{
	if (!switches->warned)
		log_warning("process %u: the allocation sampler of its runtime (%s) is off, and "
			    "%s forbids to switch it on: no allocation samples",
			    variable->order.pid, variable->runtime->name,
			    switches->options.forbidden);
	switches->warned = true;
}

/* A program that reads its samples itself scales them with the period that it has set. */
static void warn_kept(const struct variable *variable)
{
	if (variable->switches->options.period && variable->write->started && variable->value)
		log_warning("process %u samples its allocations for itself, every %" PRIu64
			    " bytes: -R does not change that",
			    variable->order.pid, variable->value);
}

static void variable_send(struct variable *variable, uint64_t expected, uint64_t wanted);
static uint64_t own_value(const struct variable *variable);
static bool was_started(const struct switches *switches, uint32_t pid);

/* An unexpected period: is it ours all the same? */
static bool take_over(struct variable *variable)
{
	bool is_first = !variable->checks++;
	bool is_started;

	if (!variable->started && was_started(variable->switches, variable->order.pid)) {
		variable->started = variable->write->started;
		variable->own = own_value(variable);
	}
	is_started = variable->value && variable->value == variable->started;

	if (!is_started && !runtime_is_marked(variable->value)) {
		if (is_first)
			warn_kept(variable);
		return false;
	}
	if (is_started || (is_first && variable->switches->options.period))
		variable_send(variable, variable->value, variable->own);
	else
		variable->own = variable->value;
	return true;
}

/* Lists how this value is restored. */
static void variable_list(struct variable *variable, undo_slot *slot, uint64_t value)
{
	struct opener_memory order = variable->order;

	order.change = OPENER_WRITE;
	memcpy(&order.expected, &value, sizeof(value));
	memcpy(&order.wanted, &variable->write->expected, sizeof(order.wanted));
	undo_put(opener_undo_list(variable->switches->opener), slot, &order);
}

/* What we know of its value after a request. */
static void variable_take(struct variable *variable, const struct opener_result *result)
{
	const struct runtime_write *write = variable->write;

	variable->busy = false;
	variable->ours &= !result->err;
	variable->value = 0;
	if (result->err || variable->leaves)
		return;
	variable->order.started = result->block.started;
	memcpy(&variable->value,
	       result->block.changed ? &result->block.after : &result->block.before, write->size);
	if (variable->switches->options.forbidden) {
		if (variable->value == write->expected && variable->own != write->expected &&
		    !variable->looks)
			warn_forbidden(variable->switches, variable);
		return;
	}
	/* Another recorder left the value that we would write; but not in a program that has not
	 * run yet. */
	variable->ours =
		result->block.changed ||
		(variable->value == variable->own && variable->own != write->expected &&
		 !(write->when == WRITE_AT_START && variable->order.change == OPENER_WRITE));
	if (result->block.changed)
		log_verbose("process %u: %s is %" PRIu64 " now", variable->order.pid, write->global,
			    variable->own);
	else if (!variable->ours && write->is_period && variable->value != write->expected)
		variable->ours = take_over(variable);
}

static void variable_done(void *context, const struct opener_result *result)
{
	struct variable *variable = context;
	struct undo *undo = opener_undo_list(variable->switches->opener);
	undo_slot coming = variable->coming;

	variable->coming = 0;
	variable_take(variable, result);
	/* Where it could not be restored in time, it may be later. */
	if (variable->ours)
		variable_list(variable, &variable->undo, variable->own);
	else if (result->err != -ETIME)
		undo_put(undo, &variable->undo, NULL);
	undo_put(undo, &coming, NULL);
}

static void variable_send(struct variable *variable, uint64_t expected, uint64_t wanted)
{
	struct opener_memory *order = &variable->order;
	bool keeps = variable->switches->options.forbidden || expected == wanted;

	order->change = keeps ? OPENER_CHECK : OPENER_WRITE;
	order->size = variable->write->size;
	memcpy(&order->expected, &expected, sizeof(expected));
	memcpy(&order->wanted, &wanted, sizeof(wanted));
	if (!keeps && wanted != variable->write->expected)
		variable_list(variable, &variable->coming, wanted);
	variable->busy = !opener_memory(variable->switches->opener, order, variable_done, variable);
}

static void variable_set(struct variable *variable)
{
	if (variable->busy)
		return;
	variable->looks = false;
	variable_send(variable, variable->write->expected, variable->own);
}

/* A program that runs does not read it any more. */
static void variable_look(struct variable *variable)
{
	if (variable->busy)
		return;
	variable->looks = true;
	variable_send(variable, variable->own, variable->own);
}

static void variable_leave(struct variable *variable)
{
	if (variable->busy || !variable->ours)
		return;
	variable->ours = false;
	variable->leaves = true;
	variable_send(variable, variable->own, variable->write->expected);
}

/* The variable at this address of the process, created if new. NULL: its user has too many. */
static struct variable *variable_get(struct switches *switches, uint32_t pid, uint64_t address,
				     uint32_t user)
{
	struct variable *variable = switches->variables;

	while (variable && (variable->order.pid != pid || variable->order.address != address))
		variable = variable->next;
	if (variable || !quota_take(&switches->shares, user, 1))
		return variable;
	variable = calloc(1, sizeof(*variable));
	if (!variable) {
		quota_return(&switches->shares, user, 1);
		return NULL;
	}
	variable->user = user;
	variable->switches = switches;
	variable->next = switches->variables;
	switches->variables = variable;
	return variable;
}

bool switches_know(const struct switches *switches, uint32_t pid)
{
	for (const struct variable *variable = switches->variables; variable;
	     variable = variable->next)
		if (variable->order.pid == pid)
			return true;
	return false;
}

/* Was something written before this process ran? */
static bool was_started(const struct switches *switches, uint32_t pid)
{
	for (const struct variable *variable = switches->variables; variable;
	     variable = variable->next)
		if (variable->order.pid == pid && variable->write->when == WRITE_AT_START &&
		    variable->ours)
			return true;
	return false;
}

/* The period while there is no need for fewer samples. */
static uint64_t base_period(const struct variable *variable)
{
	const struct runtime_write *write = variable->write;

	if (variable->switches->options.period)
		return variable->switches->options.period;
	return write->wanted ? write->wanted : write->expected;
}

/* The initial value for the variable. */
static uint64_t own_value(const struct variable *variable)
{
	const struct runtime_write *write = variable->write;

	if (!write->is_period)
		return write->wanted;
	if (variable->switches->options.period)
		return runtime_mark(base_period(variable));
	if (variable->started)
		return variable->started;
	return write->wanted ? runtime_mark(write->wanted) : write->expected;
}

/* Variable `i` of the process's file; NULL: it has none, or a request is pending. */
static struct variable *variable_of(struct switches *switches, const struct file *file,
				    const struct event_mmap *event, uint32_t user, size_t i)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);
	struct variable *variable;
	uint64_t address;

	if (!file->facts.runtime.writes[i] ||
	    !facts_locate(&file->facts, event->address, event->offset,
			  file->facts.runtime.writes[i], &address))
		return NULL;
	variable = variable_get(switches, event->header.tid, address, user);
	if (!variable || variable->busy)
		return NULL;
	variable->runtime = runtime;
	variable->write = &runtime->writes[i];
	variable->started = was_started(switches, event->header.tid) ? variable->write->started : 0;
	variable->own = own_value(variable);
	variable->order = (struct opener_memory){
		.pid = event->header.tid,
		.mapping = {event->address, event->offset, event->inode, event->major,
			    event->minor},
		.address = address,
	};
	return variable;
}

static size_t writes_of(const struct file *file)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);
	size_t n = runtime ? runtime->n_writes : 0;

	return n < RUNTIME_WRITES_MAX ? n : RUNTIME_WRITES_MAX;
}

/* Writes those of the program's variables that are written at this moment. */
static void set_all(struct switches *switches, const struct file *file,
		    const struct event_mmap *event, uint32_t user, enum write_when when)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);

	for (size_t i = 0; i < writes_of(file); i++) {
		struct variable *variable = runtime->writes[i].when == when
						    ? variable_of(switches, file, event, user, i)
						    : NULL;

		if (variable)
			variable_set(variable);
	}
}

void switches_mapping(struct switches *switches, const struct file *file,
		      const struct event_mmap *event, uint32_t user)
{
	if (switches_write(switches))
		set_all(switches, file, event, user, WRITE_AT_MAP);
}

void switches_mapped(struct switches *switches, const struct file *file,
		     const struct event_mmap *event, uint32_t user)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);

	for (size_t i = 0; i < writes_of(file); i++) {
		struct variable *variable = runtime->writes[i].when != WRITE_AT_MAP
						    ? variable_of(switches, file, event, user, i)
						    : NULL;

		if (!variable)
			continue;
		if (variable->write->when == WRITE_AT_START) {
			variable_look(variable);
			continue;
		}
		variable->again = clock_now() + AGAIN_NS;
		variable->tries = 0;
		variable_set(variable);
	}
}

static void keep(struct variable *variable, uint64_t now)
{
	size_t count = quota_used(&variable->switches->shares, variable->user);

	variable->again = 0;
	if (variable->tries < AGAIN_MAX)
		variable->again = now + (AGAIN_NS << ++variable->tries);
	else if (variable->ours)
		variable->again = now + KEEP_NS * (1 + count / KEEP_MANY);
	variable->checks += !variable->ours;
	variable_set(variable);
}

/* --- the ceiling -------------------------------------------------------------------------- */

uint64_t switches_period(uint64_t period, uint64_t base, double rate, double ceiling)
{
	for (; rate > RAISE * ceiling && period < PERIOD_MAX; rate /= 2)
		period *= 2;
	if (rate < LOWER * ceiling && period > base)
		period /= 2;
	return period < base ? base : period;
}

/* Sets another period in a variable that has ours, or the runtime's default. */
static void adapt(struct variable *variable, uint64_t samples, uint64_t ns)
{
	const struct switches_options *options = &variable->switches->options;
	uint64_t period;

	if (!variable->ours && variable->value != variable->write->expected)
		return;
	period = switches_period(variable->value, base_period(variable),
				 (double)samples * 1e9 / (double)ns, (double)options->ceiling);
	if (runtime_mark(period) == runtime_mark(variable->value))
		return;
	variable->own = runtime_mark(period);
	variable_send(variable, variable->value, variable->own);
}

/* Ends the window, if there is one. */
static void count_samples(struct variable *variable, const struct process *process, uint64_t now)
{
	if (!process)
		return;
	if (variable->window)
		adapt(variable, process->sampled - variable->sampled, now - variable->window);
	variable->window = now;
	variable->sampled = process->sampled;
}

static bool counts(const struct variable *variable, uint64_t now)
{
	const struct switches_options *options = &variable->switches->options;

	return variable->write->is_period && options->ceiling && !options->forbidden &&
	       variable->value && !variable->busy && now - variable->window >= WINDOW_NS;
}

/* Drops variables of ended processes. */
static void sweep(struct switches *switches, const struct processes *processes, uint64_t now)
{
	struct variable **at = &switches->variables;

	while (*at) {
		struct variable *variable = *at;
		bool runs = processes_at(processes, variable->order.pid, now);

		variable->met |= runs;
		if (variable->busy || runs || !variable->met) {
			at = &variable->next;
			continue;
		}
		*at = variable->next;
		quota_return(&switches->shares, variable->user, 1);
		undo_put(opener_undo_list(switches->opener), &variable->undo, NULL);
		free(variable);
	}
	switches->sweep = now + KEEP_NS;
}

void switches_turn(struct switches *switches, const struct processes *processes)
{
	uint64_t now = clock_now();

	if (now >= switches->sweep)
		sweep(switches, processes, now);
	for (struct variable *variable = switches->variables; variable; variable = variable->next) {
		if (variable->again && variable->again <= now && !variable->busy)
			keep(variable, now);
		if (counts(variable, now))
			count_samples(variable, processes_at(processes, variable->order.pid, now),
				      now);
	}
}

int switches_timeout(const struct switches *switches, int ms)
{
	uint64_t now = clock_now();

	for (const struct variable *variable = switches->variables; variable;
	     variable = variable->next) {
		uint64_t left = variable->again > now ? variable->again - now : 0;

		if (variable->again && !variable->busy && left / 1000000 < (uint64_t)ms)
			ms = (int)(left / 1000000) + 1;
	}
	return ms;
}

/* --- programs that start ------------------------------------------------------------------ */

bool switches_at_start(const struct file *file)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);

	for (size_t i = 0; i < writes_of(file); i++)
		if (runtime->writes[i].when == WRITE_AT_START && file->facts.runtime.writes[i])
			return true;
	return false;
}

struct start {
	struct switches *switches;
	struct files *files;
};

static void start_mapping(void *context, struct event_mmap *event, const char *path)
{
	const struct start *start = context;
	const struct file *file =
		event->inode ? files_find(start->files, event->major, event->minor, event->inode)
			     : NULL;

	(void)path;
	if (file && file->state == FILE_KNOWN)
		set_all(start->switches, file, event, geteuid(), WRITE_AT_START);
}

static void meet_mapping(void *context, struct event_mmap *event, const char *path)
{
	if (event->inode)
		files_map(((const struct start *)context)->files, event, path, geteuid());
}

void switches_start(struct switches *switches, struct files *files, uint32_t proc_pid)
{
	struct start start = {switches, files};

	if (snapshot_mappings(proc_pid, 0, meet_mapping, &start))
		return;
	files_settle(files, START_NS);
	if (!snapshot_mappings(proc_pid, 0, start_mapping, &start))
		opener_settle(switches->opener, START_NS);
}

/* --- the end ------------------------------------------------------------------------------ */

void switches_free(struct switches *switches)
{
	if (!switches)
		return;
	opener_settle(switches->opener, END_NS);
	for (struct variable *variable = switches->variables; variable; variable = variable->next)
		variable_leave(variable);
	opener_settle(switches->opener, END_NS);
	while (switches->variables) {
		struct variable *variable = switches->variables;

		switches->variables = variable->next;
		opener_cancel(switches->opener, variable);
		free(variable);
	}
	quota_free(&switches->shares);
	free(switches);
}
