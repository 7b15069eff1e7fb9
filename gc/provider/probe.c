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

SITE void probe_fire_sample(const struct probe_sample *a)
{
	keep_frame();
	STAP_PROBE8(gcprof, sample, a->sample, a->type, a->size, a->period, a->kind, a->anchor,
		    a->stack, a->address);
}

SITE void probe_fire_samples(const struct probe_samples *a)
{
	keep_frame();
	STAP_PROBE4(gcprof, samples, a->entries, a->count, a->stacks, a->words);
}

SITE void probe_fire_pieces(const struct probe_pieces *a)
{
	keep_frame();
	STAP_PROBE3(gcprof, pieces, a->stack, a->pieces, a->count);
}

SITE void probe_fire_stack(const struct probe_stack *a)
{
	keep_frame();
	STAP_PROBE4(gcprof, stack, a->stack, a->frames, a->count, a->how);
}

SITE void probe_fire_fate(const struct probe_fate *a)
{
	keep_frame();
	STAP_PROBE2(gcprof, fate, a->entries, a->count);
}

SITE void probe_fire_freed(const struct probe_freed *a)
{
	keep_frame();
	STAP_PROBE2(gcprof, freed, a->address, a->age);
}

SITE void probe_fire_followed(const struct probe_followed *a)
{
	keep_frame();
	STAP_PROBE1(gcprof, followed, a->sample);
}

SITE void probe_fire_gc_begin(const struct probe_gc_begin *a)
{
	keep_frame();
	STAP_PROBE6(gcprof, gc_begin, a->heap, a->cycle, a->kind, a->reason, a->stop, a->time);
}

SITE void probe_fire_gc_end(const struct probe_gc_end *a)
{
	keep_frame();
	STAP_PROBE4(gcprof, gc_end, a->heap, a->cycle, a->kind, a->stats);
}

SITE void probe_fire_gc_summary(const struct probe_gc_summary *a)
{
	keep_frame();
	STAP_PROBE5(gcprof, gc_summary, a->heap, a->sums, a->count, a->begin, a->cycles);
}

SITE void probe_fire_phase(const struct probe_phase *a)
{
	keep_frame();
	STAP_PROBE2(gcprof, phase, a->heap, a->phase);
}

SITE void probe_fire_type(const struct probe_type *a)
{
	keep_frame();
	STAP_PROBE2(gcprof, type, a->type, a->name);
}

SITE void probe_fire_typed(const struct probe_typed *a)
{
	keep_frame();
	STAP_PROBE2(gcprof, typed, a->sample, a->type);
}

SITE void probe_fire_code(const struct probe_code *a)
{
	keep_frame();
	STAP_PROBE4(gcprof, code, a->code, a->name, a->file, a->line);
}

SITE void probe_fire_period(const struct probe_period *a)
{
	keep_frame();
	STAP_PROBE3(gcprof, period, a->old_period, a->new_period, a->reason);
}

SITE void probe_fire_thread(const struct probe_thread *a)
{
	keep_frame();
	STAP_PROBE3(gcprof, thread, a->heap, a->anchor, a->event);
}

SITE void probe_fire_provider(const struct probe_provider *a)
{
	keep_frame();
	STAP_PROBE2(gcprof, provider, a->name, a->version);
}

#endif
