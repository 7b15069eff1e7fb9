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

enum { RECENT_MAX = 4 };

/* Page faults without I/O, and with. */
struct fault_counts {
	uint64_t minor, major;
};

struct thread {
	bool defined;
	uint32_t process;
	uint64_t tid;
	const char *name;  /* NULL: unknown */
	uint64_t executed; /* number of the path of its last exec record, until its call returns */
	uint64_t cpu_samples, gc_samples, alloc_samples;
	uint64_t cpu_ns, gc_cpu_ns; /* from timer samples; gc: also from summaries */
	bool accounted;             /* the scheduler's accounting is available: */
	uint64_t used_ns;           /* CPU time from it */
	double alloc_bytes;
	struct tally alloc; /* alloc_bytes with its variance */
	uint64_t begin;     /* creation time; 0: older than the recording */
	bool goes_on;       /* its last usage record says that it did not end there */
	bool ended;         /* the fields below are known */
	bool waits_known, queue_known;
	bool waits_part; /* waits were not traced all the time */
	uint64_t end;
	uint64_t queued_ns; /* runnable without a CPU */
	uint64_t minor_faults, major_faults;
	struct fault_counts recorded_faults; /* covered by fault records */
	uint64_t waits[WAIT_KINDS], wait_ns[WAIT_KINDS], wait_max[WAIT_KINDS];
	uint64_t recorded_wait_ns[WAIT_KINDS]; /* covered by wait records */
	uint64_t recorded_queued_ns;           /* of those in calls: runnable without a CPU */
	uint64_t gc_wait_ns;                   /* of those: in collections, blocked */
	uint64_t time[TIME_PARTS];             /* see time/thread_time.h */
	uint32_t next_recent;
	struct {
		uint64_t begin, end, kind;
	} recent[RECENT_MAX]; /* ended collections, for samples that arrive late */
	struct {
		uint64_t heap, number, begin;
		bool requested; /* one of them, so far, by the program */
		size_t index;   /* of its duration, among all stops */
	} stop;                 /* stop of the last of these collections */
};

struct process {
	bool defined;
	uint32_t parent;
	uint64_t pid;
	uint64_t recording; /* number in a merged profile; else 0 */
	uint64_t time;      /* when first seen */
	struct charging charging;
	uint32_t phase;    /* of its major collector, as in phase records; 0: unknown */
	uint32_t last_gc;  /* kind of the latest collection that began */
	bool has_minors;   /* it had minor collections */
	bool frees;        /* freed objects were reported */
	bool listed;       /* functions of its collector are known */
	uint8_t pacing;    /* enum gc_pacing; see tasks_runtime() */
	bool collecting;   /* a collection is in progress */
	bool outcomes;     /* what became of its objects is reported */
	uint32_t markings; /* number of major collections that began to mark */
	bool sampled;      /* set by thread_rows_finish(): its allocation is sampled */
	const char *name;  /* set by tasks_name_processes(); NULL: unknown */
	const char *title; /* latest command line, or title set by the process; NULL: unknown */
	uint64_t pauses, pause_ns; /* of its selected collections */
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

/* The process itself, or the one that it is a fork of, if its collector's functions are known;
 * NULL: they are not. */
const struct process *tasks_runtime(const struct tasks *tasks, const struct process *process);

/* The part of a thread's time that a timer sample outside of collections is in. */
static inline enum time_part time_of_mode(const struct record_cpu *record)
{
	enum { MODE_KERNEL = 2 };

	if (record->mode != MODE_KERNEL)
		return TIME_OWN;
	return record->call ? TIME_KERNEL : TIME_FAULTS;
}

/* CPU time of the thread: exact, or from timer samples. */
static inline uint64_t tasks_cpu_ns(const struct thread *thread)
{
	if (!thread->accounted)
		return thread->cpu_ns;
	return thread->used_ns <= INT64_MAX ? thread->used_ns : 0;
}

/* Of it, in collections: chance samples stand for no more than the thread ran. */
static inline uint64_t tasks_gc_cpu_ns(const struct thread *thread)
{
	uint64_t all = tasks_cpu_ns(thread);

	return thread->gc_cpu_ns < all ? thread->gc_cpu_ns : all;
}

/* Adds a new thread. It inherits its creator's name until it gets one of its own. */
void tasks_begin(struct tasks *tasks, const struct record_fork *record);

/* Call when all names are known: a process gets the name of its first thread. */
void tasks_name_processes(struct tasks *tasks);

/*
 * For how long an ended thread was recorded, without pauses of the recording. A thread older than
 * the recording counts from when its process was first seen, because attaching takes time.
 */
uint64_t tasks_wall_ns(const struct tasks *tasks, const struct model_run *run,
		       const struct thread *thread);

#endif
