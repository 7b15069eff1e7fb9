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

#include "../gc/provider/frame.h"
#include "../gc/provider/probe_args.h"
#include "syscall_totals.h"
#include "wait_events.h"

/* --- stacks --- */

/* Why a stack is incomplete: bits of event_stack.quality. */
enum stack_quality {
	STACK_USER_FAILED = 1,   /* no user stack although the thread has one */
	STACK_USER_CUT = 2,      /* deeper than STACK_DEPTH_MAX */
	STACK_KERNEL_FAILED = 4, /* no kernel stack although the thread is in the kernel */
	STACK_KERNEL_CUT = 8,
	STACK_MANAGED_TORN = 16,  /* a frame was unreadable, or cannot be its callee's caller */
	STACK_MANAGED_CUT = 32,   /* deeper than MANAGED_DEPTH_MAX */
	STACK_USER_END = 64,      /* the caller was not found, and this is no proper end */
	STACK_USER_GUESSED = 128, /* partly by frame pointers, for lack of unwind rows */
	STACK_LOST = 256,         /* has only a key whose stack was lost */
	STACK_JAVA_END = 512, /* with STACK_USER_END: the last frame is a Java virtual machine's */
	STACK_JAVA_FROZEN = 1024, /* a virtual thread's outer frames were in the heap */
	STACK_NARROW = 2048,      /* of a 32-bit program: only frame pointers were followed */
	STACK_FLAWS = 4095,       /* all of these */
	STACK_COPIED = 0x8000,    /* not a flaw: a struct event_copy follows; never in profiles */
};

#define STACK_DEPTH_MAX   512 /* native user frames; the kernel's own limit is 127 */
#define MANAGED_DEPTH_MAX 512 /* shadow-stack frames read */

/*
 * The tail of a record with a stack, in this order, innermost frame first:
 *	uint64_t kernel[n_kernel];
 *	struct event_native user[n_user];
 *	struct event_managed managed[n_managed];
 *	struct event_copy copy;	and its bytes, if `quality` has STACK_COPIED
 * Frames with code 0 (roots only) are left out of `managed`; activations of an interpreter are
 * included. A managed frame was pushed by the innermost native function whose `frame` lies above
 * its address. It stands between that function and the native functions called by it.
 */
struct event_stack {
	uint16_t n_kernel;
	uint16_t n_user;
	uint16_t n_managed;
	uint16_t quality; /* enum stack_quality */
};

struct event_native {
	uint64_t ip;    /* innermost: the instruction; others: return address, or one byte behind
			   the instruction where a signal or switch left it; or see hotspot.h */
	uint64_t frame; /* CFA - 16, where a frame pointer is saved; locals lie below; 0: unknown */
};

struct event_managed {
	/*
	 * Address of the struct gc_frame, which places it among the native frames. With
	 * MANAGED_PLACE: address of the activation on the C stack; 0: that of the next frame whose
	 * address is not 0.
	 */
	uint64_t address;
	uint32_t code; /* with MANAGED_PLACE: high half of a frame place (frame_place.h) */
	uint32_t pc;   /* with MANAGED_PLACE: low half */
};

/*
 * Flags in `address`. Compiled code may go on with the activation of the next frame, so repeats of
 * that say nothing.
 */
#define MANAGED_PLACE    1
#define MANAGED_COMPILED 2
#define MANAGED_FLAGS    3

enum copy_flag {
	COPY_WALKED =
		1, /* user[] has a stack walked by frame pointers; the recorder may do better */
};

#define COPY_BYTES_MAX 32768
#define COPY_REGISTERS 17

/* A stack dump, for the recorder to unwind. */
struct event_copy {
	uint64_t address; /* of the first byte, below rsp: leaf functions use the red zone */
	uint32_t size;    /* bytes that follow, a multiple of 8; 0: none could be read */
	uint32_t flags;   /* enum copy_flag */
	/* rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip: in DWARF order */
	uint64_t registers[COPY_REGISTERS];
};

enum stream {
#define STREAM(code, name, string, option, doc) STREAM_##name = code,
#include "streams.def"
#undef STREAM
	STREAM_END
};

enum loss {
#define LOSS(code, name, stream, severity, unit, remedy, doc) LOSS_##name = code,
#include "loss.def"
#undef LOSS
};

enum unsampled {
#define UNSAMPLED(code, name, doc) UNSAMPLED_##name = code,
#include "unsampled.def"
#undef UNSAMPLED
};

#define LOSS_KERNEL_MAX 64 /* smaller codes are counted in BPF */
#define LOSS_MAX        128

