/* SPDX-License-Identifier: BSD-2-Clause */
/* events.h: contract 2, the ring records' layouts; the rows are in events.def. */
/*
 * Little-endian, fixed width, 8-byte aligned. Every record begins with struct
 * event_header; `size` counts the whole record, header and tail included, so a
 * reader can skip a code that it does not know.
 *
 * Times are CLOCK_MONOTONIC nanoseconds (bpf_ktime_get_ns). Of an event with a
 * duration, `time` is its end.
 *
 * A process is named by an index that the kernel side hands out when it begins
 * to follow it, starting at 1 and never used again in a recording: a reused pid
 * is another process. exec keeps the index. pid and tid are those of the
 * initial pid namespace; `ns_pid` and `ns_tid` those of the innermost one, the
 * thread's own; `proc_pid` is the process in the recorder's own, which is what
 * /proc calls it there. 0: unknown.
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
#define LOSS(code, name, stream, severity, doc) LOSS_##name = code,
#include "loss.def"
#undef LOSS
};

#define LOSS_KERNEL_MAX 64 /* codes below this are counted in BPF */
#define LOSS_MAX        128

enum event_kind {
#define EVENT(code, name, stream, doc) EVENT_##name = code,
#include "events.def"
#undef EVENT
};

struct event_header {
	uint32_t size;    /* bytes, this header and the tail included; a multiple of 8 */
	uint8_t code;     /* enum event_kind */
	uint8_t provider; /* of the process: whose numbers these are, and managed frames; 0: none */
	uint16_t cpu;
	uint64_t time; /* CLOCK_MONOTONIC ns */
	uint32_t pid;  /* thread group id */
	uint32_t tid;
	uint32_t process; /* index, see above; 0: unknown (only in mmap records) */
	uint32_t fiber; /* low half of the id of the one that the thread ran; 0: none, or unknown */
};

struct event_alloc {
	struct event_header header;
	struct event_stack stack;
	uint64_t sample;
	uint64_t type;
	uint64_t bytes;
	uint64_t period;
	uint32_t kind;     /* enum gcprof_sample_kind */
	uint32_t provider; /* that took it; the header's has the managed frames */
	uint64_t address;  /* of the object, whose end `freed` will report; 0: its id is in `sample`
			    */
	/* Of the stack, for samples by the batch; 0: none. Behind it, as the tail, the stack. */
	uint64_t key;
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
	uint64_t stop;   /* `cycle` of the first one in this stop; 0: unknown */
	uint64_t name;   /* of gc_name: what the runtime calls the kind; 0: as it is */
};

struct event_gc_end {
	struct event_header header;
	uint64_t heap;
	uint64_t cycle;
	uint32_t kind;
	uint16_t has_stats; /* 0: `stats` could not be read and is zero */
	uint16_t late;      /* 1: its begin was reported with its end: page faults are unknown */
	struct gcprof_gc_stats stats;
	uint64_t rss_bytes; /* of the process, as the kernel counts it; 0 unknown */
	uint64_t minor_faults, major_faults; /* page faults of the collecting thread meanwhile */
	/* Bytes of the heap in use before and after, and its size; 0: unknown. */
	uint64_t heap_before, heap_after, heap_size;
	uint64_t reason;      /* of gc_name, where it is known at the end only; 0: as it began */
	uint64_t unreachable; /* objects that it found; 0: none, or unknown */
};

struct event_gc_summary {
	struct event_header header; /* time: when it was reported */
	uint64_t heap;
	uint64_t begin;  /* of the first collection, CLOCK_MONOTONIC ns, not after `time` */
	uint64_t cycles; /* major collections that began in them */
	uint32_t count;
	uint32_t reserved;
	struct gcprof_gc_sums sums[]; /* `count` of them, as the program wrote them */
};

struct event_phase {
	struct event_header header;
	uint64_t heap;
	uint32_t phase; /* enum gcprof_phase */
	uint32_t reserved;
};

#define NAME_BYTES_MAX 512 /* of a type, function, file or path; longer ones are cut */

struct event_type {
	struct event_header header;
	uint64_t type;
	uint64_t code; /* an address in the file that has the name, where it is not here; else 0 */
	uint32_t name_size; /* bytes without a final zero */
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
};

struct event_followed {
	struct event_header header;
	uint64_t sample; /* as outcomes will name it */
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
	uint16_t call;  /* 1 + number of the system call that it was in, and CPU_CALL_COMPAT if that
			 * is of the 32-bit table; 0: none */
	uint32_t ticks; /* that would have come at the frequency asked for: it stands for them */
	int64_t ran;    /* as in event_ran */
			/* tail: the stack */
};

struct event_ran {
	struct event_header header;
	/* CPU time of the thread since its last record, ns. Two programs may report it at once:
	 * then one of them may be negative, and both add up. */
	int64_t ran;
};

enum syscall_flag {
	SYSCALL_COLLECTOR = 1,  /* made by a thread that was itself collecting */
	SYSCALL_UNFINISHED = 2, /* never returned: the thread ended in it (exit_group) */
	SYSCALL_COMPAT = 4,     /* a 32-bit call: another table of numbers */
	SYSCALL_STACK = 8,      /* the stack was asked for: it took long enough */
};

