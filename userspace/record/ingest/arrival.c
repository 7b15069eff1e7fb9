/* SPDX-License-Identifier: BSD-2-Clause */
/* arrival.c: attaches to the probes of mapped files, and notifies their programs of the
 * recorder. */
#include "arrival.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "../machine/clock.h"
#include "../target/heap_profiles.h"
#include "../target/name_tables.h"
#include "../target/switches.h"
#include "../kernel/session.h"
#include "../world/running.h"
#include "../world/joins.h"
#include "../../reader/worker.h"
#include "../../util/log.h"
#include "../../util/plural.h"

#define RETRY_NS    UINT64_C(200000000)   /* between two searches for unused files */
#define WAIT_NS     UINT64_C(10000000000) /* longest wait until a file is attached */
#define WAITING_MAX 4096                  /* mappings */
#define WAIT_MS     10

/* A mapping of a file that is being attached, or cannot be yet. */
struct waiting {
	struct event_mmap event;
	uint64_t until;
};

/*
 * A program that mapped a file before it was attached may have reported its stacks to another
 * recorder (joins.h). Names that it created then, or while it was not recorded, are only in its
 * table.
 */
static bool ran_before(const struct arrival *arrival, const struct file *file,
		       const struct event_mmap *event)
{
	return !file || event->header.time < attach_since(session_probes(arrival->session), file,
							  event->header.process);
}

void arrival_joined(void *context, const struct event_mmap *event, uint64_t address,
		    const struct control_answer *answer)
{
	struct arrival *arrival = context;
	struct process *process = processes_find(arrival->processes, event->header.process);
	const struct file *file =
		files_find(arrival->files, event->major, event->minor, event->inode);
	uint8_t provider = file ? file->provider : 0;
	bool before = ran_before(arrival, file, event);
	int err = answer->err;

	if (process && before)
		joins_end(process, provider, answer->since);
	/* Without a control block, memory at this address might keep a reader waiting. */
	if ((!err || err == -EPERM) && (before || !answer->was) &&
	    name_tables_add(arrival->names, event, address, provider,
			    process ? process->user : USER_UNKNOWN))
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
}

static void join(struct arrival *arrival, struct process *process, const struct file *file,
		 const struct event_mmap *event)
{
	uint64_t address;
	int result;

	if (!arrival->control || !file->facts.control ||
	    !facts_locate(&file->facts, event->address, event->offset, file->facts.control,
			  &address))
		return;
	result = control_mapped(arrival->control, event, address, process->user);
	if (result == 1 && ran_before(arrival, file, event))
		joins_begin(process, file->provider);
	if (result < 0)
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
}

/* Detaches files that no process maps any more. */
static void make_room(struct arrival *arrival)
{
	struct map *used = map_create(sizeof(uint32_t));
	size_t unused = 0;

	if (used && !processes_files(arrival->processes, used))
		unused = attach_make_room(session_probes(arrival->session), used);
	if (unused)
		log_verbose("probes of %zu file%s that no process has mapped any more are detached",
			    unused, plural(unused, "[|s]").text);
	map_free(used);
}

/* False: it cannot wait. */
static bool wait(struct arrival *arrival, const struct event_mmap *event, uint64_t until)
{
	const struct process *process = processes_find(arrival->processes, event->header.process);
	const struct waiting waiting = {*event, until};

	arrival->waiters.most = WAITING_MAX;
	return clock_now() < until &&
	       quota_take(&arrival->waiters, process ? process->user : USER_UNKNOWN, 1) &&
	       !buffer_append(&arrival->waiting, &waiting, sizeof(waiting));
}

static void fail(struct arrival *arrival, const struct problem *problem, enum loss loss)
{
	arrival->problem = *problem;
	arrival->trouble = true;
	counters_add_loss(arrival->counters, loss, 1);
}

static struct probe_target probe_target(const struct process *process, uint64_t from)
{
	return (struct probe_target){(uint32_t)process->id, process->proc_pid, process->user, from};
}

/* The file must not have breakpoints in this program. */
static void refuse(struct arrival *arrival, const struct file *file, struct process *process,
		   const struct problem *problem)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);

	attach_leave(session_probes(arrival->session), file, (uint32_t)process->id);
	/* Its children are judged for themselves. */
	arrival->missed = clock_now();
	if (kill((pid_t)process->proc_pid, 0) && errno == ESRCH)
		return; /* it has ended, so it could not be judged */
	if (process->refused != process->copies_of + 1)
		fail(arrival, problem, LOSS_NO_PROBES);
	process->refused = process->copies_of + 1;
	snprintf(arrival->none, sizeof(arrival->none), "%s is recorded without probes: %s",
		 runtime ? runtime->name : "it", text_copies_reason(process));
	arrival->attached |= runtime != NULL;
}

