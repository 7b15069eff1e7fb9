/* SPDX-License-Identifier: BSD-2-Clause */
/* events.h: contract 2: layouts of the ring records; events.def lists them. */
/*
 * Little-endian, fixed width, 8-byte aligned. Every record begins with struct event_header. `size`
 * covers the whole record, including header and tail, so a reader can skip an unknown code.
 *
 * Times are CLOCK_MONOTONIC nanoseconds (bpf_ktime_get_ns). `time` is the end of an event that has
 * a duration.
 *
 * A process is identified by an index, which the kernel side assigns when it starts to trace the
 * process. Indexes start at 1 and are never reused within a recording, unlike pids; exec keeps the
 * index. pid and tid are those of the initial pid namespace, `ns_pid` and `ns_tid` those of the
 * thread's own (innermost) namespace. `proc_pid` is the process's pid in the recorder's namespace,
 * as in its /proc. An unknown number is 0.
 */
#ifndef GCPROF_EVENTS_H
#define GCPROF_EVENTS_H

#ifndef __bpf__
#include <stddef.h>
#include <stdint.h>
#endif

#include "../gc/provider/probe_args.h"
#include "stack_events.h"
#include "syscall_totals.h"
#include "wait_events.h"

enum stream {
#define STREAM(code, name, string, doc) STREAM_##name = code,
#include "streams.def"
#undef STREAM
	STREAM_END
};

enum loss {
#define LOSS(code, name, stream, severity, unit, remedy, doc) LOSS_##name = code,
#include "loss.def"
#undef LOSS
};

#define LOSS_KERNEL_MAX 64 /* smaller codes are counted in BPF */
#define LOSS_MAX        128

enum event_kind {
#define EVENT(code, name, stream, doc) EVENT_##name = code,
#include "events.def"
#undef EVENT
};

struct event_header {
	uint32_t size;    /* bytes, including this header and the tail; a multiple of 8 */
	uint8_t code;     /* enum event_kind */
	uint8_t provider; /* whose numbers and managed frames these are; 0: none */
	uint16_t cpu;
	uint64_t time; /* CLOCK_MONOTONIC ns */
	uint32_t pid;  /* thread group id */
	uint32_t tid;
	uint32_t process; /* index, see above; 0: unknown (in mmap records only) */
	uint32_t fiber;   /* low half of the current fiber's id; 0: none or unknown */
};

struct event_alloc {
	struct event_header header;
	struct event_stack stack;
	uint64_t sample;
	uint64_t type;
	uint64_t bytes;
	uint64_t period;
	uint32_t kind;     /* enum gcprof_sample_kind */
	uint32_t provider; /* that took the sample; the header's has the managed frames */
	uint64_t address;  /* of the object, for `freed`; 0: the object is named by `sample` */
	uint64_t since; /* when the program started: each numbers its samples from 1; 0: unknown */
	uint64_t key;   /* stack key, for batched samples; 0: none */
	/* Of the object, as in its collections; 0: the only one. The stack follows as the tail. */
	uint64_t heap;
};

#include "batch_events.h"
#include "runtime_events.h"

struct event_fate {
	struct event_header header;
	uint32_t count;
	uint32_t reserved;
	struct gcprof_fate entries[]; /* `count` of them */
};

struct event_gc_begin {
	struct event_header header;
	uint64_t heap, cycle;
	uint32_t kind;   /* enum gcprof_gc_kind */
	uint32_t reason; /* enum gcprof_gc_reason */
	uint64_t stop;   /* `cycle` of the first collection in this stop; 0: unknown */
	uint64_t name;   /* of a gc_name: the runtime's word for the kind; 0: `kind` says it */
};

struct event_gc_end {
	struct event_header header;
	uint64_t heap;
	uint64_t cycle;
	uint32_t kind;
	uint16_t has_stats; /* 0: `stats` could not be read and is zero */
	uint16_t late;      /* 1: its begin was reported only at its end: page faults are unknown */
	struct gcprof_gc_stats stats;
	uint64_t rss_bytes;                  /* of the process, by the kernel; 0: unknown */
	uint64_t minor_faults, major_faults; /* of the collecting thread, during the collection */
	/* Heap bytes in use before and after, and heap size; 0: unknown. */
	uint64_t heap_before, heap_after, heap_size;
	uint64_t reason;      /* of a gc_name, if known only at the end; 0: as in gc_begin */
	uint64_t unreachable; /* unreachable objects found; 0: none or unknown */
};

