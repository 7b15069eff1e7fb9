/* SPDX-License-Identifier: BSD-2-Clause */
/* drain.c: brings events from the rings to the profile while the program runs. */
/*
 * Order: a time T is taken, then all rings are emptied. Whatever happened
 * before T is out by then, but for programs that were interrupted between
 * reading the clock and filling their record. SLACK is for those; who needs
 * longer is counted as late.
 *
 * Mappings may be told of every process on the machine. Those of a process that
 * is not known wait until all rings were emptied since: its beginning was in
 * there if it is followed, since it began before it mapped anything, or else what
 * it did then.
 */
#include "drain.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../util/buffer.h"
#include "arrival.h"
#include "batches.h"
#include "../machine/clock.h"
#include "collections.h"
#include "delayed.h"
#include "../store/facts.h"
#include "../world/files.h"
#include "../world/followed.h"
#include "merge.h"
#include "../world/modules.h"
#include "../kernel/rings.h"
#include "../world/snapshot.h"
#include "../kernel/tables.h"
#include "../world/untold.h"

#define SLACK_NS      UINT64_C(200000000)
#define SECOND_NS     UINT64_C(1000000000)
#define ADVANCE_NS    UINT64_C(50000000) /* what waits is looked through so often at most */
#define PENDING_BYTES ((size_t)16 << 20)
#define PENDING_NS    (2 * SECOND_NS)    /* for which events wait until a file is read */
#define WALKS_NS      UINT64_C(10000000) /* for which a round waits for walks of stack dumps */
#define NAMES_NS      UINT64_C(50000000) /* first names; then after twice the time, up to a second */
#define SWEEP_NS      (10 * SECOND_NS)   /* after its end nothing of a process is on its way */
#define CHILDREN_MAX  ((size_t)1 << 20)  /* bytes, while files are read */
#define WAITING_MAX   (4u << 20)         /* bytes */
#define EXECS_MAX     4                  /* while what is mapped is read */

/* A process that was there before: what it has mapped is still to be read. */
struct newcomer {
	uint32_t proc_pid, process;
	uint64_t time;
};

struct drain {
	struct drain_parts parts;
	struct rings *rings;
	struct merge *merge;
	struct followed *followed;
	/* NULL: processes have other numbers here than in the kernel, so none is looked for. */
	struct untold *untold;
	struct buffer waiting; /* mappings of unknown processes: struct event_mmap, path, zeroes */
	struct buffer newcomers; /* struct newcomer[] */
	struct delayed *delayed;
	struct buffer children; /* the same: of forks since the mappings were read */
	uint64_t next_second, next_advance;
	uint64_t next_names, names_gap; /* 0: names are asked for with the figures of each second */
	struct arrival arrival;         /* of files and programs */
};

static int drain_output(void *context, const struct event_header *event)
{
	struct drain *drain = context;

	return delayed_store(drain->delayed, event);
}

static void drain_memory_lost(struct drain *drain)
{
	ledger_add_loss(drain->parts.ledger, LOSS_MEMORY, 1);
}

static void drain_add(struct drain *drain, const struct event_header *event, size_t size)
{
	int err = merge_add(drain->merge, event, size);

	if (err)
		ledger_add_loss(drain->parts.ledger, err == -ENOMEM ? LOSS_MEMORY : LOSS_BAD_EVENT,
				err == -ENOMEM ? store_events_in(event) : 1);
	if (drain->untold && untold_met(drain->untold, event))
		drain_memory_lost(drain);
}

static void drain_part(void *context, const struct event_header *event, size_t size)
{
	drain_add(context, event, size);
}

/* Since when a program knows that it is heard here: what it kept from before is for others, and
 * made of pieces that they were told. */
static uint64_t drain_heard(const struct drain *drain, const struct event_header *event)
{
	uint64_t told = followed_told(drain->followed, event->pid);

	return told > drain->parts.began ? told : drain->parts.began;
}

/* From here on samples of a batch are like any others. */
static void drain_samples(struct drain *drain, const struct event_header *event, size_t size)
{
	struct ledger *ledger = drain->parts.ledger;
	struct batches_faults faults = {0};

	if (batches_split((const struct event_samples *)(const void *)event, size,
			  drain_heard(drain, event), &faults, drain_part, drain))
		ledger_add_loss(ledger, LOSS_BAD_EVENT, 1);
	ledger_add_loss(ledger, LOSS_BATCH, faults.refused);
	ledger_add_loss(ledger, LOSS_BATCH_TIME, faults.misdated);
}

