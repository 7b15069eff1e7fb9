/* SPDX-License-Identifier: BSD-2-Clause */
/* probes.h: finds the probes of gc/provider/probes.def in an ELF file. */
#ifndef GCPROF_PROBES_H
#define GCPROF_PROBES_H

#include <stddef.h>
#include <stdint.h>

#include "../../bpf/config.h"
#include "../../gc/provider/probe_numbers.h"
#include "../runtimes/runtime.h"
#include "../util/problem.h"
#include "site.h"

struct probe_info {
	const char *name;
	unsigned arguments;
	unsigned required; /* number of required arguments; older files lack the others */
};

extern const struct probe_info probe_table[PROBES];

/* Initialize to zero; probes_free() releases the results of probes_find(). */
struct probes_found {
	struct probe_site *sites; /* in order of the file's notes, but `sample` last */
	size_t n_sites;
	unsigned count[PROBES];       /* sites of each probe; 0: none, or one was refused */
	unsigned refused;             /* sites that cannot be attached, see *problem */
	struct runtime_facts runtime; /* the runtime whose sites are included */
};

/*
 * Reads the notes of the file `fd`, which is untrusted and may be anything. A site is usable if its
 * instruction is the nop of a probe, its arguments match the table and are readable, and its
 * semaphore lies in the file. One unusable site disables its probe for the file; *problem then
 * explains the first. Returns 0, also for a file without probes or an unreadable one; -ENOMEM.
 */
int probes_find(int fd, struct probes_found *out, struct problem *problem);

void probes_free(struct probes_found *found);

#endif