struct event_gc_summary {
	struct event_header header; /* time: when it was reported */
	uint64_t heap;
	uint64_t begin;  /* of the first collection, CLOCK_MONOTONIC ns, at most `time` */
	uint64_t cycles; /* major collections that began in this time */
	uint32_t count;
	uint32_t reserved;
	struct gcprof_gc_sums sums[]; /* `count` of them, as written by the program */
};

struct event_phase {
	struct event_header header;
	uint64_t heap;
	uint32_t phase; /* enum gcprof_phase */
	uint32_t reserved;
};

#define NAME_BYTES_MAX 512 /* of a type, function, file or path; longer names are cut */

struct event_type {
	struct event_header header;
	uint64_t type;
	uint64_t code; /* address in the file that has the name, if it is not in the tail; else 0 */
	uint32_t name_size; /* bytes without the final zero */
	uint32_t reserved;
	/* tail: the name, padded with zeroes to 8 bytes */
};

struct event_code {
	struct event_header header;
	uint64_t code;
	uint32_t line;
	uint16_t name_size;
	uint16_t file_size;
	/* tail: the name padded to 8 bytes, then the file padded to 8 bytes */
};

struct event_provider {
	struct event_header header;
	uint16_t name_size;
	uint16_t version_size;
	uint32_t reserved;
	/* tail: the name padded to 8 bytes, then the version padded to 8 bytes */
};

struct event_typed {
	struct event_header header;
	uint64_t sample, type;
	uint64_t since; /* as in event_alloc */
};

struct event_followed {
	struct event_header header;
	uint64_t sample; /* id that later outcomes refer to */
};

struct event_period {
	struct event_header header;
	uint64_t old_period;
	uint64_t new_period;
	uint32_t reason; /* enum gcprof_period_reason */
	uint32_t reserved;
};

struct event_mutator {
	struct event_header header;
	uint64_t heap;
	uint32_t event; /* enum gcprof_thread_event */
	uint32_t reserved;
};

enum cpu_mode { CPU_MODE_USER = 1, CPU_MODE_KERNEL = 2 };

#define CPU_CALL_COMPAT 0x8000

struct event_cpu {
	struct event_header header;
	struct event_stack stack;
	uint16_t mode;  /* enum cpu_mode: where the tick found the thread */
	uint16_t call;  /* 1 + number of the current system call, with CPU_CALL_COMPAT; 0: none */
	uint32_t ticks; /* ticks at the requested frequency that this sample stands for */
	int64_t ran;    /* as in event_ran */
			/* tail: the stack */
};

struct event_ran {
	struct event_header header;
	/*
	 * CPU time of the thread since its last record, ns. If two programs report it at once, one
	 * value may be negative; the sum is right.
	 */
	int64_t ran;
};

enum syscall_flag {
	SYSCALL_COLLECTOR = 1,  /* by a thread that was collecting */
	SYSCALL_UNFINISHED = 2, /* never returned: the thread ended in the call (exit_group) */
	SYSCALL_COMPAT = 4,     /* 32-bit call, with its own numbers */
	SYSCALL_STACK = 8,      /* the call was long enough to take its stack */
};

struct event_syscall {
	struct event_header header; /* time: when it returned */
	struct event_stack stack;
	uint64_t duration; /* ns */
	uint64_t gc_ns;    /* overlap with collections of this process, ns */
	int64_t result;    /* return value: -errno for an error */
	uint64_t args[3];
	uint32_t number;
	uint32_t flags; /* enum syscall_flag */
	uint32_t path_size;
	uint32_t stands; /* calls represented, including itself: 1 / probability of a record */
			 /* tail: the path argument, padded to 8 bytes; then the stack */
};

struct event_wait {
	struct event_header header; /* time: when it was reported, at or after `ended` */
	struct event_stack stack;
	uint64_t ended;    /* CLOCK_MONOTONIC ns: when the thread was back on a CPU */
	uint64_t duration; /* ns */
	uint64_t held_ns;  /* total of unreported earlier waits, same call or reason, ns */
	uint32_t held;     /* number of those */
	uint32_t reason;   /* enum wait_reason */
	uint32_t number;   /* of the system call */
	uint32_t flags;    /* enum wait_flag */
	uint64_t queued;   /* part of `duration` in which it was runnable, ns; 0: none or unknown */
	uint32_t waker;    /* thread that ended a futex wait; 0: unknown, or another kind of wait */
	uint32_t waker_process; /* its index */
				/* tail: the stack */
};

