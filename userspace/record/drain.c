/* SPDX-License-Identifier: BSD-2-Clause */
/* drain.c: brings events from the rings to the profile while the program runs. */
/*
 * Order: a time T is taken, then all rings are emptied. Whatever happened
 * before T is out by then, but for programs that were interrupted between
 * reading the clock and filling their record. SLACK is for those; who needs
 * longer is counted as late.
 */
#include "drain.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"
#include "clock.h"
#include "facts.h"
#include "merge.h"
#include "rings.h"

#define SLACK_NS  UINT64_C(20000000)
#define SECOND_NS UINT64_C(1000000000)

struct drain {
	struct drain_parts parts;
	struct rings *rings;
	struct merge *merge;
	uint64_t next_second;
	bool attached; /* a file was attached in this round */
	bool trouble;
	struct problem problem;
};

static int drain_output(void *context, const struct event_header *event)
{
	struct drain *drain = context;

	return store_event(drain->parts.store, event);
}

void drain_add(struct drain *drain, const struct event_header *event, size_t size)
{
	int err = merge_add(drain->merge, event, size);

	if (err)
		ledger_add_loss(drain->parts.ledger, err == -ENOMEM ? LOSS_MEMORY : LOSS_BAD_EVENT,
				1);
}

static void drain_sample(void *context, const struct event_header *event, size_t size)
{
	drain_add(context, event, size);
}

/* From here on samples of a batch are like any others. */
static void drain_samples(struct drain *drain, const struct event_header *event, size_t size)
{
	struct ledger *ledger = drain->parts.ledger;
	struct batches_faults faults = {0};

	if (batches_split((const struct event_samples *)(const void *)event, size, &faults,
			  drain_sample, drain))
		ledger_add_loss(ledger, LOSS_BAD_EVENT, 1);
	ledger_add_loss(ledger, LOSS_BATCH, faults.refused);
	ledger_add_loss(ledger, LOSS_BATCH_TIME, faults.misdated);
}

static void drain_event(void *context, const struct event_header *event, size_t size)
{
	struct drain *drain = context;

	if (event->code == EVENT_samples) {
		drain_samples(drain, event, size);
		return;
	}

	if (event->code == EVENT_exit && size >= sizeof(struct event_exit) &&
	    ((const struct event_exit *)(const void *)event)->last)
		unwinder_exit(drain->parts.unwinder, event->pid, event->time);
	drain_add(drain, event, size);
}

int drain_create(const struct drain_parts *parts, struct drain **out)
{
	struct drain *drain = calloc(1, sizeof(*drain));
	int err = -ENOMEM;

	if (!drain)
		return err;
	drain->parts = *parts;
	err = merge_create(drain_output, drain, &drain->merge);
	if (!err)
		err = rings_open(parts->session, drain_event, drain, &drain->rings);
	if (err) {
		drain_free(drain);
		return err;
	}
	drain->next_second = clock_now() + SECOND_NS;
	*out = drain;
	return 0;
}

/*
 * A file that was mapped may have probes. It is opened as the process sees it:
 * its name may mean another file here, or none.
 */
static void drain_attach(struct drain *drain, uint32_t pid, const char *path)
{
	struct attach *probes = session_probes(drain->parts.session);
	char seen[PATH_MAX + 32];
	int sites;

	if (path[0] != '/' || strncmp(path, "//", 2) == 0)
		return;
	snprintf(seen, sizeof(seen), "/proc/%u/root%s", pid, path);
	sites = attach_file(probes, seen, &drain->problem);
	if (sites > 0)
		drain->attached = true;
	if (sites < 0) {
		drain->trouble = true;
		ledger_add_loss(drain->parts.ledger, LOSS_PROBE_ATTACH, 1);
	}
}

static void drain_mapping(void *context, const struct event_mmap *event, const char *path)
{
	struct drain *drain = context;

	drain_add(drain, &event->header, event->header.size);
	unwinder_mapping(drain->parts.unwinder, event, path);
	drain_attach(drain, event->header.pid, path);
}

static void drain_exec(void *context, uint32_t pid, uint64_t time)
{
	struct drain *drain = context;

	unwinder_exec(drain->parts.unwinder, pid, time);
}

static void drain_fork(void *context, uint32_t pid, uint32_t parent, uint64_t time)
{
	struct drain *drain = context;

	unwinder_fork(drain->parts.unwinder, pid, parent, time);
}

static void drain_mappings(struct drain *drain)
{
	struct ledger *ledger = drain->parts.ledger;
	struct perf_maps *maps = drain->parts.maps;
	const struct perf_maps_visitor visitor = {
		.context = drain,
		.mapping = drain_mapping,
		.exec = drain_exec,
		.fork = drain_fork,
	};

	if (!maps)
		return;
	perf_maps_drain(maps, &visitor);
	unwinder_flush(drain->parts.unwinder);
	ledger_set_loss(ledger, LOSS_PERF_RING, perf_maps_lost(maps));
	ledger_add_loss(ledger, LOSS_BAD_EVENT, perf_maps_bad(maps));
}

/* Files attached meanwhile may have brought a stream to life. */
static int drain_streams(struct drain *drain)
{
	if (!drain->attached)
		return 0;
	drain->attached = false;
	if (!session_probes_attached(drain->parts.session, "the probes are incomplete"))
		return 0;
	return facts_put_streams(drain->parts.writer, drain->parts.session);
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

int drain_round(struct drain *drain)
{
	uint64_t now = clock_now();
	int emptied, err;

	/* Mappings first: what is mapped should be attached before it runs far. */
	drain_mappings(drain);
	emptied = rings_drain(drain->rings);
	if (emptied < 0)
		return emptied;
	err = drain_streams(drain);
	if (!err && emptied)
		err = merge_advance(drain->merge, now - SLACK_NS);
	if (!err && now >= drain->next_second) {
		drain->next_second = now + SECOND_NS;
		err = drain_figures(drain, ledger_put);
	}
	return err;
}

int drain_finish(struct drain *drain)
{
	int emptied, err;

	drain_mappings(drain);
	do
		emptied = rings_drain(drain->rings);
	while (emptied == 0);
	err = emptied < 0 ? emptied : drain_streams(drain);
	err = err ? err : merge_advance(drain->merge, UINT64_MAX);
	return err ? err : drain_figures(drain, ledger_finish);
}

const char *drain_trouble(struct drain *drain)
{
	if (!drain->trouble)
		return NULL;
	drain->trouble = false;
	return drain->problem.text;
}

void drain_free(struct drain *drain)
{
	if (!drain)
		return;
	rings_free(drain->rings);
	merge_free(drain->merge);
	free(drain);
}