enum event_kind {
#define EVENT(code, name, stream, record, stored, traits, doc) EVENT_##name = code,
#include "events.def"
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

enum event_trait {
	TRAIT_PROCESS = 1, /* concerns only the process: does not create a thread */
	TRAIT_SERVES = 2,  /* names things or completes others: not counted where it is stored */
	TRAIT_PAUSES = 4,  /* not stored if the recording was paused at its time */
	TRAIT_STACK = 8,   /* it has native frames, which should get names at once */
};

#define NAME_BYTES_MAX 512  /* of a type, function, file or path; longer names are cut */
#define PATH_BYTES_MAX 4096 /* as stored */
#define COMM_BYTES     16   /* in the kernel, with the final zero */
#define TITLE_SIZE     248

#define PLACE_VALUES 14
#define PLACE_TEXTS  2

#define GC_NAMES_FIRST \
	GCPROF_GC_NAMES_FIRST /* smaller numbers: enums of gc/provider/probe_args.h */

enum heap_area_flag {
	HEAP_AREA_BEFORE = 1, /* `before` is known */
	HEAP_AREA_AFTER = 2,  /* `after` is known */
	HEAP_AREA_CYCLE = 4,  /* of a gc_cycle, else of a gc_end */
	HEAP_AREA_BESIDE = 8, /* not part of the heap, nor of its sums */
};

#define BYTECODE_TEXT_MAX  512   /* bytes of a name or file; longer ones are cut */
#define BYTECODE_TABLE_MAX 16384 /* bytes of a line table; instructions beyond have no lines */

/* Those of PyPy are not reported: their names are in its memory. */
enum bytecode_runtime { BYTECODE_PYTHON, BYTECODE_V8, BYTECODE_RUBY, BYTECODE_PYPY };

enum cpu_mode { CPU_MODE_USER = 1, CPU_MODE_KERNEL = 2 };

#define CPU_CALL_COMPAT 0x8000

enum syscall_flag {
	SYSCALL_COLLECTOR = 1,  /* by a thread that was collecting */
	SYSCALL_UNFINISHED = 2, /* never returned: the thread ended in the call (exit_group) */
	SYSCALL_COMPAT = 4,     /* 32-bit call, with its own numbers */
	SYSCALL_STACK = 8,      /* the call was long enough to take its stack */
};

enum usage_flag {
	USAGE_WAITS = 1,      /* waits were counted */
	USAGE_QUEUED = 2,     /* `queued` is known */
	USAGE_GOES_ON = 4,    /* neither the thread nor the recording has ended */
	USAGE_WAITS_PART = 8, /* waits were not traced all the time */
};

enum fork_kind {
	FORK_THREAD = 1,
	FORK_PROCESS = 2,
	FORK_SHARING = 3, /* a process that shares its parent's memory (CLONE_VM), not only until it
			   * executes a program (vfork) */
};

enum gc_part {
#define PART(NAME, name, words) GC_##NAME,
#include "gc_parts.def"
#undef PART
	GC_PARTS /* their number, or none of them */
};

/* gc_cycle.growth, if there is no bound. */
#define GC_GROWTH_NO_BOUND UINT32_MAX

/* What makes a collector collect: part of profiles. */
enum gc_pacing {
	GC_PACING_FIXED,   /* a nursery or old generation of a size that does not depend on it */
	GC_PACING_LIVE,    /* bytes were allocated in proportion to what is alive: see gc_cycle */
	GC_PACING_GROWTH,  /* a quarter as many objects are new as are alive */
	GC_PACING_SHRINKS, /* its nursery is full, which is the smaller the less survives */
	GC_PACINGS
};

/* struct event_alloc, struct event_fate ... */
#define EVENT(code, name, stream, record, stored, traits, doc) \
	struct event_##name {                                  \
		struct event_header header;
#define FIELD(event, type, field)        type field;
#define ARRAY(event, type, field, count) type field[count];
#define ENTRIES(event, type, field)      type field[];
#define END_EVENT(name) \
	}               \
	;
#include "events.def"

#ifndef __bpf__
_Static_assert(sizeof(struct event_header) == 32, "contract 2");
_Static_assert(sizeof(struct event_stack) == 8, "contract 2");
_Static_assert(sizeof(struct event_native) == 16, "contract 2");
_Static_assert(sizeof(struct event_managed) == 16, "contract 2");
_Static_assert(sizeof(struct event_copy) == 152, "contract 2");
/* No field is where a compiler chose to put it. */
#define EVENT(code, name, stream, record, stored, traits, doc) \
	enum { BYTES_##name = sizeof(struct event_header)
#define FIELD(event, type, field)        +sizeof(type)
#define ARRAY(event, type, field, count) +(count) * sizeof(type)
#define END_EVENT(name)                                                                 \
	}                                                                               \
	;                                                                               \
	_Static_assert(sizeof(struct event_##name) == BYTES_##name, "without padding"); \
	_Static_assert(BYTES_##name % 8 == 0, "contract 2");
#include "events.def"
#endif

#endif
