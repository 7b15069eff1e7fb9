/* SPDX-License-Identifier: BSD-2-Clause */
/* histogram.h: histograms of system calls as a profile stores them. */
#ifndef GCPROF_HISTOGRAM_H
#define GCPROF_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "../../bpf/events.h"
#include "../profile/cursor.h"

#define HISTOGRAM_BYTES_MAX (SYSCALL_BUCKETS * 2 * VARINT_MAX)

/* Packs the buckets that are not empty into at most HISTOGRAM_BYTES_MAX bytes; how many it took. */
size_t histogram_pack(const uint32_t histogram[SYSCALL_BUCKETS], uint8_t *out);

#endif
