// SPDX-License-Identifier: BSD-2-Clause
/* heap_profiles.c: reads heap profiles that runtimes keep themselves. */
#include "heap_profiles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../reader/reader.h"
#include "../../reader/worker.h"
#include "../../util/log.h"
#include "../../util/quota.h"
#include "../machine/clock.h"

#define PROCESSES_MAX 256 /* whose memory is kept open */
#define CPU_NS        UINT64_C(1000000000)
#define WALL_NS       UINT64_C(2000000000)
#define WAIT_NS       10000000

struct space {
	struct space *next;
	struct heap_profiles *profiles;
	struct event_header header; /* of its mapping */
	struct heap_request wanted;
	struct runtime_code own[RUNTIME_OWN_MAX];
	uint32_t n_own;
	uint64_t moved;  /* load bias of its file */
	int memory;      /* socket, for its current program; -1: not open (yet), or given up */
	uint32_t payer;  /* the process's user */
	uid_t user;      /* who started it */
	bool is_opening; /* a request is pending */
	bool is_due;
};

struct heap_profiles {
	struct opener *opener;
	struct worker *worker;
	heap_profiles_emit *emit;
	void *context;
	struct space *spaces, *asked; /* asked: waiting for its answer, or NULL */
	struct quota shares;
	struct quota served; /* the time that reading took, us */
	uint64_t asked_at;   /* ns */
	uint32_t asked_for;  /* who pays for it, also if the process ends meanwhile */
};

int heap_profiles_create(struct opener *opener, heap_profiles_emit *emit, void *context,
			 struct heap_profiles **out)
{
	struct heap_profiles *profiles = calloc(1, sizeof(*profiles));

	if (!profiles || worker_create(WORKER_READER, true, &profiles->worker)) {
		free(profiles);
		return -ENOMEM;
	}
	profiles->opener = opener;
	profiles->shares.most = PROCESSES_MAX;
	profiles->emit = emit;
	profiles->context = context;
	*out = profiles;
	return 0;
}

static void space_free(struct space *space)
{
	struct heap_profiles *profiles = space->profiles;

	opener_cancel(profiles->opener, space);
	if (profiles->asked == space)
		profiles->asked = NULL;
	if (space->memory >= 0)
		close(space->memory);
	quota_return(&profiles->shares, space->payer, 1);
	free(space);
}

void heap_profiles_free(struct heap_profiles *profiles)
{
	if (!profiles)
		return;
	while (profiles->spaces) {
		struct space *space = profiles->spaces;

		profiles->spaces = space->next;
		space_free(space);
	}
	worker_free(profiles->worker);
	quota_free(&profiles->shares);
	quota_free(&profiles->served);
	free(profiles);
}

void heap_profiles_forget(struct heap_profiles *profiles, uint32_t process)
{
	struct space **at = &profiles->spaces;

	while (*at) {
		struct space *space = *at;

		if (space->header.process != process) {
			at = &space->next;
			continue;
		}
		*at = space->next;
		space_free(space);
	}
}

/* --- processes ---------------------------------------------------------------------------- */

static void memory_opened(void *context, const struct opener_result *result)
{
	struct space *space = context;

	space->memory = result->fd;
	space->user = result->file.uid;
	space->is_opening = false;
}

int heap_profiles_mapped(struct heap_profiles *profiles, const struct file *file,
			 const struct event_mmap *event, const struct process *process)
{
	const struct opener_space memory = {.pid = event->header.tid,
					    .mapping = opener_mapping_of(event)};
	const struct runtime_facts *facts = &file->facts.runtime;
	struct heap_request wanted;
	struct space *space;

	if (!facts->heap_list || !facts->heap_rate ||
	    !facts_locate(&file->facts, event->address, event->offset, facts->heap_list,
			  &wanted.list) ||
	    !facts_locate(&file->facts, event->address, event->offset, facts->heap_rate,
			  &wanted.rate))
		return 0;
	/* The mapping belongs to a program that the process executed later. */
	heap_profiles_forget(profiles, event->header.process);
	if (!quota_take(&profiles->shares, process->user, 1))
		return 0;
	space = calloc(1, sizeof(*space));
	if (!space) {
		quota_return(&profiles->shares, process->user, 1);
		return -ENOMEM;
	}
	*space = (struct space){.next = profiles->spaces,
				.profiles = profiles,
				.payer = process->user,
				.header = event->header,
				.wanted = wanted,
				.n_own = facts->n_own,
				.moved = wanted.list - facts->heap_list,
				.memory = -1,
				.is_due = event->header.time <= process->begin};
	memcpy(space->own, facts->own, sizeof(space->own));
	profiles->spaces = space;
	space->is_opening = !opener_space(profiles->opener, &memory, memory_opened, space);
	return 0;
}

