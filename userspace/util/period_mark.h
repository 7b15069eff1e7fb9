/* SPDX-License-Identifier: BSD-2-Clause */
/* period_mark.h: the mark of sampling periods that gcprof writes into programs. */
#ifndef GCPROF_PERIOD_MARK_H
#define GCPROF_PERIOD_MARK_H

#include <stdbool.h>
#include <stdint.h>

/* Marks periods that gcprof writes, so that the next recorder recognises those of a killed one. */
#define RUNTIME_MARK_STEP 64

static inline uint64_t runtime_mark(uint64_t period)
{
	return period / RUNTIME_MARK_STEP * RUNTIME_MARK_STEP + 1;
}

static inline bool runtime_is_marked(uint64_t period)
{
	return period > RUNTIME_MARK_STEP && period % RUNTIME_MARK_STEP == 1;
}

#endif
