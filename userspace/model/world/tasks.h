/* SPDX-License-Identifier: BSD-2-Clause */
/* tasks.h: processes and threads, and the latest collections of each. */
#ifndef GCPROF_TASKS_H
#define GCPROF_TASKS_H

#include <stdbool.h>

#include "../../profile/record.h"
#include "../model.h"
#include "arena.h"
#include "charging.h"
#include "estimate.h"

#define RECORDINGS_MAX 65536 /* numbers of recordings in a merged profile lie below */

enum { RECENT_MAX = 4 };

/* Page faults without reading, and with. */
struct fault_counts {
	uint64_t minor, major;
};

struct thread {
	bool defined;
	uint32_t process;
	uint64_t tid;
	const char *name; /* NULL: unknown */
	uint64_t cpu_samples, gc_samples, alloc_samples;
	uint64_t cpu_ns, gc_cpu_ns; /* that the timer samples stand for; gc: and sums tell */
	bool accounted;             /* the scheduler's account is known: */
	uint64_t used_ns;           /* CPU time by it */
	double alloc_bytes;
	struct tally alloc; /* the same with its variance */
	uint64_t begin;     /* when it was made; 0: the recording found it there */
	bool ended;         /* what follows is known */
	bool waits_known, queue_known;
	uint64_t end;
	uint64_t queued_ns; /* it could have run, but had no CPU */
	uint64_t minor_faults, major_faults;
	struct fault_counts recorded_faults; /* that fault records stand for */
	uint64_t waits[WAIT_KINDS], wait_ns[WAIT_KINDS], wait_max[WAIT_KINDS];
	uint32_t next_recent;
	struct {
		uint64_t begin, end, kind;
	} recent[RECENT_MAX]; /* collections that ended: for samples that come late */
	struct {
		uint64_t heap, number, begin;
		size_t index; /* of its length, among those of all stops */
	} stop;               /* that the last of them was in */
};

struct process {
	bool defined;
	uint32_t parent;
	uint64_t pid;
	uint64_t recording; /* number, in a merged profile; else 0 */
	uint64_t time;      /* when it was first seen */
	struct charging charging;
	uint32_t phase;    /* of its major collector, as the phase record numbers it; 0: unknown */
	uint32_t last_gc;  /* kind of the collection that began last */
	bool has_minors;   /* minor collections were seen */
	bool frees;        /* freed objects were reported */
	uint32_t markings; /* major collections that began to mark */
	const char *name;  /* set by tasks_name_processes(); NULL: unknown */
	const char *title; /* the last command line, or what it wrote over it; NULL: unknown */
	uint64_t pauses, pause_ns; /* of its collections, those that are selected */
	double calls, call_ns;     /* set by syscalls_finish(): its share of all system calls */
};

struct tasks {
	struct dense processes; /* struct process */
	struct dense threads;   /* struct thread */
};

void tasks_init(struct tasks *tasks);
void tasks_free(struct tasks *tasks);

int tasks_process(struct tasks *tasks, const struct record_process *record);
int tasks_thread(struct tasks *tasks, const struct record_thread *record);

static inline struct process *tasks_find_process(const struct tasks *tasks, uint64_t id)
{
	struct process *process = dense_get(&tasks->processes, id);

	return process && process->defined ? process : NULL;
}

static inline struct thread *tasks_find_thread(const struct tasks *tasks, uint64_t id)
{
	struct thread *thread = dense_get(&tasks->threads, id);

	return thread && thread->defined ? thread : NULL;
}

/* CPU time of the thread: exact, or what its timer samples stand for. */
static inline uint64_t tasks_cpu_ns(const struct thread *thread)
{
	if (!thread->accounted)
		return thread->cpu_ns;
	return thread->used_ns <= INT64_MAX ? thread->used_ns : 0;
}

/* A new thread; it bears the name of its maker until it gets one of its own. */
void tasks_begin(struct tasks *tasks, const struct record_fork *record);

/* Once all names are known: a process is called as its first thread. */
void tasks_name_processes(struct tasks *tasks);

#endif
