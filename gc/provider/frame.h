/* SPDX-License-Identifier: BSD-2-Clause */
/* frame.h: what others may read of a running program: shadow-stack frames, anchors, the control
 * block. */
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

/*
 * The control block: exported by the program as the symbol `gcprof_control`.
 * A recorder that attaches to a running program writes `period` and `ceiling`
 * and then adds one to `generation`; the collector reads them in its slow path.
 * When it leaves, it puts back what was there before. Generation 0: not asked yet,
 * period and ceiling are the program's own.
 */
struct gcprof_control {
	uint64_t magic;      /* GCPROF_CONTROL_MAGIC */
	uint32_t version;    /* GCPROF_CONTROL_VERSION */
	uint32_t generation; /* counts the changes that a recorder made */
	uint64_t period;     /* mean bytes between samples; 0: the program's own default */
	uint64_t ceiling;    /* samples per second and process; 0: none */
};

#define GCPROF_CONTROL_MAGIC   UINT64_C(0x6c7274636670cb67)
#define GCPROF_CONTROL_VERSION 1

/*
 * Exported as the symbol `gcprof_arrivals`, by programs that can tell their names
 * again. The kernel raises a semaphore for the first listener only, and a program that
 * sleeps does not see that it fell and rose again: a profiler that attaches to a program that
 * runs already adds one to `count` once it is attached itself. The program then announces
 * its types, functions and threads as to a newcomer, and reports stacks again.
 */
struct gcprof_arrivals {
	uint64_t magic;   /* GCPROF_ARRIVALS_MAGIC */
	uint32_t version; /* GCPROF_ARRIVALS_VERSION */
	uint32_t count;
};

#define GCPROF_ARRIVALS_MAGIC   UINT64_C(0x6c767272616766cb)
#define GCPROF_ARRIVALS_VERSION 1

/*
 * Exported as the symbol `gcprof_singly`, by programs that report sums of short
 * collections where there are many (`gc_summary`): whoever wants gc_begin and gc_end of
 * each adds one to `count`, and subtracts it when it leaves. A program may set it to 0 when
 * no consumer is attached any more, as when the one that asked was killed: check it again once
 * you are.
 */
struct gcprof_singly {
	uint64_t magic;   /* GCPROF_SINGLY_MAGIC */
	uint32_t version; /* GCPROF_SINGLY_VERSION */
	uint32_t count;
};

#define GCPROF_SINGLY_MAGIC   UINT64_C(0x6c677373676c67cb)
#define GCPROF_SINGLY_VERSION 1

#if !defined(__bpf__) && !defined(__cplusplus)
_Static_assert(sizeof(struct gc_frame) == 24, "read by BPF");
_Static_assert(offsetof(struct gc_frame, code) == 8, "read by BPF");
_Static_assert(offsetof(struct gc_frame, pc) == 12, "read by BPF");
_Static_assert(offsetof(struct gc_frame, nslots) == 16, "read by BPF");
_Static_assert(sizeof(struct gc_anchor) == 8, "read by BPF");
_Static_assert(sizeof(struct gcprof_control) == 32, "read by the recorder");
_Static_assert(sizeof(struct gcprof_arrivals) == 16, "read by the recorder");
_Static_assert(sizeof(struct gcprof_singly) == 16, "read by the recorder");
#endif

#endif
