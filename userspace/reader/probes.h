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
	unsigned required; /* of them; the others were added later: older files lack them */
};

extern const struct probe_info probe_table[PROBES];

/* All zero to begin with; probes_free() gives back what probes_find() made. */
struct probes_found {
	struct probe_site *sites; /* in the order of the file's notes, but `sample` last */
	size_t n_sites;
	unsigned count[PROBES];       /* of each probe; 0: none, or one was refused */
	unsigned refused;             /* places that cannot be attached, see *problem */
	struct runtime_facts runtime; /* whose places are among them */
};

/*
 * Reads the notes of the file `fd`, which is not trusted: an ELF file or anything
 * else. A place is good if its instruction is the nop that a probe must be, if
 * its arguments are those of the table and can be read, and if its semaphore
 * lies in the file. One bad place spoils its probe for the file: the sentence
 * about the first is left in *problem. Returns 0, also for a file without
 * probes or one that cannot be read; -ENOMEM.
 */
int probes_find(int fd, struct probes_found *out, struct problem *problem);

void probes_free(struct probes_found *found);

#endif
