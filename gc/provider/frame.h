/* SPDX-License-Identifier: BSD-2-Clause */
/* frame.h: what others may read or write of a running program: shadow-stack frames, anchors, names,
 * the control block. */
/*
 * These layouts are read from outside the process, by BPF programs and by the
 * recorder, so every field has a fixed width and every offset is asserted. A
 * collector or interpreter of another make that keeps its frames like this gets
 * managed stacks in its profiles without a line of code on our side.
 *
 * A thread's frames are a singly linked list on its C stack, innermost first:
 *
 *	anchor.top -> frame -> frame -> ... -> 0
 *
 * The stack grows down, so the frame of a caller lies at a higher address than
 * that of its callee: `prev` is greater than the address of the frame that holds
 * it. The exception are functions that were inlined into each other: their
 * frames lie in one native frame, in any order. A reader that meets anything
 * else stops there. Because managed frames lie on the C stack, a reader
 * interleaves them with the native ones by address and needs no list of function
 * names.
 */
#ifndef GCPROF_FRAME_H
#define GCPROF_FRAME_H

#ifndef __bpf__
#include <stddef.h>
#include <stdint.h>
#endif

/* One activation of a function: its roots, and its place in the managed stack. */
struct gc_frame {
	uint64_t prev;     /* address of the caller's frame, 0 for the outermost */
	uint32_t code;     /* code id (see gc_code()); 0: roots only, no managed function */
	uint32_t pc;       /* position in the code: a source line, 0 if unknown */
	uint32_t nslots;   /* object references that follow this header */
	uint32_t reserved; /* 0 */
};

/* What the probes call a thread's frame anchor: one word that names the innermost frame. */
struct gc_anchor {
	uint64_t top; /* address of the innermost struct gc_frame, 0 if there is none */
};

/* What an entry of the name table names. */
enum gcprof_name_kind {
	GCPROF_NAME_TYPE = 1,     /* a type, as in `sample` */
	GCPROF_NAME_CODE = 2,     /* a managed function, as in struct gc_frame */
	GCPROF_NAME_PROVIDER = 3, /* the program's provider; `file` is its version */
};

/* An entry of the name table. */
struct gcprof_name {
	uint64_t id;
	uint64_t name; /* address of a text, UTF-8, that ends with a zero byte */
	uint64_t file; /* the same, of a function's source file; 0: none */
	uint32_t line; /* where the function begins, 0: unknown */
	uint32_t kind; /* enum gcprof_name_kind */
};

/*
 * A chunk of the name table. Chunks and texts are never freed, moved or changed. An entry is
 * complete before `count` includes it, a chunk before another one points to it.
 */
struct gcprof_names {
	uint64_t next;     /* address of the next chunk, 0: there is none yet */
	uint32_t count;    /* of struct gcprof_name, which follow */
	uint32_t reserved; /* 0 */
};

#define GCPROF_RECORDERS_MAX 8

enum gcprof_request_flags {
	GCPROF_EACH_COLLECTION = 1, /* gc_begin and gc_end of each, no sums */
};

/* What one recorder asks of the program. Three fields say who it is: once it is gone, another
 * recorder frees the row. */
struct gcprof_request {
	uint32_t recorder;   /* pid; 0: the row is free */
	uint32_t space;      /* inode of its pid namespace */
	uint64_t started;    /* when it was started, clock ticks after boot */
	uint64_t generation; /* of its last change: where several ask, the last one has its way */
	uint64_t period;     /* mean bytes between samples; 0: any */
	uint64_t ceiling;    /* samples a second and provider, UINT64_MAX: none; 0: any */
	uint64_t flags;      /* enum gcprof_request_flags */
};

/*
 * The control block, anywhere in the data that the program's file initialises: a recorder knows it
 * by `magic` and `version`, which lie at a multiple of 8. A program that has it fires probes only
 * while `recorded` is not 0: the semaphores are those of a file, which other processes have
 * mapped, too. A recorder
 *
 *	attaches its probes,
 *	fills in a row, adds one to `generation`, and sets `recorded` to the number of rows,
 *	reads the name table: what is added later it gets by `type` and `code`,
 *
 * and frees its row likewise when it leaves. Recorders take turns by flock() of /proc/PID/mem. What
 * is left is what the others ask for. A program that is started with GCPROF_RECORD=1 in its
 * environment is recorded until the first recorder has written. A child of fork() inherits it all.
 */
struct gcprof_control {
	uint64_t magic;      /* GCPROF_CONTROL_MAGIC */
	uint32_t version;    /* GCPROF_CONTROL_VERSION */
	uint32_t recorded;   /* rows in use; GCPROF_RECORDED_AT_START: none was yet */
	uint64_t generation; /* counts changes of rows; only grows */
	uint64_t names;      /* the program's: address of the first struct gcprof_names, or 0 */
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
