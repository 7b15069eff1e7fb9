/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.h: the time, how the machine's clocks relate, and how long a system call takes. */
#ifndef GCPROF_CLOCK_H
#define GCPROF_CLOCK_H

#include <stdint.h>

#include "../../profile/record.h"

/* CLOCK_MONOTONIC, ns, as bpf_ktime_get_ns(). */
uint64_t clock_now(void);

/* Reads all clocks between two readings of CLOCK_MONOTONIC; returns the closest of several
 * attempts. */
struct record_clock clock_read(void);

/* The time of a system call that does nothing, here and now, ns. Takes 0.1 to 0.5 ms. */
double clock_call_ns(void);

#endif