/* --- answers ------------------------------------------------------------------------------ */

static bool is_own(const struct space *space, uint64_t address)
{
	for (uint32_t i = 0; i < space->n_own; i++)
		if (address - space->moved >= space->own[i].begin &&
		    address - space->moved < space->own[i].end)
			return true;
	return false;
}

/* Leaves out innermost frames of the runtime's own code, as in samples. */
static void emit_place(void *context, const struct heap_place *place, const uint64_t *stack)
{
	const struct space *space = context;
	struct {
		struct event_heap_site event;
		struct event_native frames[HEAP_DEPTH_MAX];
	} site = {.event = {.header = space->header,
			    .objects = place->objects,
			    .bytes = place->bytes,
			    .all_objects = place->all_objects,
			    .all_bytes = place->all_bytes,
			    .rate = place->rate}};
	uint32_t own = 0, depth = 0;
	size_t size;

	while (own < place->depth && is_own(space, stack[own] - 1))
		own++;
	for (uint32_t i = own < place->depth ? own : 0; i < place->depth; i++)
		site.frames[depth++].ip = stack[i];
	/* The first frame is an instruction, all others are return addresses. */
	if (depth)
		site.frames[0].ip--;
	site.event.stack.n_user = (uint16_t)depth;
	size = sizeof(site.event) + depth * sizeof(*site.frames);
	site.event.header.code = EVENT_heap_site;
	site.event.header.size = (uint32_t)size;
	site.event.header.fiber = 0;
	space->profiles->emit(space->profiles->context, &site.event.header, size);
}

static void take_answer(struct heap_profiles *profiles, const struct worker_answer *answer)
{
	struct space *space = profiles->asked;
	uint64_t now = clock_now();
	int err = answer->err;

	profiles->asked = NULL;
	quota_add(&profiles->served, profiles->asked_for, (now - profiles->asked_at) / 1000);
	if (!space)
		return;
	space->header.time = now;
	if (!err)
		err = heap_take(answer->data, answer->size, emit_place, space);
	if (err && err != -ESRCH)
		log_warning("process %u: its own heap profile could not be read: %s",
			    space->header.pid,
			    err == -EBADMSG     ? "it makes no sense"
			    : err == -ETIMEDOUT ? "its memory does not answer"
						: "the reader failed");
	/* It will not answer later either. */
	if (err == -ETIMEDOUT) {
		close(space->memory);
		space->memory = -1;
	}
}

static void heap_profiles_ask(struct heap_profiles *profiles, struct space *space)
{
	const struct worker_order order = {
		.kind = READ_HEAP,
		.data = &space->wanted,
		.size = sizeof(space->wanted),
		.fds = &space->memory,
		.n_fds = 1,
		.cpu_ns = CPU_NS,
		.wall_ns = WALL_NS,
		.answer_max = HEAP_ANSWER_MAX,
	};

	space->is_due = false;
	worker_serve(profiles->worker, space->user);
	profiles->asked_at = clock_now();
	profiles->asked_for = space->payer;
	if (!worker_start(profiles->worker, &order))
		profiles->asked = space;
}

/* The next to read: of the user for whom reading took least so far. NULL: none is due. */
static struct space *next_space(const struct heap_profiles *profiles)
{
	struct space *next = NULL;

	for (struct space *space = profiles->spaces; space; space = space->next)
		if (space->is_due && space->memory >= 0 &&
		    (!next || quota_used(&profiles->served, space->payer) <
				      quota_used(&profiles->served, next->payer)))
			next = space;
	return next;
}

void heap_profiles_turn(struct heap_profiles *profiles)
{
	struct worker_answer answer;
	struct space *next;

	if (worker_is_busy(profiles->worker) &&
	    worker_poll(profiles->worker, &answer) == WORKER_ANSWERED)
		take_answer(profiles, &answer);
	next = worker_is_busy(profiles->worker) ? NULL : next_space(profiles);
	if (next)
		heap_profiles_ask(profiles, next);
}

static bool is_done(const struct heap_profiles *profiles)
{
	for (const struct space *space = profiles->spaces; space; space = space->next)
		if (space->is_opening || (space->is_due && space->memory >= 0))
			return false;
	return !worker_is_busy(profiles->worker);
}

void heap_profiles_finish(struct heap_profiles *profiles, uint64_t ns)
{
	uint64_t until = clock_now() + ns;

	for (struct space *space = profiles->spaces; space; space = space->next)
		space->is_due = true;
	while (!is_done(profiles) && clock_now() < until) {
		opener_turn(profiles->opener);
		heap_profiles_turn(profiles);
		if (!is_done(profiles))
			worker_wait_any(WAIT_NS / 1000000);
	}
}