/* False: its probes are being attached, or wait for room, which programs free when they end. */
static bool attach(struct arrival *arrival, struct file *file, struct process *process,
		   const struct event_mmap *event, uint64_t until)
{
	const struct probe_target target = probe_target(process, event->header.time);
	struct problem problem;
	int err = 1;

	if (process->end != PROCESS_RUNS && file->facts.n_sites)
		arrival->missed = clock_now();
	if (process->end != PROCESS_RUNS || !process->proc_pid || process->absent == file->id)
		return true;
	if (file->facts.n_sites)
		err = text_copies_check(&arrival->asker, process, file, &problem);
	if (err < 0) {
		refuse(arrival, file, process, &problem);
		return true;
	}
	/* Of the command's file, which is attached already, see arrival_judge(). It stays attached
	 * when the exec before this mapping is read. */
	if (err || attach_since(session_probes(arrival->session), file, target.process))
		err = attach_file(session_probes(arrival->session), file, &target, &problem);
	else
		err = 1;
	if ((err > 0 || err == -E2BIG) && wait(arrival, event, until)) {
		arrival->crowded |= err < 0;
		return false;
	}
	if (err < 0)
		fail(arrival, &problem, LOSS_PROBE_ATTACH);
	else if (err > 0)
		counters_add_loss(arrival->counters, LOSS_PROBE_ATTACH, 1);
	return true;
}

/* A program has run without its probes until now. */
static void add_unprobed(struct arrival *arrival, struct process *process, uint64_t from,
			 uint64_t until)
{
	from = from > process->unprobed ? from : process->unprobed;
	until = until < process->end ? until : process->end;
	if (until <= from)
		return;
	process->unprobed = until;
	arrival->unprobed_ns += until - from;
}

/* Attaching a file has ended or takes too long. True if mappings that wait for it can continue. */
static bool ended(struct arrival *arrival, const struct attach_result *result)
{
	const struct runtime_facts *runtime;
	struct process *process = processes_find(arrival->processes, result->process);

	if (result->sites == -EBUSY || result->sites == -ETIME) {
		if (result->problem.text[0])
			log_problem(LOG_WARNING, &result->problem);
		return false;
	}
	if (result->sites < 0 && result->sites != -ESRCH && result->sites != -ENOENT)
		fail(arrival, &result->problem, LOSS_PROBE_ATTACH);
	if ((result->sites == -ENOENT || result->sites == -EUSERS) && result->file && process)
		process->absent = result->file->id;
	if (result->sites == -ESRCH)
		arrival->missed = clock_now();
	if (result->sites > 0 && !result->file && process)
		add_unprobed(arrival, process, result->from, clock_now());
	if (result->sites <= 0 || !result->file)
		return true;
	runtime = &result->file->facts.runtime;
	arrival->attached = true;
	if (runtime->runtime)
		log_print(runtime->missing[0] ? LOG_INFO : LOG_VERBOSE, "%s: %s %s%s%s",
			  result->file->path, runtime_get(runtime->runtime)->name, runtime->version,
			  runtime->missing[0] ? ": " : "", runtime->missing);
	return true;
}

/* An entry for an ended process would stay in the kernel side's table. */
static void add_fibers(struct arrival *arrival, const struct process *process,
		       const struct file *file, const struct event_mmap *event)
{
	struct fiber_path path = file->facts.runtime.fiber;
	int err;

	if (!path.count || path.count > FIBER_STEPS || process->end != PROCESS_RUNS)
		return;
	path.since = event->header.time;
	session_know_fibers(arrival->session);
	err = table_put(arrival->session, TABLE_FIBERS, (uint32_t)process->id, &path);
	if (err && err != -ESRCH)
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
}

/* From here on, places report all of its collections, and those of an earlier program are over. */
static void follow(struct arrival *arrival, struct process *process, const struct file *file)
{
	if (!file->facts.runtime.follows || process->end != PROCESS_RUNS)
		return;
	arrival->following.most = FATE_TABLES_MAX;
	if (process->follows_for == USER_UNKNOWN &&
	    !quota_take(&arrival->following, process->user, 1)) {
		counters_add_loss(arrival->counters, LOSS_FOLLOWING, 1);
		return;
	}
	if (process->follows_for == USER_UNKNOWN)
		process->follows_for = process->user;
	if (session_follow(arrival->session, (uint32_t)process->id))
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
}

void arrival_renamed(void *context, struct process *process, const struct event_comm *event)
{
	char name[sizeof(event->name) + 1] = "";

	memcpy(name, event->name, sizeof(event->name));
	if (!runtime_is_last_thread(name))
		return;
	process->ready = event->header.time;
	add_unprobed(context, process, process->ready, process->unready);
}

