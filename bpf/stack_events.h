/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_events.h: contract 2, the stacks that records of the rings carry; part of events.h. */
#ifndef GCPROF_STACK_EVENTS_H
#define GCPROF_STACK_EVENTS_H

#ifndef __bpf__
#include <stdint.h>
#endif

/* Why a stack is not whole: bits of event_stack.quality. */
enum stack_quality {
	STACK_USER_FAILED = 1,   /* no user stack although the thread has one */
	STACK_USER_CUT = 2,      /* deeper than STACK_DEPTH_MAX */
	STACK_KERNEL_FAILED = 4, /* no kernel stack although in the kernel */
	STACK_KERNEL_CUT = 8,
	STACK_MANAGED_TORN = 16,  /* a frame could not be read or cannot be its callee's caller */
	STACK_MANAGED_CUT = 32,   /* deeper than MANAGED_DEPTH_MAX */
	STACK_USER_END = 64,      /* no way to go on to a caller, but no proper end either */
	STACK_USER_GUESSED = 128, /* in part by frame pointers, for want of unwind rows */
	STACK_LOST = 256,         /* only a key, and the sample that reported its stack was lost */
	STACK_JAVA_END = 512, /* with STACK_USER_END: the last frame is a Java virtual machine's */
	STACK_JAVA_FROZEN = 1024, /* a virtual thread's outer frames were in the heap */
	STACK_FLAWS = 2047,       /* all of these */
	STACK_COPIED = 0x8000,    /* not a flaw: a struct event_copy follows; not in profiles */
};

#define STACK_DEPTH_MAX   512 /* native frames in user mode; in the kernel its own limit, 127 */
#define MANAGED_DEPTH_MAX 512 /* shadow-stack frames that are read */

/*
 * The tail of a record with a stack, in this order, innermost frame first:
 *	uint64_t kernel[n_kernel];
 *	struct event_native user[n_user];
 *	struct event_managed managed[n_managed];
 *	struct event_copy copy;	with its bytes, if `quality` has STACK_COPIED
 * Frames with code 0 (roots only) are not among the managed ones, but activations of an
 * interpreter are. A managed
 * frame was pushed by the innermost native function whose `frame` lies above its
 * address; it stands between that function and the native functions it calls.
 */
struct event_stack {
	uint16_t n_kernel;
	uint16_t n_user;
	uint16_t n_managed;
	uint16_t quality; /* enum stack_quality */
};

struct event_native {
	uint64_t ip;    /* innermost: the instruction; others: the return address; or hotspot.h */
	uint64_t frame; /* two words below the caller's stack, where a frame pointer would be saved;
			   the function's locals are below; 0 unknown */
};

struct event_managed {
	/* Of the struct gc_frame: where it lies among the native frames. With MANAGED_PLACE: of
	 * what its interpreter's activation has on the stack; 0: as the next one that is not 0. */
	uint64_t address;
	uint32_t code; /* with MANAGED_PLACE the high half of its place (frame_place.h); 0: none */
	uint32_t pc;   /* and the low half */
};

#define MANAGED_PLACE 1 /* in `address` */

enum copy_flag {
	COPY_WALKED = 1,  /* the stack was walked as well: user[] is what was found */
	COPY_BETTER = 2,  /* by frame pointers, where the recorder can do better */
	COPY_COMPARE = 4, /* the user wants to know how the two compare */
};

#define COPY_BYTES_MAX 32768
#define COPY_REGISTERS 17

/* A piece of the user stack, for the recorder to walk. */
struct event_copy {
	uint64_t address; /* of the first byte: a bit below rsp, code without calls uses that */
	uint32_t size;    /* bytes that follow, a multiple of 8; 0 if none could be read */
	uint32_t flags;   /* enum copy_flag */
	/* rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip: as debuggers number them */
	uint64_t registers[COPY_REGISTERS];
};

#ifndef __bpf__
_Static_assert(sizeof(struct event_stack) == 8, "contract 2");
_Static_assert(sizeof(struct event_native) == 16, "contract 2");
_Static_assert(sizeof(struct event_managed) == 16, "contract 2");
_Static_assert(sizeof(struct event_copy) == 152, "contract 2");
#endif

#endif
