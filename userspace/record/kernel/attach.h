/* SPDX-License-Identifier: BSD-2-Clause */
/* attach.h: attaches the probe program to files, each file once, in a separate process. */
/*
 * There are PROBE_PLACES_MAX probe locations; the files of one user other than root may take a
 * quarter. Probes belong to files, not processes: one attachment serves every process that maps the
 * file, and the BPF program drops firings of untraced processes.
 *
 * A separate process does the work (attacher.h), one file after the other. While it waits for a
 * program, all other attaching and detaching on the machine waits too.
 */
#ifndef GCPROF_ATTACH_H
#define GCPROF_ATTACH_H

#include <stdbool.h>

#include "../world/files.h"
#include "../../reader/probes.h"

struct bpf_program;
struct attach;

/* Can the kernel attach all locations of a file at once (Linux 6.6)? That determines how the
 * program must be loaded: see attach_prepare(). False if the environment has
 * GCPROF_TEST_PROBES_ONE_BY_ONE. */
bool attach_multi_supported(void);
void attach_prepare(struct bpf_program *program, bool multi);

/* Starts the process. A negative errno. */
int attach_create(bool multi, struct attach **out);

/* After the programs are loaded. Takes the probe program, its map probe_places, and locked_iterate,
 * which must stay open. A negative errno. */
int attach_begin(struct attach *attach, const struct bpf_program *program, int places,
		 const struct bpf_program *locked);

/*
 * Starts attaching a file, which is not evicted until that ends: 1, also if it was started before.
 * 0: it has no probes, or is done. A negative errno with a sentence in *problem if it has probes
 * that cannot be attached; -E2BIG: too many for the remaining room.
 */
int attach_file(struct attach *attach, struct file *file, struct problem *problem);

/* The outcome of a request. */
struct attach_result {
	struct file *file; /* NULL: probes were removed */
	/* Sites attached, or a negative errno with a `problem`. -EBUSY: to be tried again, possibly
	 * nothing to worry about; `problem` is then empty. -ETIME: not finished yet. */
	int sites;
	struct problem problem;
};

/* Continues all pending work. True: attaching a file has ended, or something takes too long. */
bool attach_turn(struct attach *attach, struct attach_result *out);

/* Is any file being attached, within the allowed time? */
bool attach_is_busy(const struct attach *attach);

/* Attaches a file and waits; for use before the program runs. The number of sites; or a negative
 * errno, with a *problem unless it was reported before. */
int attach_file_now(struct attach *attach, struct file *file, struct problem *problem);

/*
 * Starts detaching files, by their first_place: their probes report nothing from now on, and the
 * files may be attached anew. Their locations are free once attach_detaches() returns false. Must
 * not be called before that.
 */
void attach_detach(struct attach *attach, const uint32_t *first_places, size_t n);

/* Is the kernel still removing probes? Takes some 50 ms, if no program keeps its memory map
 * locked. */
bool attach_detaches(const struct attach *attach);

/* When the file attached last was attached, CLOCK_MONOTONIC ns; 0: none. */
uint64_t attach_latest(const struct attach *attach);

/* Locations of one probe attached so far, in all files. */
unsigned attach_sites(const struct attach *attach, enum probe_number probe);

/* Detaches everything and waits for a limited time. Files may be freed before. NULL is allowed. */
void attach_free(struct attach *attach);

#endif
