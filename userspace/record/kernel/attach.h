/* SPDX-License-Identifier: BSD-2-Clause */
/* attach.h: attaches the probe program to files, each file once. */
/*
 * There is room for PROBE_PLACES_MAX places, a quarter of it for files of one user but root. Probes
 * belong to files, not to processes: one attachment serves every process that maps the file, and
 * the BPF program drops what comes from others than the followed ones.
 */
#ifndef GCPROF_ATTACH_H
#define GCPROF_ATTACH_H

#include <stdbool.h>

#include "../world/files.h"
#include "../../reader/probes.h"

struct bpf_program;
struct attach;

/*
 * Can the kernel attach all places of a file at once (Linux 6.6)? That decides
 * how the program has to be loaded: attach_prepare() before. Not if the environment
 * says GCPROF_TEST_PROBES_ONE_BY_ONE.
 */
bool attach_multi_supported(void);
void attach_prepare(struct bpf_program *program, bool multi);

/* `program` must live as long as this; `places` is the descriptor of its map probe_places. */
int attach_create(struct bpf_program *program, int places, bool multi, struct attach **out);

/*
 * Attaches to the probes of a file, unless that was done before. Returns how many places
 * were attached, or a negative errno with a sentence in *problem if it has probes that
 * could not be; -E2BIG: there is no room for so many.
 */
int attach_file(struct attach *attach, struct file *file, struct problem *problem);

/*
 * Begins to detach files, by their first_place: their probes report nothing from now on, and the
 * files may be attached anew. Their places are free for others once attach_detaches() says false.
 * Not to be called before that.
 */
void attach_detach(struct attach *attach, const uint32_t *first_places, size_t n);

/* Is the kernel still removing probes? Some 50 ms, if no program keeps its memory map locked. */
bool attach_detaches(struct attach *attach);

/* Since when the file is attached that was attached last, CLOCK_MONOTONIC ns; 0: none is. */
uint64_t attach_latest(const struct attach *attach);

/* Places attached so far, of one probe in all files. */
unsigned attach_sites(const struct attach *attach, enum probe_number probe);

/* Detaches. NULL is allowed. */
void attach_free(struct attach *attach);

#endif
