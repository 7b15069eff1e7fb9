/* SPDX-License-Identifier: BSD-2-Clause */
/* arrival.c: attaches to the probes of mapped files, and reports the recorder to who ran before. */
#include "arrival.h"

#include "../machine/clock.h"
#include "../target/control.h"
#include "../target/heap_profiles.h"
#include "../target/switches.h"
#include "../../util/log.h"

/*
 * A program that has run with a file for longer than we are attached there may have announced its
 * names to another recorder, and does not see by itself that one more came, nor that one came after
 * another had left while it slept.
 */
static void arrived(void *context, const struct opener_result *result)
{
	struct arrival *arrival = context;
	uint64_t now = clock_now();
	struct process *process = processes_at(arrival->processes, result->pid, now);

	if (process)
		process->attached = result->err ? 0 : now;
}

static void arrive(struct arrival *arrival, struct process *process, const struct file *file,
		   const struct event_mmap *event)
{
	uint64_t since = file->attached;
	uint64_t address;

	if (event->header.time >= since || process->attached >= since ||
	    !file->facts.blocks[BLOCK_ARRIVALS])
		return;
	if (!facts_locate(&file->facts, event->address, event->offset,
			  file->facts.blocks[BLOCK_ARRIVALS], &address))
		return;
	/* What it kept until it knows is left out. */
	process->attached = UINT64_MAX;
	if (control_arrive(arrival->opener, event, address, arrived, arrival)) {
		process->attached = 0;
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
	}
}

static void attach(struct arrival *arrival, struct file *file)
{
	int count = attach_file(session_probes(arrival->session), file, &arrival->problem);

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

void arrival_mapped(void *context, struct file *file, const struct event_mmap *event)
{
	struct arrival *arrival = context;
	struct process *process = processes_find(arrival->processes, event->header.process);

	attach(arrival, file);
	if (!process)
		return;
	switches_mapped(arrival->switches, file, event);
	process->has_runtime |= file->facts.runtime.runtime != RUNTIME_NONE;
	if (file->facts.runtime.runtime && arrival->flow &&
	    flow_runtime(arrival->flow, event, &file->facts.runtime))
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
	add_fibers(arrival, process, file, event);
	if (arrival->heaps &&
	    heap_profiles_mapped(arrival->heaps, file, event, event->header.time <= process->begin))
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
	arrive(arrival, process, file, event);
	unwinder_remap(arrival->unwinder, process);
}
