/* SPDX-License-Identifier: BSD-2-Clause */
/* attach.h: attaches the probe program to files, each file once. */
/*
 * Probes belong to files, not to processes: one attachment serves every process
 * that maps the file, and the BPF program drops what comes from others than the
 * followed ones.
 */
#ifndef GCPROF_ATTACH_H
#define GCPROF_ATTACH_H

#include <stdbool.h>

#include "probes.h"

struct bpf_program;
struct attach;

/*
 * Can the kernel attach all places of a file at once (Linux 6.6)? That decides
 * how the program has to be loaded: attach_prepare() before. Not if the environment
 * says GCPROF_TEST_PROBES_SINGLY.
 */
bool attach_multi_supported(void);
void attach_prepare(struct bpf_program *program, bool multi);

/* `program` must live as long as this; `places` is the descriptor of its map probe_places. */
int attach_create(struct bpf_program *program, int places, bool multi, struct attach **out);

/*
 * Looks into a file, unless it was looked into before, and attaches to its
 * probes. Returns how many places were attached, 0 also for a file without
 * probes or that cannot be opened, or a negative errno if it has probes that
 * could not be attached. A sentence may be in *problem in any case.
 */
int attach_file(struct attach *attach, const char *path, struct problem *problem);

/* The same for a file that is open, and named `path` in messages. */
int attach_opened(struct attach *attach, int fd, const char *path, struct problem *problem);

/* Since when places of a file that is open are attached, CLOCK_MONOTONIC ns; 0: none are. */
uint64_t attach_since(const struct attach *attach, int fd);

/* The same of the file that was attached last. */
uint64_t attach_latest(const struct attach *attach);

/* Places attached so far, of one probe in all files. */
unsigned attach_sites(const struct attach *attach, enum probe_number probe);

/* Detaches. NULL is allowed. */
void attach_free(struct attach *attach);

#endif