struct event_leave {
	struct event_header header; /* time: the begin of the wait */
	struct event_stack stack;
	/* tail: the stack */
};

struct event_fault {
	struct event_header header;
	struct event_stack stack;
	uint64_t address; /* the address accessed */
	/* Faults represented, including itself: without and with I/O. */
	uint64_t minor, major;
	/* tail: the stack */
};

enum usage_flag {
	USAGE_WAITS = 1,   /* waits were counted */
	USAGE_QUEUED = 2,  /* `queued` is known */
	USAGE_GOES_ON = 4, /* neither the thread nor the recording has ended */
};

#include "process_events.h"

#ifndef __bpf__
_Static_assert(sizeof(struct event_header) == 32, "contract 2");
_Static_assert(sizeof(struct event_alloc) == 112, "contract 2");
_Static_assert(sizeof(struct event_fate) == 40, "contract 2");
_Static_assert(sizeof(struct event_samples) == 48, "contract 2");
_Static_assert(sizeof(struct event_sample) == 96, "contract 2");
_Static_assert(sizeof(struct event_stacks) == 32, "contract 2");
_Static_assert(sizeof(struct event_pieces) == 48, "contract 2");
_Static_assert(sizeof(struct event_frames) == 48, "contract 2");
_Static_assert(sizeof(struct event_gc_begin) == 72, "contract 2");
_Static_assert(sizeof(struct event_gc_end) == 200, "contract 2");
_Static_assert(sizeof(struct event_gc_summary) == 64, "contract 2");
_Static_assert(sizeof(struct event_phase) == 48, "contract 2");
_Static_assert(sizeof(struct event_type) == 56, "contract 2");
_Static_assert(sizeof(struct event_code) == 48, "contract 2");
_Static_assert(sizeof(struct event_typed) == 56, "contract 2");
_Static_assert(sizeof(struct event_followed) == 40, "contract 2");
_Static_assert(sizeof(struct event_period) == 56, "contract 2");
_Static_assert(sizeof(struct event_mutator) == 48, "contract 2");
_Static_assert(sizeof(struct event_place) == 168, "contract 2");
_Static_assert(sizeof(struct event_freed) == 56, "contract 2");
_Static_assert(sizeof(struct event_gc_cycle) == 104, "contract 2");
_Static_assert(sizeof(struct event_heap_area) == 96, "contract 2");
_Static_assert(sizeof(struct event_heap_site) == 80, "contract 2");
_Static_assert(sizeof(struct event_runtime) == 48, "contract 2");
_Static_assert(sizeof(struct event_gc_name) == 48, "contract 2");
_Static_assert(sizeof(struct event_thread_name) == 40, "contract 2");
_Static_assert(sizeof(struct event_bytecode) == 56, "contract 2");
_Static_assert(sizeof(struct event_cpu) == 56, "contract 2");
_Static_assert(sizeof(struct event_ran) == 40, "contract 2");
_Static_assert(sizeof(struct event_syscall) == 104, "contract 2");
_Static_assert(sizeof(struct event_wait) == 96, "contract 2");
_Static_assert(sizeof(struct event_leave) == 40, "contract 2");
_Static_assert(sizeof(struct event_fault) == 64, "contract 2");
_Static_assert(sizeof(struct event_usage) == 160, "contract 2");
_Static_assert(sizeof(struct event_fork) == 64, "contract 2");
_Static_assert(sizeof(struct event_exec) == 48, "contract 2");
_Static_assert(sizeof(struct event_exit) == 40, "contract 2");
_Static_assert(sizeof(struct event_oom) == 32, "contract 2");
_Static_assert(sizeof(struct event_comm) == 48, "contract 2");
_Static_assert(sizeof(struct event_title) == 288, "contract 2");
_Static_assert(sizeof(struct event_mmap) == 80, "contract 2");
_Static_assert(sizeof(struct event_task) == 72, "contract 2");
#endif

#endif
