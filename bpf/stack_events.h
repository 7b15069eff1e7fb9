/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_events.h: contract 2: the stacks in ring records; part of events.h. */
#ifndef GCPROF_STACK_EVENTS_H
#define GCPROF_STACK_EVENTS_H

#ifndef __bpf__
#include <stdint.h>
#endif

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
	STACK_FLAWS = 2047,       /* all of these */
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

#define MANAGED_PLACE 1 /* flag in `address` */

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

#ifndef __bpf__
_Static_assert(sizeof(struct event_stack) == 8, "contract 2");
_Static_assert(sizeof(struct event_native) == 16, "contract 2");
_Static_assert(sizeof(struct event_managed) == 16, "contract 2");
_Static_assert(sizeof(struct event_copy) == 152, "contract 2");
#endif

#endif