static void drain_collections(struct drain *drain, const struct event_header *event, size_t size)
{
	struct ledger *ledger = drain->parts.ledger;
	struct collections_faults faults = {0};

	if (collections_split((const struct event_collections *)(const void *)event, size,
			      drain->parts.began, merge_watermark(drain->merge), &faults,
			      drain_part, drain))
		ledger_add_loss(ledger, LOSS_BAD_EVENT, 1);
	ledger_add_loss(ledger, LOSS_COLLECTIONS, faults.collections);
	ledger_add_loss(ledger, LOSS_COLLECTIONS_FATES, faults.fates);
}

int drain_follow(struct drain *drain, uint32_t proc_pid, uint32_t pid)
{
	int added = followed_add(drain->followed, proc_pid, pid);

	return added < 0 ? added : 0;
}

static void drain_fork(struct drain *drain, const struct event_fork *event)
{
	struct newcomer child = {event->child_proc_pid, event->child_process, event->header.time};

	if (event->kind != FORK_PROCESS)
		return;
	if (drain_follow(drain, event->child_proc_pid, event->child_pid) ||
	    buffer_append(&drain->children, &child, sizeof(child)))
		drain_memory_lost(drain);
	unwinder_fork(drain->parts.unwinder, event->child_pid, event->header.pid,
		      event->header.time);
}

static void drain_task(struct drain *drain, const struct event_task *event)
{
	struct newcomer newcomer = {event->proc_pid, event->header.process, event->header.time};
	int added = followed_add(drain->followed, event->proc_pid, event->header.pid);

	if (added < 0 || (added && !event->kernel &&
			  buffer_append(&drain->newcomers, &newcomer, sizeof(newcomer))))
		drain_memory_lost(drain);
}

static void drain_exit(struct drain *drain, const struct event_exit *event)
{
	if (!event->last)
		return;
	unwinder_exit(drain->parts.unwinder, event->header.pid, event->header.time);
	followed_end(drain->followed, event->header.pid, event->header.time);
}

/* Its probes are attached by now, and its control block is where it will be. */
static void drain_sampling(struct drain *drain, const struct event_header *event)
{
	if (drain->parts.samples)
		sample_gate_meet(drain->parts.samples,
				 followed_proc_pid(drain->followed, event->pid));
}

static void drain_period(struct drain *drain, const struct event_period *event)
{
	if (event->reason != GCPROF_PERIOD_STOP)
		drain_sampling(drain, &event->header);
}

/* Where another recorder switched sampling on before, threads are all that is told at first. */
static void drain_mutator(struct drain *drain, const struct event_mutator *event)
{
	if (event->event != GCPROF_THREAD_DETACH)
		drain_sampling(drain, &event->header);
}

/* What tells where things are mapped, besides the mappings themselves. */
static void drain_event(void *context, const struct event_header *event, size_t size)
{
	struct drain *drain = context;

	if (event->code == EVENT_samples) {
		drain_samples(drain, event, size);
		return;
	}
	if (event->code == EVENT_collections) {
		drain_collections(drain, event, size);
		return;
	}
	if (event->code == EVENT_fork && size >= sizeof(struct event_fork))
		drain_fork(drain, (const void *)event);
	else if (event->code == EVENT_task && size >= sizeof(struct event_task))
		drain_task(drain, (const void *)event);
	else if (event->code == EVENT_exit && size >= sizeof(struct event_exit))
		drain_exit(drain, (const void *)event);
	else if (event->code == EVENT_period && size >= sizeof(struct event_period))
		drain_period(drain, (const void *)event);
	else if (event->code == EVENT_mutator && size >= sizeof(struct event_mutator))
		drain_mutator(drain, (const void *)event);
	else if (event->code == EVENT_exec)
		unwinder_exec(drain->parts.unwinder, event->pid, event->time);
	drain_add(drain, event, size);
}

