/* SPDX-License-Identifier: BSD-2-Clause */
/* setup.h: sets up the BPF object, and loads its programs on several CPUs at once. */
#ifndef GCPROF_SETUP_H
#define GCPROF_SETUP_H

#include <stdbool.h>

#include "../machine/options.h"

/* The streams with a ring, in this order. */
enum session_ring {
	RING_ALLOC,
	RING_GC,
	RING_CPU,
	RING_SYSCALL,
	RING_SCHED,
	RING_PROCESS,
	RING_FAULT,
	RINGS
};

struct bpf_map;
struct gcprof_bpf;

/*
 * Loads the object for these options and number of CPUs. `multi`: all locations of a file are
 * attached at once. 0, or a negative errno; *out is to be destroyed in any case. Not thread-safe.
 */
int setup_load(const struct record_options *options, bool multi, int n_cpus,
	       struct gcprof_bpf **out);

/* The map of a ring, owned by the skeleton. */
struct bpf_map *setup_ring_map(const struct gcprof_bpf *skeleton, enum session_ring ring);

/* Logs libbpf's warnings as LOG_VERBOSE, all else as LOG_DEBUG. */
void setup_messages(void);

#endif
