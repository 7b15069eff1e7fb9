/* SPDX-License-Identifier: BSD-2-Clause */
/* histogram.h: histograms of durations as profiles store them. */
#ifndef GCPROF_HISTOGRAM_H
#define GCPROF_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"
#include "../../profile/cursor.h"

#define HISTOGRAM_BYTES_MAX (SYSCALL_BUCKETS * 2 * VARINT_MAX)

/*
 * Pairs of varints: how much further the bucket is than the previous one, and how
 * many are in it. At most SYSCALL_BUCKETS; `out` has room for HISTOGRAM_BYTES_MAX; returns the
 * bytes used.
 */
size_t histogram_pack(const uint32_t *histogram, uint32_t buckets, uint8_t *out);

#endif