/* False if the process is not known (yet). */
static bool drain_mapping(struct drain *drain, struct event_mmap *event, const char *path)
{
	uint32_t pid = followed_pid(drain->followed, event->header.tid, event->header.time);

	if (!pid)
		return false;
	event->header.pid = pid;
	store_meet_mapping(drain->parts.store, event, path);
	drain_add(drain, &event->header, event->header.size);
	unwinder_mapping(drain->parts.unwinder, event, path);
	if (event->inode && files_map(drain->parts.files, event, path))
		drain_memory_lost(drain);
	return true;
}

static void drain_mapped(void *context, struct event_mmap *event, const char *path)
{
	static const char zeroes[8];
	struct drain *drain = context;
	struct buffer *waiting = &drain->waiting;

	if (drain_mapping(drain, event, path))
		return;
	/* Its size is a multiple of 8; behind it the path always ends. */
	if (waiting->size > WAITING_MAX || buffer_append(waiting, event, event->header.size) ||
	    buffer_append(waiting, zeroes, sizeof(zeroes)))
		ledger_add_loss(drain->parts.ledger, LOSS_MEMORY, 1);
}

static void drain_before(void *context, struct event_mmap *event, const char *path)
{
	drain_mapping(context, event, path);
}

/*
 * Whoever mapped something before `until` and is not known by now is followed by nobody. What is
 * younger stays: a process whose beginning was lost may not be known before the next round.
 */
static void drain_waiting(struct drain *drain, uint64_t until)
{
	char *at = drain->waiting.data, *end = at + drain->waiting.size, *kept = at;

	while (at < end) {
		struct event_mmap *event = (void *)at;
		size_t size = event->header.size + 8;

		at += size;
		if (drain_mapping(drain, event, (const char *)(event + 1)) ||
		    event->header.time < until)
			continue;
		memmove(kept, event, size);
		kept += size;
	}
	drain->waiting.size -= (size_t)(end - kept);
}

/* Since when a process runs its program; 0 if the kernel side does not know it (any more). */
static uint64_t drain_program_since(const struct drain *drain, uint32_t process)
{
	struct process_state state;

	return table_lookup(drain->parts.session, TABLE_PROCESSES, &process, &state)
		       ? 0
		       : state.program;
}

/*
 * What it has mapped it has had since it was met, or since it runs another program than then: what
 * it had before is not known any more. A process that is gone by now has nothing to tell.
 */
static void drain_newcomer(struct drain *drain, const struct newcomer *newcomer)
{
	uint64_t since = drain_program_since(drain, newcomer->process), before;

	for (int tries = 0; tries < EXECS_MAX; tries++) {
		before = since;
		snapshot_mappings(newcomer->proc_pid,
				  since > newcomer->time ? since : newcomer->time, drain_before,
				  drain);
		/* Did it execute a program meanwhile? */
		since = drain_program_since(drain, newcomer->process);
		if (since == before)
			return;
	}
}

static void drain_newcomers(struct drain *drain)
{
	const struct newcomer *all = (const void *)drain->newcomers.data;

	for (size_t i = 0; i < drain->newcomers.size / sizeof(*all); i++)
		drain_newcomer(drain, &all[i]);
	drain->newcomers.size = 0;
}

/*
 * No record tells what a child has mapped from its parent. What files we attached to after it was
 * born, which it has to be told, are known once all mappings were read that came before, and their
 * files.
 */
static void drain_children(struct drain *drain)
{
	const struct newcomer *all = (const void *)drain->children.data;
	uint64_t latest = attach_latest(session_probes(drain->parts.session));

	if (files_pending(drain->parts.files) != UINT64_MAX && drain->children.size < CHILDREN_MAX)
		return;
	for (size_t i = 0; i < drain->children.size / sizeof(*all); i++)
		if (all[i].time < latest)
			drain_newcomer(drain, &all[i]);
	drain->children.size = 0;
}

/* A process that is there, but was not told of, is met as those are that were there before. */
static void drain_untold(void *context, uint32_t process, uint32_t pid, uint64_t time)
{
	struct drain *drain = context;
	struct event_task task;

	if (followed_has(drain->followed, pid, time) ||
	    snapshot_task(process, pid, time - 1, &task))
		return;
	drain_task(drain, &task);
	drain_add(drain, &task.header, sizeof(task));
}

