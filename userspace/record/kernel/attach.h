/* SPDX-License-Identifier: BSD-2-Clause */
/* attach.h: attaches the probe program to files, each file once, in a process apart. */
/*
 * There is room for PROBE_PLACES_MAX places, a quarter of it for files of one user but root. Probes
 * belong to files, not to processes: one attachment serves every process that maps the file, and
 * the BPF program drops what comes from others than the followed ones.
 *
 * A process apart does the work (attacher.h), one file after the other. Where that waits for a
 * program all other attaching and detaching on the machine does, too.
 */
#ifndef GCPROF_ATTACH_H
#define GCPROF_ATTACH_H

#include <stdbool.h>

#include "../world/files.h"
#include "../../reader/probes.h"

struct bpf_program;
struct attach;

/* Can the kernel attach all places of a file at once (Linux 6.6)? That decides
 * how the program has to be loaded: attach_prepare() before. Not if the environment
 * says GCPROF_TEST_PROBES_ONE_BY_ONE. */
bool attach_multi_supported(void);
void attach_prepare(struct bpf_program *program, bool multi);

/* Starts the process that will do it. A negative errno. */
int attach_create(bool multi, struct attach **out);

/* Once the programs are loaded: the one for probes, its map probe_places, and locked_iterate. They
 * must stay open. A negative errno. */
int attach_begin(struct attach *attach, const struct bpf_program *program, int places,
		 const struct bpf_program *locked);

/*
 * Begins to attach to the probes of a file, which is not forgotten until that has ended: 1, also
 * if it has begun before. 0: it has none, or that was done. A negative errno with a sentence in
 * *problem if it has probes that cannot be attached; -E2BIG: there is no room for so many.
 */
int attach_file(struct attach *attach, struct file *file, struct problem *problem);

/* What came of it. */
struct attach_result {
	struct file *file; /* NULL: of removing probes */
	/* Or a negative errno, and `problem` says why. -EBUSY: it may be tried again, as there may
	 * be no reason to worry: then `problem` is empty. -ETIME: it has not ended yet. */
	int sites;
	struct problem problem;
};

/* Goes on with all that waits. True: the attaching of a file has ended, or something takes too
 * long. */
bool attach_turn(struct attach *attach, struct attach_result *out);

/* Is any file being attached, for no longer than it may take? */
bool attach_is_busy(const struct attach *attach);

/* For the time before the program runs: attaches to a file, and waits for that. How many sites
 * there are; or a negative errno, and *problem says why, if that was not said before. */
int attach_file_now(struct attach *attach, struct file *file, struct problem *problem);

/*
 * Begins to detach files, by their first_place: their probes report nothing from now on, and the
 * files may be attached anew. Their places are free for others once attach_detaches() says false.
 * Not to be called before that.
 */
void attach_detach(struct attach *attach, const uint32_t *first_places, size_t n);

/* Is the kernel still removing probes? Some 50 ms, if no program keeps its memory map locked. */
bool attach_detaches(const struct attach *attach);

/* Since when the file is attached that was attached last, CLOCK_MONOTONIC ns; 0: none is. */
uint64_t attach_latest(const struct attach *attach);

/* Places attached so far, of one probe in all files. */
unsigned attach_sites(const struct attach *attach, enum probe_number probe);

/* Detaches all, and waits for that for a while. Files may be gone. NULL is allowed. */
void attach_free(struct attach *attach);

#endif
