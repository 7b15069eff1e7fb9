/* SPDX-License-Identifier: BSD-2-Clause */
/* histogram.h: encodes histograms of durations for the profile. */
#ifndef GCPROF_HISTOGRAM_H
#define GCPROF_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"
#include "../../profile/cursor.h"

#define HISTOGRAM_BYTES_MAX (SYSCALL_BUCKETS * 2 * VARINT_MAX)

/*
 * Writes pairs of varints: distance from the previous bucket, and count. At most SYSCALL_BUCKETS
 * pairs; `out` has room for HISTOGRAM_BYTES_MAX. Returns the bytes used.
 */
size_t histogram_pack(const uint32_t *histogram, uint32_t buckets, uint8_t *out);

#endif