/* Mappings that the perf rings tell of. */
static void drain_mappings(struct drain *drain)
{
	struct ledger *ledger = drain->parts.ledger;
	struct perf_maps *maps = drain->parts.maps;
	const struct perf_maps_visitor visitor = {.context = drain, .mapping = drain_mapped};

	if (!maps)
		return;
	perf_maps_drain(maps, &visitor);
	ledger_set_loss(ledger, LOSS_PERF_RING, perf_maps_lost(maps));
	ledger_add_loss(ledger, LOSS_BAD_EVENT, perf_maps_bad(maps));
}

/* Are processes called here what the kernel side calls them? The initial pid namespace has a
 * number of its own, always the same. */
static bool numbers_are_the_kernels(void)
{
	const ino_t initial = 0xEFFFFFFC;
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == initial;
}

int drain_create(const struct drain_parts *parts, struct drain **out)
{
	struct files_visitor visitor = {.mapped = arrival_mapped};
	struct drain *drain = calloc(1, sizeof(*drain));
	int err = -ENOMEM;

	if (!drain)
		return err;
	drain->parts = *parts;
	visitor.context = &drain->arrival;
	files_set_visitor(parts->files, &visitor);
	err = delayed_create(parts->store, parts->ledger, &drain->delayed);
	if (!err)
		err = merge_create(drain_output, drain, &drain->merge);
	if (!err && numbers_are_the_kernels())
		err = untold_create(&drain->untold);
	if (!err)
		err = followed_create(&drain->followed);
	drain->arrival = (struct arrival){
		.session = parts->session,
		.opener = parts->opener,
		.ledger = parts->ledger,
		.followed = drain->followed,
	};
	if (!err)
		err = rings_open(parts->session, drain_event, drain, &drain->rings);
	if (err) {
		drain_free(drain);
		return err;
	}
	drain->next_second = clock_now() + SECOND_NS;
	drain->names_gap = NAMES_NS;
	drain->next_names = clock_now() + NAMES_NS;
	*out = drain;
	return 0;
}

/* Everything that there is to be read: 1 if the rings are empty, 0 if not yet. */
static int drain_rings(struct drain *drain)
{
	uint64_t now = clock_now();
	int emptied;

	/* Mappings first: what is mapped should be attached before it runs far. */
	drain_mappings(drain);
	drain_children(drain);
	emptied = rings_drain(drain->rings);
	if (emptied > 0 && drain->untold)
		untold_judge(drain->untold, now, drain_untold, drain);
	drain_newcomers(drain);
	drain_waiting(drain, emptied > 0 ? now : 0);
	files_turn(drain->parts.files);
	opener_turn(drain->parts.opener);
	unwinder_flush(drain->parts.unwinder);
	return emptied;
}

/* Files attached meanwhile may have brought a stream to life. */
static int drain_streams(struct drain *drain)
{
	if (!drain->arrival.attached)
		return 0;
	drain->arrival.attached = false;
	if (!session_probes_attached(drain->parts.session, "the probes are incomplete"))
		return 0;
	return facts_put_streams(drain->parts.writer, drain->parts.session);
}

/* The kernel side forgets a process when its last thread ended; if it could not keep the state of
 * some, nobody knows. */
static bool drain_is_there(void *context, uint32_t process)
{
	const struct drain *drain = context;
	struct process_state state;

	return ledger_loss(drain->parts.ledger, LOSS_PROCESS_STATE) ||
	       table_lookup(drain->parts.session, TABLE_PROCESSES, &process, &state) != -ENOENT;
}

/* Its end was lost. */
static void drain_gone(void *context, uint32_t pid)
{
	struct drain *drain = context;
	uint64_t now = clock_now();

	unwinder_exit(drain->parts.unwinder, pid, now);
	followed_end(drain->followed, pid, now);
}

/* After the figures of a second, which may be the last word on those that ended. */
static void drain_sweep(struct drain *drain, uint64_t now)
{
	const struct processes_watch watch = {drain_is_there, drain_gone, drain};

	store_sweep(drain->parts.store, &watch);
	followed_sweep(drain->followed, now - SWEEP_NS);
}