/* A program that starts during the recording has run without these probes until now, unless its
 * runtime was still starting. */
static void count_unprobed(struct arrival *arrival, struct process *process,
			   const struct file *file, const struct event_mmap *event)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);
	uint64_t from = event->header.time;
	uint64_t until =
		attach_since(session_probes(arrival->session), file, event->header.process);

	/* Of what ran before the recording nothing is known, but a child runs from its begin on. */
	if (!until || (from <= process->begin && !process->parent))
		return;
	if (runtime && runtime->last_thread) {
		process->unready = until;
		from = process->ready > from ? process->ready : until;
	}
	add_unprobed(arrival, process, from, until);
}

static void mapped(struct arrival *arrival, struct file *file, const struct event_mmap *event,
		   uint64_t until)
{
	struct process *process = processes_find(arrival->processes, event->header.process);
	struct runtime_facts facts;
	uint64_t since;

	if (!process)
		return;
	unwinder_remap(arrival->unwinder, process);
	if (!attach(arrival, file, process, event, until))
		return;
	since = attach_since(session_probes(arrival->session), file, event->header.process);
	if (since)
		texts_add(arrival->session, event);
	count_unprobed(arrival, process, file, event);
	switches_mapped(arrival->switches, file, event, process->user);
	if (!arrival->none[0])
		arrival->attached |= runtime_reports_none(&file->facts.runtime, arrival->none);
	if (file->facts.runtime.runtime)
		process->runtimes |= UINT32_C(1) << file->facts.runtime.runtime;
	facts = file->facts.runtime;
	facts.is_unprepared = event->header.time <= process->begin ||
			      !switches_write(arrival->switches);
	facts.reports = since > event->header.time ? since : event->header.time;
	if (facts.runtime && arrival->flow && flow_runtime(arrival->flow, event, &facts))
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
	add_fibers(arrival, process, file, event);
	if (since)
		follow(arrival, process, file);
	if (file->facts.runtime.cpython.runtime_size)
		session_know_locks(arrival->session);
	if (arrival->heaps && heap_profiles_mapped(arrival->heaps, file, event, process))
		counters_add_loss(arrival->counters, LOSS_MEMORY, 1);
	join(arrival, process, file, event);
}

void arrival_mapped(void *context, struct file *file, const struct event_mmap *event)
{
	const struct arrival *arrival = context;
	struct process *process = processes_find(arrival->processes, event->header.process);

	if (process && process->absent == file->id)
		process->absent = 0;
	if (process && event->header.time > process->begin)
		switches_mapping(arrival->switches, file, event, process->user);
	mapped(context, file, event, clock_now() + WAIT_NS);
}

void arrival_copied(struct arrival *arrival, struct process *process, const char *file)
{
	struct problem problem;
	char name[16];

	if (process->refused == process->program + 1)
		return;
	process->refused = process->program + 1;
	running_name((pid_t)process->proc_pid, name);
	problem_set(
		&problem, -EOPNOTSUPP,
		"process %u (%s) executes a copy of the code of %s, in memory of no file: it is "
		"recorded without probes, and functions there have no names",
		process->proc_pid, name, file);
	fail(arrival, &problem, LOSS_NO_PROBES);
	snprintf(arrival->none, sizeof(arrival->none),
		 "it is recorded without probes: its code is a copy in memory of no file");
	arrival->attached = true;
}

/* Events of several CPUs arrive in any order: if its parent's end or exec came first, the parent's
 * links are gone, and the child's mappings will be read. */
void arrival_forked(struct arrival *arrival, const struct process *child)
{
	const struct probe_target target = probe_target(child, child->begin);
	const struct process *parent = processes_find(arrival->processes, child->parent);

	if (parent && (parent->end != PROCESS_RUNS || parent->program > child->begin))
		arrival->missed = clock_now();

	if (child->proc_pid &&
	    attach_forked(session_probes(arrival->session), child->parent, &target) < 0)
		counters_add_loss(arrival->counters, LOSS_PROBE_ATTACH, 1);
	texts_inherit(arrival->session, child->parent, (uint32_t)child->id);
}

/* The attacher lets it go on. */
void arrival_replaced(struct arrival *arrival, const struct event_replaced *event)
{
	struct process *process = processes_find(arrival->processes, event->header.process);
	struct problem problem;
	char name[16];

	if (!texts_replaced(arrival->session, event) || !process ||
	    process->refused == process->program + 1)
		return;
	process->refused = process->program + 1;
	running_name((pid_t)process->proc_pid, name);
	problem_set(&problem, -EOPNOTSUPP,
		    "process %u (%s) has replaced its code by a copy: it is recorded without "
		    "probes in that from now on",
		    process->proc_pid, name);
	fail(arrival, &problem, LOSS_NO_PROBES);
}