struct event_syscall {
	struct event_header header; /* time: when it returned */
	struct event_stack stack;
	uint64_t duration; /* ns */
	uint64_t gc_ns;    /* of it, how long a collection of this process was under way */
	int64_t result;    /* as returned: -errno for an error */
	uint64_t args[3];
	uint32_t number;
	uint32_t flags; /* enum syscall_flag */
	uint32_t path_size;
	uint32_t
		stands; /* for so many calls, itself included: 1 / the probability to be recorded */
			/* tail: the path that is an argument, padded to 8 bytes; then the stack */
};

struct event_wait {
	struct event_header header; /* time: of the report, not before it was over */
	struct event_stack stack;
	uint64_t ended;    /* CLOCK_MONOTONIC ns: when the thread was back on a CPU */
	uint64_t duration; /* ns */
	uint64_t held_ns;  /* waits before, of this thread in this call or for this reason, not
			    * reported
			    */
	uint32_t held;     /* so many */
	uint32_t reason;   /* enum wait_reason */
	uint32_t number;   /* of the system call */
	uint32_t flags;    /* enum wait_flag */
	uint64_t queued;   /* ns of `duration` for which it could have run; 0: unknown, too */
	uint32_t waker;    /* thread that ended the wait for a futex; 0: unknown, or another wait */
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
	uint64_t address; /* that was touched */
	/* Faults that it stands for, itself included: without reading, and with. */
	uint64_t minor, major;
	/* tail: the stack */
};

enum usage_flag {
	USAGE_WAITS = 1,   /* the waits are counted */
	USAGE_QUEUED = 2,  /* `queued` is known */
	USAGE_GOES_ON = 4, /* the thread has not ended, nor has the recording */
};

#include "process_events.h"

#ifndef __bpf__
_Static_assert(sizeof(struct event_header) == 32, "contract 2");
_Static_assert(sizeof(struct event_alloc) == 96, "contract 2");
_Static_assert(sizeof(struct event_fate) == 40, "contract 2");
_Static_assert(sizeof(struct event_samples) == 48, "contract 2");
_Static_assert(sizeof(struct event_sample) == 88, "contract 2");
_Static_assert(sizeof(struct event_stacks) == 32, "contract 2");
_Static_assert(sizeof(struct event_pieces) == 48, "contract 2");
_Static_assert(sizeof(struct event_frames) == 48, "contract 2");
_Static_assert(sizeof(struct event_gc_begin) == 72, "contract 2");
_Static_assert(sizeof(struct event_gc_end) == 200, "contract 2");
_Static_assert(sizeof(struct event_gc_summary) == 64, "contract 2");
_Static_assert(sizeof(struct event_phase) == 48, "contract 2");
_Static_assert(sizeof(struct event_type) == 56, "contract 2");
_Static_assert(sizeof(struct event_code) == 48, "contract 2");
_Static_assert(sizeof(struct event_typed) == 48, "contract 2");
_Static_assert(sizeof(struct event_followed) == 40, "contract 2");
_Static_assert(sizeof(struct event_period) == 56, "contract 2");
_Static_assert(sizeof(struct event_mutator) == 48, "contract 2");
_Static_assert(sizeof(struct event_place) == 160, "contract 2");
_Static_assert(sizeof(struct event_freed) == 56, "contract 2");
_Static_assert(sizeof(struct event_gc_cycle) == 104, "contract 2");
_Static_assert(sizeof(struct event_heap_site) == 80, "contract 2");
_Static_assert(sizeof(struct event_runtime) == 48, "contract 2");
_Static_assert(sizeof(struct event_gc_name) == 48, "contract 2");
_Static_assert(sizeof(struct event_bytecode) == 56, "contract 2");
_Static_assert(sizeof(struct event_cpu) == 56, "contract 2");
_Static_assert(sizeof(struct event_ran) == 40, "contract 2");
_Static_assert(sizeof(struct event_syscall) == 104, "contract 2");
_Static_assert(sizeof(struct event_wait) == 96, "contract 2");
_Static_assert(sizeof(struct event_leave) == 40, "contract 2");
_Static_assert(sizeof(struct event_fault) == 64, "contract 2");
_Static_assert(sizeof(struct event_usage) == 160, "contract 2");
_Static_assert(sizeof(struct event_fork) == 64, "contract 2");
_Static_assert(sizeof(struct event_exec) == 40, "contract 2");
_Static_assert(sizeof(struct event_exit) == 40, "contract 2");
_Static_assert(sizeof(struct event_oom) == 32, "contract 2");
_Static_assert(sizeof(struct event_comm) == 48, "contract 2");
_Static_assert(sizeof(struct event_title) == 288, "contract 2");
_Static_assert(sizeof(struct event_mmap) == 80, "contract 2");
_Static_assert(sizeof(struct event_task) == 64, "contract 2");
#endif

#endif
