/* SPDX-License-Identifier: BSD-2-Clause */
/* unsampled.c: processes whose allocations an agent should sample and does not. */
/*
 * An agent that cannot work in a process says so itself. If it was not loaded, its process has not
 * mapped its file, or has no sampler that the agent would have switched on. That is known when the
 * process ends or executes another program, and for long ones a while after their start.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store_events.h"
#include "store.h"
#include "../../profile/codes.h"
#include "../../profile/codes.h"
#include "../world/files.h"
#include "../../profile/codes.h"
#include "../../util/log.h"
#include "../../util/path_base.h"

#define LOADED_NS UINT64_C(1000000000) /* a program has loaded its libraries by then */

/* Of the C library that agents are for, and before version 2.33. */
#define LINKER     "ld-linux-x86-64.so.2"
#define LINKER_OLD "ld-2."

int store_put_unsampled(struct store *store, struct process *process, struct bytes name,
			struct bytes version, uint64_t why)
{
	struct record record = {.kind = RECORD_runtime};

	/* An agent's own report comes twice if it was there before its probes were attached. */
	if (process->unsampled)
		return 0;
	process->unsampled = true;
	record.runtime.process = process->id;
	record.runtime.name = store_put_string(store, name);
	record.runtime.version = version.size ? store_put_string(store, version) : 0;
	record.runtime.provider = PROVIDER_NONE;
	record.runtime.unsampled = why;
	if (store->agent && !store->agent->warned)
		log_warning("process %u: its allocations are not sampled: %s", process->pid,
			    unsampled_why(why));
	if (store->agent)
		store->agent->warned = true;
	return profile_writer_put(store->writer, &record);
}

void store_expect_agent(struct store *store, struct store_agent *agent)
{
	store->agent = agent;
}

void store_is_sampled(const struct store *store, struct process *process)
{
	if (store->agent && !store->agent->file)
		process->expects = 0;
}

/* What the mapped files of a process tell. */
struct found {
	const struct file *agent;
	bool runtime; /* the agent's */
	bool linker, other_linker;
	bool unknown; /* one of them is not known any more */
	bool none;    /* the kernel reported none */
};

static void look(struct store *store, const struct process *process, struct found *found)
{
	size_t n;
	const struct mapping *mappings = mappings_all(process->mappings, &n);

	*found = (struct found){.none = n == 0};
	for (size_t i = 0; i < n; i++) {
		uint32_t id = mappings[i].file;
		const struct file *file = files_by_id(store->files, id);
		const char *base = file && file->path ? path_base(file->path) : "";

		found->runtime |= file && file->state == FILE_KNOWN &&
				  file->facts.runtime.runtime == store->agent->runtime;
		found->unknown |= id && id != FILE_VDSO && !file;
		if (store->agent->file && !strcmp(base, store->agent->file))
			found->agent = file;
		else if (!strcmp(base, LINKER) ||
			 !strncmp(base, LINKER_OLD, sizeof(LINKER_OLD) - 1))
			found->linker = true;
		else if (!strncmp(base, "ld-", 3))
			found->other_linker = true;
	}
}

/* Why the agent samples nothing in the process; 0: it does, or nothing is known. */
static enum unsampled reason(struct store *store, const struct process *process, bool ended)
{
	const struct store_agent *agent = store->agent;
	struct found found;

	look(store, process, &found);
	if (found.unknown || (agent->runtime && !found.runtime))
		return 0;
	/* One that collects nothing may not have begun to run its program: node --version. */
	if (!agent->file)
		return ended && process->collects ? UNSAMPLED_NODE_OPTIONS : 0;
	if (!found.agent && agent->harmful)
		return UNSAMPLED_HARMFUL;
	if (found.none)
		return UNSAMPLED_SETUID;
	if (!found.agent && found.other_linker)
		return UNSAMPLED_C_LIBRARY;
	if (!found.agent)
		return found.linker ? UNSAMPLED_NOT_LOADED : UNSAMPLED_STATIC;
	/* Only at the end: a program may report late, after its first allocations. */
	if (!ended || !agent->runtime || !found.agent->provider)
		return 0;
	for (uint8_t i = 0; i < process->n_providers; i++)
		if (process->providers[i] == found.agent->provider)
			return 0;
	return UNSAMPLED_NO_RUNTIME;
}

int store_check_agent(struct store *store, struct process *process, uint64_t time, bool ended)
{
	const struct store_agent *agent = store->agent;
	struct bytes name;
	enum unsampled why;

	if (!agent || !process->expects || (!ended && time < process->expects + LOADED_NS))
		return 0;
	name = (struct bytes){agent->name, strlen(agent->name)};
	why = reason(store, process, ended);
	if (why || !agent->runtime)
		process->expects = 0;
	return why ? store_put_unsampled(store, process, name, (struct bytes){NULL, 0}, why) : 0;
}
