/* SPDX-License-Identifier: BSD-2-Clause */
/* probe.h: the probes of probes.def as functions: arguments, consumers, firing. */
/*
 * For every row NAME of the table there are
 *
 *	struct probe_NAME       its arguments, by name
 *	probe_NAME_consumers()  number of consumers: check it before computing arguments
 *	probe_NAME(&arguments)  fires the probe if it has a consumer
 *
 * The kernel counts the consumers of a probe in its semaphore, so a probe without
 * consumers costs one load. In a process that is not recorded probes have no
 * consumers. Each probe has exactly one site, in probe.c.
 */
#ifndef GCPROF_PROBE_H
#define GCPROF_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "probe_numbers.h"

#ifndef GCPROF_NO_SAMPLING
#define GCPROF_NO_SAMPLING 0
#endif

/* Lets tests see the arguments of probes without a tracer; set it before a heap is created. */
typedef void (*probe_observer_function)(enum probe_number probe, const void *arguments);

/* control.c */
extern struct gcprof_control gcprof_control;

#if GCPROF_NO_SAMPLING

#define PROBE(name, tier, since, when)        struct probe_##name {
#define ARG(probe, name, type, unit, meaning) type name;
#define END_PROBE(name, n)                                                    \
	}                                                                     \
	;                                                                     \
	static inline uint32_t probe_##name##_consumers(void)                 \
	{                                                                     \
		return 0;                                                     \
	}                                                                     \
	static inline void probe_##name(const struct probe_##name *arguments) \
	{                                                                     \
		(void)arguments;                                              \
	}

#else

extern probe_observer_function probe_observer;

/* Whether this process is recorded. Semaphores only say that the file is. */
static inline bool probe_recorded(void)
{
	return __atomic_load_n(&gcprof_control.recorded, __ATOMIC_RELAXED) != 0;
}

#define PROBE(name, tier, since, when)                      \
	extern volatile uint16_t gcprof_##name##_semaphore; \
	struct probe_##name {
#define ARG(probe, name, type, unit, meaning) type name;
#define END_PROBE(name, n)                                                    \
	}                                                                     \
	;                                                                     \
	void probe_fire_##name(const struct probe_##name *arguments);         \
	static inline uint32_t probe_##name##_consumers(void)                 \
	{                                                                     \
		return (probe_recorded() ? gcprof_##name##_semaphore : 0) +   \
		       (probe_observer != NULL);                              \
	}                                                                     \
	static inline void probe_##name(const struct probe_##name *arguments) \
	{                                                                     \
		if (gcprof_##name##_semaphore && probe_recorded())            \
			probe_fire_##name(arguments);                         \
		if (probe_observer)                                           \
			probe_observer(PROBE_##name, arguments);              \
	}

#endif

#include "probes.def"
#undef PROBE
#undef ARG
#undef END_PROBE

#endif