void arrival_left(struct arrival *arrival, const struct process *ended)
{
	const uint32_t index = (uint32_t)ended->id;
	struct process *process = processes_find(arrival->processes, index);
	uint64_t from;

	texts_forget(arrival->session, index);
	if (ended->follows_for != USER_UNKNOWN) {
		table_forget(arrival->session, TABLE_FATES, &index);
		quota_return(&arrival->following, ended->follows_for, 1);
	}
	from = attach_ended(session_probes(arrival->session), index);
	if (process)
		add_unprobed(arrival, process, from, process->end);
}

void arrival_thread_ended(struct arrival *arrival, const struct process *process, uint32_t thread)
{
	const struct probe_target target = probe_target(process, clock_now());

	attach_thread_ended(session_probes(arrival->session), &target, thread);
}

/* Continues with all waiting mappings that can. */
static void take_waiting(struct arrival *arrival, bool last)
{
	struct buffer buffer = arrival->waiting;
	const struct waiting *waiting = (const void *)buffer.data;

	arrival->waiting = (struct buffer){0};
	quota_clear(&arrival->waiters);
	arrival->crowded = false;
	for (size_t i = 0; i < buffer.size / sizeof(*waiting); i++) {
		const struct event_mmap *event = &waiting[i].event;
		struct file *file =
			files_find(arrival->files, event->major, event->minor, event->inode);

		if (file)
			mapped(arrival, file, event, last ? 0 : waiting[i].until);
	}
	buffer_free(&buffer);
}

/* A file was attached before it was known that its program must have no probes. */
static void arrival_judge(struct arrival *arrival)
{
	const struct text_question judged = arrival->asker.judged;
	struct process *process = processes_find(arrival->processes, judged.process);
	const struct file *file = files_find(arrival->files, (uint32_t)(judged.file.device >> 32),
					     (uint32_t)judged.file.device, judged.file.inode);
	struct problem problem;

	arrival->asker.judged = (struct text_question){0};
	if (process && file &&
	    attach_since(session_probes(arrival->session), file, judged.process) &&
	    text_copies_check(&arrival->asker, process, file, &problem) < 0)
		refuse(arrival, file, process, &problem);
}

/* Sends what can be attached, and takes what was. True: mappings that wait for it can go on. */
static bool take_attached(struct arrival *arrival)
{
	struct attach_result result;
	bool goes_on = false;

	while (attach_turn(session_probes(arrival->session), &result))
		goes_on |= ended(arrival, &result);
	return goes_on;
}

void arrival_turn(struct arrival *arrival, bool last)
{
	uint64_t now = clock_now();
	bool goes_on = last || arrival->asker.answered;

	arrival->asker.answered = false;
	if (arrival->asker.judged.process)
		arrival_judge(arrival);
	goes_on |= take_attached(arrival);
	if (!arrival->waiting.size || (!goes_on && now < arrival->next_try))
		return;
	take_waiting(arrival, last);
	/* Not in the next round, which may begin much later. */
	arrival->asker.answered = take_attached(arrival);
	if (now < arrival->next_try)
		return;
	arrival->next_try = now + RETRY_NS;
	if (arrival->crowded && !attach_detaches(session_probes(arrival->session)))
		make_room(arrival);
}

static bool is_busy(const struct arrival *arrival)
{
	return attach_is_busy(session_probes(arrival->session)) ||
	       text_copies_asks(&arrival->asker);
}

void arrival_settle(struct arrival *arrival, uint64_t ns)
{
	uint64_t end = clock_now() + ns;

	for (arrival_turn(arrival, false); is_busy(arrival) && clock_now() < end;
	     arrival_turn(arrival, false)) {
		worker_wait_any(WAIT_MS);
		opener_turn(files_opener(arrival->files));
	}
}

static uint64_t attaching(const struct arrival *arrival)
{
	const struct waiting *first = (const void *)arrival->waiting.data;

	return arrival->waiting.size && is_busy(arrival) ? first->event.header.time : UINT64_MAX;
}

uint64_t arrival_latest(const struct arrival *arrival)
{
	uint64_t attached = attach_latest(session_probes(arrival->session));

	return attached > arrival->missed ? attached : arrival->missed;
}

uint64_t arrival_pending(const struct arrival *arrival)
{
	uint64_t attaches = attaching(arrival);
	uint64_t joins = arrival->control ? control_pending(arrival->control, clock_now())
					  : UINT64_MAX;

	return attaches < joins ? attaches : joins;
}
