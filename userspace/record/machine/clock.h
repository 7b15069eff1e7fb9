/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.h: the time, and how the machine's clocks relate. */
#ifndef GCPROF_CLOCK_H
#define GCPROF_CLOCK_H

#include <stdint.h>

#include "../../profile/record.h"

/* CLOCK_MONOTONIC, ns, as bpf_ktime_get_ns(). */
uint64_t clock_now(void);

/* Reads all clocks between two readings of CLOCK_MONOTONIC; returns the closest of several
 * attempts. */
struct record_clock clock_read(void);

#endif
