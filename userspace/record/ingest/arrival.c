/* SPDX-License-Identifier: BSD-2-Clause */
/* arrival.c: attaches to the probes of mapped files, and has their programs know of the recorder.
 */
#include "arrival.h"

#include <errno.h>

#include "../machine/clock.h"
#include "../target/control.h"
#include "../target/heap_profiles.h"
#include "../target/name_tables.h"
#include "../target/switches.h"
#include "../../util/log.h"

#define ROOM_NS     UINT64_C(200000000)   /* between two searches for files to detach */
#define WAIT_NS     UINT64_C(10000000000) /* for room, at most */
#define WAITING_MAX 512                   /* mappings */

/* A mapping of a file for whose probes there is no room. */
struct waiting {
	struct event_mmap event;
	uint64_t until;
};

/*
 * A program that has run with a file for longer than its probes are attached may have reported its
 * stacks to another recorder: what refers to them is left out until it knows of this one. Names
 * that it made then, or while it was not recorded, are in its table only.
 */
static bool ran_before(const struct file *file, const struct event_mmap *event)
{
	return !file || event->header.time < file->attached;
}

void arrival_joined(void *context, const struct event_mmap *event, uint64_t address, uint32_t was,
		    int err)
{
	struct arrival *arrival = context;
	struct process *process = processes_find(arrival->processes, event->header.process);
	const struct file *file =
		files_find(arrival->files, event->major, event->minor, event->inode);
	bool before = ran_before(file, event);

	if (process && before)
		process->attached = err ? 0 : clock_now();
	/* Where no block is, something lies that may keep a reader waiting. */
	if ((!err || err == -EPERM) && (before || !was) &&
	    name_tables_add(arrival->names, event, address, file ? file->provider : 0))
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
}

static void join(struct arrival *arrival, struct process *process, const struct file *file,
		 const struct event_mmap *event)
{
	uint64_t attached = process->attached, address;
	int result;

	if (!arrival->control || !file->facts.control ||
	    !facts_locate(&file->facts, event->address, event->offset, file->facts.control,
			  &address))
		return;
	if (ran_before(file, event))
		process->attached = UINT64_MAX;
	result = control_mapped(arrival->control, event, address);
	if (result <= 0)
		process->attached = attached;
	if (result < 0)
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
}

/* Detaches files that no process has mapped any more. */
static void make_room(struct arrival *arrival)
{
	struct map *used = map_create(sizeof(uint32_t));
	struct buffer unused = {0};

	if (used && !processes_files(arrival->processes, used))
		files_detach(arrival->files, used, &unused);
	if (unused.size) {
		attach_detach(session_probes(arrival->session),
			      (const uint32_t *)(void *)unused.data,
			      unused.size / sizeof(uint32_t));
		log_verbose("probes of %zu files that no process has mapped any more are detached",
			    unused.size / sizeof(uint32_t));
	}
	buffer_free(&unused);
	map_free(used);
}

/* Programs that end make room. False: it is not to wait any longer. */
static bool wait_for_room(struct arrival *arrival, struct file *file,
			  const struct event_mmap *event, uint64_t until)
{
	const struct waiting waiting = {*event, until};

	if (clock_now() >= until || arrival->waiting.size >= WAITING_MAX * sizeof(waiting) ||
	    buffer_append(&arrival->waiting, &waiting, sizeof(waiting)))
		return false;
	file->tried = false;
	return true;
}

/* False: it waits for room. */
static bool attach(struct arrival *arrival, struct file *file, const struct event_mmap *event,
		   uint64_t until)
{
	int count = attach_file(session_probes(arrival->session), file, &arrival->problem);

	if (count == -E2BIG && wait_for_room(arrival, file, event, until))
		return false;
	if (count > 0)
		arrival->attached = true;
	if (count > 0 && file->facts.runtime.runtime)
		log_print(file->facts.runtime.missing[0] ? LOG_INFO : LOG_VERBOSE, "%s: %s %s%s%s",
			  file->path, runtime_get(file->facts.runtime.runtime)->name,
			  file->facts.runtime.version, file->facts.runtime.missing[0] ? ": " : "",
			  file->facts.runtime.missing);
	if (count < 0) {
		arrival->trouble = true;
		counters_add_loss(arrival->counters, LOSS_PROBE_ATTACH, 1);
	}
	return true;
}

/* Those of a process that has ended would stay in the kernel side's table. */
static void add_fibers(struct arrival *arrival, const struct process *process,
		       const struct file *file, const struct event_mmap *event)
{
	struct fiber_path path = file->facts.runtime.fiber;

	if (!path.count || path.count > FIBER_STEPS || process->end != PROCESS_RUNS)
		return;
	path.since = event->header.time;
	if (session_add_fibers(arrival->session, (uint32_t)process->id, &path))
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
}

static void mapped(struct arrival *arrival, struct file *file, const struct event_mmap *event,
		   uint64_t until)
{
	struct process *process = processes_find(arrival->processes, event->header.process);

	if (!attach(arrival, file, event, until) || !process)
		return;
	switches_mapped(arrival->switches, file, event);
	if (!arrival->runtime[0])
		arrival->attached |= runtime_describe(&file->facts.runtime, arrival->runtime);
	if (file->facts.runtime.runtime)
		process->runtimes |= UINT32_C(1) << file->facts.runtime.runtime;
	if (file->facts.runtime.runtime && arrival->flow &&
	    flow_runtime(arrival->flow, event, &file->facts.runtime))
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
	add_fibers(arrival, process, file, event);
	if (arrival->heaps &&
	    heap_profiles_mapped(arrival->heaps, file, event, event->header.time <= process->begin))
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
	join(arrival, process, file, event);
	unwinder_remap(arrival->unwinder, process);
}

void arrival_mapped(void *context, struct file *file, const struct event_mmap *event)
{
	mapped(context, file, event, clock_now() + WAIT_NS);
}

/* Attaches to what waits, as far as there is room. */
static void attach_waiting(struct arrival *arrival, bool last)
{
	struct buffer buffer = arrival->waiting;
	const struct waiting *waiting = (const void *)buffer.data;

	arrival->waiting = (struct buffer){0};
	for (size_t i = 0; i < buffer.size / sizeof(*waiting); i++) {
		const struct event_mmap *event = &waiting[i].event;
		struct file *file =
			files_find(arrival->files, event->major, event->minor, event->inode);

		if (file)
			mapped(arrival, file, event, last ? 0 : waiting[i].until);
	}
	buffer_free(&buffer);
}

void arrival_turn(struct arrival *arrival, bool last)
{
	uint64_t now = clock_now();

	if (!arrival->waiting.size || (!last && now < arrival->next_room))
		return;
	arrival->next_room = now + ROOM_NS;
	if (attach_detaches(session_probes(arrival->session)) && !last)
		return;
	attach_waiting(arrival, last);
	if (arrival->waiting.size)
		make_room(arrival);
}