/* `put` is ledger_put() or, at the end, ledger_finish(). */
static int drain_figures(struct drain *drain, int (*put)(struct ledger *))
{
	int err;

	ledger_set_loss(drain->parts.ledger, LOSS_LATE, merge_late(drain->merge));
	ledger_set_loss(drain->parts.ledger, LOSS_UNWIND_ROWS,
			unwinder_refused(drain->parts.unwinder));
	err = put(drain->parts.ledger);
	/* Now and then, so that a profile that is cut off has most of the names. */
	err = err ? err : store_symbolize(drain->parts.store);
	return err ? err : profile_writer_flush(drain->parts.writer);
}

/* Names of what a program does at first: most of all that there will be. */
static int drain_first_names(struct drain *drain, uint64_t now)
{
	if (!drain->names_gap || now < drain->next_names)
		return 0;
	drain->names_gap = drain->names_gap < SECOND_NS / 2 ? drain->names_gap * 2 : 0;
	drain->next_names = now + drain->names_gap;
	return store_symbolize(drain->parts.store);
}

/* Any mapping on the machine makes a round, and those of programs that start come by the dozen. */
static int drain_advance(struct drain *drain, uint64_t now)
{
	uint64_t pending;

	if (now < drain->next_advance)
		return 0;
	drain->next_advance = now + ADVANCE_NS;
	/* What happened after a file was mapped waits until it is known, but not for ever, and only
	 * while that is not much. */
	pending = files_pending(drain->parts.files);
	if (pending < now && merge_held(drain->merge) < PENDING_BYTES)
		now = now - pending < PENDING_NS ? pending : now - PENDING_NS;
	return merge_advance(drain->merge, now - SLACK_NS);
}

uint32_t drain_proc_pid(const struct drain *drain, uint32_t pid)
{
	return followed_proc_pid(drain->followed, pid);
}

bool drain_told(const struct drain *drain, uint32_t proc_pid)
{
	return followed_told(drain->followed, followed_pid(drain->followed, proc_pid, 0)) != 0;
}

int drain_round(struct drain *drain)
{
	uint64_t now = clock_now();
	int emptied, err;

	emptied = drain_rings(drain);
	if (emptied < 0)
		return emptied;
	session_draw_timer(drain->parts.session);
	err = session_look_again(drain->parts.session);
	err = err ? err : drain_streams(drain);
	if (!err && emptied)
		err = drain_advance(drain, now);
	err = err ? err : delayed_turn(drain->delayed, WALKS_NS);
	err = err ? err : drain_first_names(drain, now);
	err = err ? err : store_symbolize_turn(drain->parts.store);
	if (!err && now >= drain->next_second) {
		drain->next_second = now + SECOND_NS;
		err = drain_figures(drain, ledger_put);
		err = err ? err : session_tell_ran(drain->parts.session);
		drain_sweep(drain, now);
	}
	return err;
}

int drain_finish(struct drain *drain, const struct patience *patience)
{
	int emptied, err;

	do
		emptied = drain_rings(drain);
	while (emptied == 0);
	files_settle(drain->parts.files, patience->files_ns);
	store_walk_until(drain->parts.store, clock_now() + patience->walks_ns);
	err = emptied < 0 ? emptied : drain_streams(drain);
	err = err ? err : merge_advance(drain->merge, UINT64_MAX);
	err = err ? err : delayed_turn(drain->delayed, UINT64_MAX);
	return err ? err : drain_figures(drain, ledger_finish);
}

int drain_settle(struct drain *drain)
{
	files_settle(drain->parts.files, PENDING_NS);
	return drain_streams(drain);
}

const char *drain_trouble(struct drain *drain)
{
	if (!drain->arrival.trouble)
		return NULL;
	drain->arrival.trouble = false;
	return drain->arrival.problem.text;
}

void drain_free(struct drain *drain)
{
	if (!drain)
		return;
	files_set_visitor(drain->parts.files, NULL);
	opener_cancel(drain->parts.opener, drain);
	rings_free(drain->rings);
	merge_free(drain->merge);
	followed_free(drain->followed);
	untold_free(drain->untold);
	buffer_free(&drain->waiting);
	delayed_free(drain->delayed);
	buffer_free(&drain->newcomers);
	buffer_free(&drain->children);
	free(drain);
}
