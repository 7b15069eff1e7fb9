/* SPDX-License-Identifier: BSD-2-Clause */
/* probe_site.h: builds the site of a probe. */
/*
 * Every site is in its own function without branches, whose frame is set up when
 * the probe fires. So a tracer that walks frame pointers from the site finds the
 * caller. Without a consumer these functions are not called.
 */
#ifndef GCPROF_PROBE_SITE_H
#define GCPROF_PROBE_SITE_H

#define _SDT_HAS_SEMAPHORES 1
/* Arguments in registers: tracers need not read memory. */
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

/* The probe must be the plain one-byte nop: Linux rewrites a five-byte nop into a call, which
 * overwrites the red zone below the stack pointer. */
#define STRING_(x) #x
#define STRING(x)  STRING_(x)
_Static_assert(sizeof(STRING(_SDT_NOP)) == sizeof("nop"), "sys/sdt.h with another nop");

/* Neither inlined nor cloned: one note for each probe. */
#if defined(__clang__)
#define SITE __attribute__((noinline))
#else
#define SITE __attribute__((noipa))
#endif

/* Using the frame's address makes the compiler set up a frame even where it needs none. */
static inline __attribute__((always_inline)) void keep_frame(void)
{
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
}

#endif
