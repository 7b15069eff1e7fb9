/* SPDX-License-Identifier: BSD-2-Clause */
/* syscalls.h: system calls, summed over processes. */
#ifndef GCPROF_SYSCALLS_H
#define GCPROF_SYSCALLS_H

#include "../../../bpf/events.h"
#include "../event.h"
#include "../model.h"
#include "../world/call_part.h"
#include "call_windows.h"

struct map;
struct selection;
struct world;

/* Figures of one call, in one process or in all. */
struct call {
	uint64_t number; /* bit 31: from the 32-bit table */
	uint64_t count, errors, total_ns, max_ns, gc_count, gc_ns;
	uint64_t waits, wait_ns, wait_max;   /* off the CPU; only in totals */
	uint64_t histogram[SYSCALL_BUCKETS]; /* of records, each weighted by the calls it stands for
					      */
	struct call_part part;               /* of records, for selections */
};

struct calls {
	struct call *items; /* number 0 is none */
	size_t count, capacity;
	struct map *index; /* {process, number} -> number of the item */
};

/* Totals from the kernel side, and sums over the records. */
struct syscalls {
	const struct selection *selection;      /* NULL: everything */
	struct record_syscall slow[SLOW_CALLS]; /* longest first */
	size_t n_slow;
	struct calls totals;
	struct calls records;
	struct call_windows windows;
	struct map *cpu; /* call number -> CPU time in the call from timer samples, ns */
};

/* Adds figures and histogram. */
void call_merge(struct call *into, const struct call *from);

/* Row without estimates. The name is NULL if there is no memory. */
struct model_syscall syscall_row(const struct call *call, const struct model *model);

/* The selection is borrowed; NULL: everything. */
int syscalls_init(struct syscalls *syscalls, const struct selection *selection);
void syscalls_free(struct syscalls *syscalls);

/* Each: 0, -EBADMSG, -ENOMEM. */
int syscalls_record(struct syscalls *syscalls, struct world *world, const struct event *event);
int syscalls_total(struct syscalls *syscalls, const struct world *world,
		   const struct record_syscall_total *record);
int syscalls_call_cpu(struct syscalls *syscalls, const struct world *world,
		      const struct record_call_cpu *record);
int syscalls_window(struct syscalls *syscalls, struct world *world,
		    const struct record_call_window *record);

/* A timer sample: adds it to the call that its thread was in. 0 or -ENOMEM. */
int syscalls_cpu(struct syscalls *syscalls, const struct event *event);

/*
 * Fills the model's rows. For each call of each process the kernel's total counts. The records
 * count instead if there are more of them, for example if the recorder was killed between two
 * totals. Untraced calls are estimated (call_windows.h). With a filter, divide_finish() makes the
 * rows instead. 0 or -ENOMEM.
 */
int syscalls_sum(struct syscalls *syscalls, struct world *world);

/* Call when rows exist: sorts them, adds their CPU time, and adds the slow calls. 0 or -ENOMEM. */
int syscalls_finish(const struct syscalls *syscalls, struct world *world);

/*
 * For a filter: how many of the calls it selects (divide.c). Fills the model's rows; call after the
 * last record. 0 or -ENOMEM.
 */
int divide_finish(const struct syscalls *syscalls, struct world *world);

#endif
