/* SPDX-License-Identifier: BSD-2-Clause */
/* probe.c: the one site of each probe. */
/*
 * Every site stands in a function of its own without a branch, so that its
 * frame is set up when the probe fires: a tracer that walks frame pointers from
 * the site finds the caller. Without a consumer these functions are not called.
 */
#include "probe.h"

#if !GCPROF_NO_SAMPLING

#define _SDT_HAS_SEMAPHORES 1
/* Arguments in registers: a tracer gets them without reading memory. */
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

/* The probe must be the plain one-byte nop: Linux rewrites the five-byte one into a call, which
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

/* Asking for the frame's address makes the compiler set one up, also where it needs none. */
static inline __attribute__((always_inline)) void keep_frame(void)
{
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
}

#define PROBE(name, tier, since, when) \
	volatile uint16_t gcprof_##name##_semaphore __attribute__((section(".probes"), used));
#define ARG(probe, name, type, unit, meaning)
#define END_PROBE(name, n)
#include "probes.def"
#undef PROBE
#undef ARG
#undef END_PROBE

probe_observer_function probe_observer;

/* `a` has the arguments, in the order of the table. */
#define FIRE(name, n, ...)                                        \
	SITE void probe_fire_##name(const struct probe_##name *a) \
	{                                                         \
		keep_frame();                                     \
		STAP_PROBE##n(gcprof, name, __VA_ARGS__);         \
	}

FIRE(sample, 8, a->sample, a->type, a->size, a->period, a->kind, a->anchor, a->stack, a->address)
FIRE(samples, 4, a->entries, a->count, a->stacks, a->words)
FIRE(pieces, 3, a->stack, a->pieces, a->count)
FIRE(stack, 4, a->stack, a->frames, a->count, a->how)
FIRE(fate, 2, a->entries, a->count)
FIRE(freed, 2, a->address, a->age)
FIRE(followed, 1, a->sample)
FIRE(gc_begin, 6, a->heap, a->cycle, a->kind, a->reason, a->stop, a->time)
FIRE(gc_end, 4, a->heap, a->cycle, a->kind, a->stats)
FIRE(gc_summary, 5, a->heap, a->sums, a->count, a->begin, a->cycles)
FIRE(phase, 2, a->heap, a->phase)
FIRE(type, 2, a->type, a->name)
FIRE(typed, 2, a->sample, a->type)
FIRE(code, 4, a->code, a->name, a->file, a->line)
FIRE(period, 3, a->old_period, a->new_period, a->reason)
FIRE(thread, 3, a->heap, a->anchor, a->event)
FIRE(provider, 2, a->name, a->version)

#endif
