/* SPDX-License-Identifier: BSD-2-Clause */
/* frame.h: memory of a running program that recorders read or write: shadow-stack frames, anchors,
 * names, the control block. */
/*
 * BPF programs and the recorder read these layouts from outside the process, so
 * every field has a fixed width and every offset is asserted. Any collector or
 * interpreter that lays out its frames like this gets managed stacks in its
 * profiles, without code on our side.
 *
 * A thread's frames are a singly linked list on its C stack, innermost first:
 *
 *	anchor.top -> frame -> frame -> ... -> 0
 *
 * The stack grows down, so a caller's frame has a higher address than its
 * callee's: `prev` is greater than the address of the frame that contains it. The
 * exception is functions that were inlined into each other: their frames are in
 * one native frame, in any order. A reader stops at anything else. Because
 * managed frames are on the C stack, a reader interleaves them with native ones
 * by address and needs no list of function names.
 */
#ifndef GCPROF_FRAME_H
#define GCPROF_FRAME_H

#ifndef __bpf__
#include <stddef.h>
#include <stdint.h>
#endif

/* One activation of a function: its roots and its position in the managed stack. */
struct gc_frame {
	uint64_t prev;     /* address of the caller's frame, 0 for the outermost */
	uint32_t code;     /* code id (see gc_code()); 0: roots only, no managed function */
	uint32_t pc;       /* position in the code: a source line, 0 if unknown */
	uint32_t nslots;   /* object references that follow this header */
	uint32_t reserved; /* 0 */
};

/* A thread's anchor, as probes pass it: one word that points to the innermost frame. */
struct gc_anchor {
	uint64_t top; /* address of the innermost struct gc_frame, 0 if there is none */
};

/* The kind of an entry in the name table. */
enum gcprof_name_kind {
	GCPROF_NAME_TYPE = 1,     /* a type, as in `sample` */
	GCPROF_NAME_CODE = 2,     /* a managed function, as in struct gc_frame */
	GCPROF_NAME_PROVIDER = 3, /* the program's provider; `file` is its version */
	GCPROF_NAME_GC = 4,       /* a kind or reason of collections, as in `gc_name` */
};

/* An entry of the name table. */
struct gcprof_name {
	uint64_t id;
	uint64_t name; /* address of a zero-terminated UTF-8 string */
	uint64_t file; /* likewise, a function's source file; 0: none */
	uint32_t line; /* where the function begins, 0: unknown; of a provider: enum gcprof_refusal
			*/
	uint32_t kind; /* enum gcprof_name_kind */
};

/*
 * A chunk of the name table. Chunks and strings are never freed, moved or changed. An entry is
 * complete before `count` includes it, and a chunk before another one points to it.
 */
struct gcprof_names {
	uint64_t next;     /* address of the next chunk, 0: there is none yet */
	uint32_t count;    /* number of struct gcprof_name that follow */
	uint32_t reserved; /* 0 */
};

#define GCPROF_RECORDERS_MAX 8

enum gcprof_request_flags {
	GCPROF_EACH_COLLECTION = 1, /* gc_begin and gc_end of each, no sums */
};

/* The period of a recorder that wants no samples now: it counts only if no other one asks. */
#define GCPROF_NO_SAMPLES (UINT64_C(1) << 40)

/* The request of one recorder. Three fields identify it: once it is gone, another recorder frees
 * the row. */
struct gcprof_request {
	uint32_t recorder;   /* pid; 0: the row is free */
	uint32_t space;      /* inode of its pid namespace */
	uint64_t started;    /* its start time, clock ticks after boot */
	uint64_t generation; /* of its last change */
	uint64_t period;     /* mean bytes between samples: the least counts; 0: the program's own;
				GCPROF_NO_SAMPLES */
	uint64_t ceiling;    /* samples a second and provider: the highest counts; UINT64_MAX: none;
				0: the program's own */
	uint64_t flags;      /* enum gcprof_request_flags */
};

/*
 * The control block, anywhere in the file's initialised data, aligned to 8 bytes. A recorder
 * identifies it by `magic` and `version`. A program that has a control block fires probes only
 * while `recorded` is not 0, because semaphores belong to a file that other processes may have
 * mapped. A recorder
 *
 *	attaches its probes,
 *	fills in a row, adds one to `generation`, and sets `recorded` to the number of rows,
 *	reads the name table; later names arrive through `type` and `code`,
 *
 * and frees its row in the same way when it leaves; the other rows stay in force. Recorders lock
 * /proc/PID/mem with flock(). A program started with GCPROF_RECORD=1 in its environment is recorded
 * until the first recorder has written. A child of fork() inherits the block.
 */
struct gcprof_control {
	uint64_t magic;      /* GCPROF_CONTROL_MAGIC */
	uint32_t version;    /* GCPROF_CONTROL_VERSION */
	uint32_t recorded;   /* rows in use; GCPROF_RECORDED_AT_START: no row was written yet */
	uint64_t generation; /* counts changes of rows; only grows */
	uint64_t names; /* set by the program: address of the first struct gcprof_names, or 0 */
	struct gcprof_request requests[GCPROF_RECORDERS_MAX];
};

#define GCPROF_CONTROL_MAGIC     UINT64_C(0x6c7274636670cb67)
#define GCPROF_CONTROL_VERSION   2
#define GCPROF_RECORDED_AT_START 0x80000000u

#if !defined(__bpf__) && !defined(__cplusplus)
_Static_assert(sizeof(struct gc_frame) == 24, "read by BPF");
_Static_assert(offsetof(struct gc_frame, code) == 8, "read by BPF");
_Static_assert(offsetof(struct gc_frame, pc) == 12, "read by BPF");
_Static_assert(offsetof(struct gc_frame, nslots) == 16, "read by BPF");
_Static_assert(sizeof(struct gc_anchor) == 8, "read by BPF");
_Static_assert(sizeof(struct gcprof_name) == 32, "read by the recorder");
_Static_assert(sizeof(struct gcprof_names) == 16, "read by the recorder");
_Static_assert(sizeof(struct gcprof_request) == 48, "written by the recorder");
_Static_assert(sizeof(struct gcprof_control) == 416, "written by the recorder");
#endif

#endif
