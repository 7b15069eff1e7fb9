/* SPDX-License-Identifier: BSD-2-Clause */
/* probe.c: the one site of each probe. */
#include "probe.h"

#if !GCPROF_NO_SAMPLING

#include "probe_site.h"

#define PROBE(name, tier, since, when) \
	volatile uint16_t gcprof_##name##_semaphore __attribute__((section(".probes"), used));
#define ARG(probe, name, type, unit, meaning)
#define END_PROBE(name, n)
#include "probes.def"
#undef PROBE
#undef ARG
#undef END_PROBE

probe_observer_function probe_observer;

/* `a` is the struct of arguments, in the order of the table. */
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
FIRE(gc_begin, 7, a->heap, a->cycle, a->kind, a->reason, a->stop, a->time, a->name)
FIRE(gc_end, 4, a->heap, a->cycle, a->kind, a->stats)
FIRE(gc_summary, 5, a->heap, a->sums, a->count, a->begin, a->cycles)
FIRE(phase, 2, a->heap, a->phase)
FIRE(cycle_begin, 5, a->heap, a->cycle, a->name, a->reason, a->used)
FIRE(cycle_end, 4, a->heap, a->cycle, a->used, a->live)
FIRE(gc_name, 2, a->number, a->name)
FIRE(type, 2, a->type, a->name)
FIRE(typed, 2, a->sample, a->type)
FIRE(code, 4, a->code, a->name, a->file, a->line)
FIRE(period, 3, a->old_period, a->new_period, a->reason)
FIRE(thread, 3, a->heap, a->anchor, a->event)
FIRE(provider, 3, a->name, a->version, a->refused)

#endif
