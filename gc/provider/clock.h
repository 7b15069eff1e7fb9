/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.h: the sampling clock: which allocations are sampled. */
#ifndef GCPROF_PROVIDER_CLOCK_H
#define GCPROF_PROVIDER_CLOCK_H

#include <stdint.h>

struct gcprof_thread;

/* Seeds the thread's random numbers, which differ from those of all other threads. */
void clock_seed(struct gcprof_thread *thread);

/* Reports the thread; `event` is an enum gcprof_thread_event. */
void clock_announce(struct gcprof_thread *thread, uint32_t event);

#endif
