// SPDX-License-Identifier: BSD-2-Clause
/* switches.c: switches on the samplers of runtimes, by writing to variables of their programs. */
#include "switches.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/clock.h"
#include "../world/snapshot.h"
#include "../../runtimes/runtime.h"
#include "../../util/log.h"

enum { VARIABLES_MAX = 2000 }; /* the opener's queue has room for that */

#define AGAIN_NS  UINT64_C(100000000)  /* until a program that starts has set its variables */
#define KEEP_NS   UINT64_C(1000000000) /* between looks at what is ours, of KEEP_MANY of them */
#define KEEP_MANY 16
#define START_NS  UINT64_C(1000000000) /* for a program that waits to be started */
#define END_NS    UINT64_C(10000000000)

/* A variable of a process. */
struct variable {
	struct variable *next;
	struct switches *switches;
	const struct runtime_write *write;
	const struct runtime *runtime;
	struct opener_memory order;
	uint64_t again;    /* when to look again, ns; 0: not */
	uint64_t own;      /* what we made it, or have the program make it */
	bool busy;         /* a request is on its way */
	bool ours, leaves; /* it is what we made it; the request puts it back */
};

struct switches {
	struct opener *opener;
	struct variable *variables;
	size_t count;
	const char *forbidden; /* by this option; NULL: it is allowed */
	bool warned;
};

int switches_create(struct opener *opener, const char *forbidden, struct switches **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->opener = opener;
	(*out)->forbidden = forbidden;
	return 0;
}

/* --- a variable --------------------------------------------------------------------------- */

static void warn_forbidden(struct switches *switches, const struct variable *variable)
{
	if (!switches->warned)
		log_warning("process %u: the allocation sampler of its runtime (%s) is off, and "
			    "%s forbids to switch it on: no allocation samples",
			    variable->order.pid, variable->runtime->name, switches->forbidden);
	switches->warned = true;
}

static void variable_done(void *context, const struct opener_result *result)
{
	struct variable *variable = context;
	uint64_t before;

	variable->busy = false;
	memcpy(&before, &result->block.before, sizeof(before));
	variable->ours &= !result->err;
	if (result->err || variable->leaves)
		return;
	variable->order.started = result->block.started;
	if (variable->switches->forbidden) {
		if (before == variable->write->expected)
			warn_forbidden(variable->switches, variable);
		return;
	}
	variable->ours = result->block.changed || before == variable->own;
	if (result->block.changed)
		log_verbose("process %u: %s is %" PRIu64 " now", variable->order.pid,
			    variable->write->global, variable->own);
}

static void variable_send(struct variable *variable, uint64_t expected, uint64_t wanted)
{
	struct opener_memory *order = &variable->order;

	order->change = variable->switches->forbidden ? OPENER_LOOK : OPENER_WRITE;
	order->size = variable->write->size;
	memcpy(&order->expected, &expected, sizeof(expected));
	memcpy(&order->wanted, &wanted, sizeof(wanted));
	variable->busy = !opener_memory(variable->switches->opener, order, variable_done, variable);
}

static void variable_set(struct variable *variable)
{
	if (!variable->busy)
		variable_send(variable, variable->write->expected, variable->own);
}

static void variable_leave(struct variable *variable)
{
	if (variable->busy || !variable->ours)
		return;
	variable->ours = false;
	variable->leaves = true;
	variable_send(variable, variable->own, variable->write->expected);
}

/* The one at this address of the process; a new one if there is none. NULL: there are too many. */
static struct variable *variable_get(struct switches *switches, uint32_t pid, uint64_t address)
{
	struct variable *variable = switches->variables;

	while (variable && (variable->order.pid != pid || variable->order.address != address))
		variable = variable->next;
	if (variable || switches->count == VARIABLES_MAX)
		return variable;
	variable = calloc(1, sizeof(*variable));
	if (!variable)
		return NULL;
	variable->switches = switches;
	variable->next = switches->variables;
	switches->variables = variable;
	switches->count++;
	return variable;
}

/* Was something written before this process ran? */
static bool was_started(const struct switches *switches, uint32_t pid)
{
	for (const struct variable *variable = switches->variables; variable;
	     variable = variable->next)
		if (variable->order.pid == pid && variable->write->at_start && variable->ours)
			return true;
	return false;
}

/* Number `i` of the variables of a process's file; NULL: it has none, or is being changed. */
static struct variable *variable_of(struct switches *switches, const struct file *file,
				    const struct event_mmap *event, size_t i)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);
	struct variable *variable;
	uint64_t address;

	if (!file->facts.runtime.writes[i] ||
	    !facts_locate(&file->facts, event->address, event->offset,
			  file->facts.runtime.writes[i], &address))
		return NULL;
	variable = variable_get(switches, event->header.tid, address);
	if (!variable || variable->busy)
		return NULL;
	variable->runtime = runtime;
	variable->write = &runtime->writes[i];
	variable->own = variable->write->started && was_started(switches, event->header.tid)
				? variable->write->started
				: variable->write->wanted;
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

void switches_mapped(struct switches *switches, const struct file *file,
		     const struct event_mmap *event)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);

	for (size_t i = 0; i < writes_of(file); i++) {
		struct variable *variable =
			runtime->writes[i].at_start ? NULL : variable_of(switches, file, event, i);

		if (!variable)
			continue;
		variable->again = clock_now() + AGAIN_NS;
		variable_set(variable);
	}
}

void switches_turn(struct switches *switches)
{
	uint64_t now = clock_now();

	for (struct variable *variable = switches->variables; variable; variable = variable->next)
		if (variable->again && variable->again <= now && !variable->busy) {
			variable->again =
				variable->ours ? now + KEEP_NS * (1 + switches->count / KEEP_MANY)
					       : 0;
			variable_set(variable);
		}
}

/* --- programs that start ------------------------------------------------------------------ */

bool switches_at_start(const struct file *file)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);

	for (size_t i = 0; i < writes_of(file); i++)
		if (runtime->writes[i].at_start && file->facts.runtime.writes[i])
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
	const struct runtime *runtime =
		file && file->state == FILE_KNOWN ? runtime_get(file->facts.runtime.runtime) : NULL;

	(void)path;
	for (size_t i = 0; runtime && i < writes_of(file); i++) {
		struct variable *variable = runtime->writes[i].at_start
						    ? variable_of(start->switches, file, event, i)
						    : NULL;

		if (variable)
			variable_set(variable);
	}
}

static void meet_mapping(void *context, struct event_mmap *event, const char *path)
{
	if (event->inode)
		files_map(((const struct start *)context)->files, event, path);
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
	free(switches);
}
