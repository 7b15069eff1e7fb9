/* SPDX-License-Identifier: BSD-2-Clause */
/* attach.h: attaches the probe program to files in processes, in a separate process. */
/*
 * The kernel puts breakpoints into the memory of the process that a file is attached to, and of no
 * other. They are there from the first instruction on if it executes a program or maps the file
 * later. A forked child has its parent's breakpoints, which report nothing until the file is
 * attached to the child, too.
 *
 * A separate process does the work (attacher.h), one request after the other. While it waits for a
 * program, all other attaching on the machine waits too.
 */
#ifndef GCPROF_ATTACH_H
#define GCPROF_ATTACH_H

#include <stdbool.h>

#include "../world/files.h"
#include "../world/processes.h"
#include "../../util/map.h"
#include "../../reader/probes.h"
#include "stopped.h"

struct bpf_program;
struct attach;

/* Can the kernel attach all locations of a file to a process at once (Linux 6.10)? That determines
 * how the program must be loaded: see attach_prepare(). False if the environment has
 * GCPROF_TEST_PROBES_ONE_BY_ONE. */
bool attach_multi_supported(void);
void attach_prepare(struct bpf_program *program, bool multi);

/* Starts the process. A negative errno. */
int attach_create(bool multi, struct attach **out);

/* After the programs are loaded. Takes the probe program, its map probe_places, its variable
 * links_of, and locked_iterate, which must stay open. A negative errno. */
int attach_begin(struct attach *attach, const struct bpf_program *program, int places,
		 volatile uint16_t *links_of, const struct bpf_program *locked);

/* Programs that replace code with breakpoints are stopped from now on: what the attacher needs to
 * let them go on. The descriptors must stay open. */
void attach_stops(struct attach *attach, const int fds[STOPPED_FDS]);

/* A process to attach to: its index, its pid in /proc here, and its user. */
struct probe_target {
	uint32_t process, pid, user;
	/* Since when it runs without these probes, CLOCK_MONOTONIC ns; UINT64_MAX: it has not
	 * executed its program yet, which will map the file. */
	uint64_t from;
};

/*
 * Starts attaching a file to a process; the file is not evicted until that ends: 1, also if it was
 * started before. 0: it has no probes, or is done. A negative errno with a sentence in *problem if
 * it has probes that cannot be attached; -E2BIG: too many for the remaining room.
 */
int attach_file(struct attach *attach, struct file *file, const struct probe_target *target,
		struct problem *problem);

/* The process must be without breakpoints in this file. */
void attach_leave(struct attach *attach, const struct file *file, uint32_t process);

/* Since when a file is attached to a process, CLOCK_MONOTONIC ns; 0: it is not. */
uint64_t attach_since(const struct attach *attach, const struct file *file, uint32_t process);

/* A child gets what its parent has. A negative errno if it cannot. */
int attach_forked(struct attach *attach, uint32_t parent, const struct probe_target *child);

/* A thread of a process has ended, and the process has not: attaches to another one. */
void attach_thread_ended(struct attach *attach, const struct probe_target *target, uint32_t thread);

/* A process executed a program at `time` (ns): only what was mapped since, or will be, counts. */
void attach_exec(struct attach *attach, uint32_t process, uint64_t time);

/* A process has ended. Since when a file of it waited to be attached, as in its target; UINT64_MAX:
 * none did. */
uint64_t attach_ended(struct attach *attach, uint32_t process);

/* The outcome of a request. */
struct attach_result {
	struct file *file;     /* NULL: its parent's, or probes were removed */
	uint32_t process, pid; /* 0: probes were removed */
	uint64_t from;         /* as in its target */
	/* Sites attached, or a negative errno with a `problem`. -EBUSY: to be tried again, possibly
	 * nothing to worry about; `problem` is then empty, as it is with -ESRCH: the process ended.
	 * -ETIME: not finished yet. */
	int sites;
	struct problem problem;
};

/* Continues all pending work. True: attaching a file has ended, or something takes too long. */
bool attach_turn(struct attach *attach, struct attach_result *out);

/* Is any file being attached, within the allowed time? */
bool attach_is_busy(const struct attach *attach);

/* Attaches a file and waits; for use before the program runs. The number of sites; or a negative
 * errno, with a *problem unless it was reported before. */
int attach_file_now(struct attach *attach, struct file *file, const struct probe_target *target,
		    struct problem *problem);

/* Starts removing the probes of files that are not `used` (file ids, as keys): they report nothing
 * from now on. The number of these files, whose places are free once attach_detaches() returns
 * false; must not be called before that. */
size_t attach_make_room(struct attach *attach, const struct map *used);

/* Is the kernel still removing probes? Takes some 50 ms, if no program keeps its memory map
 * locked. */
bool attach_detaches(const struct attach *attach);

/* When a file that was mapped was attached last, CLOCK_MONOTONIC ns; 0: none. */
uint64_t attach_latest(const struct attach *attach);

/* Locations of one probe attached so far, in all files. */
unsigned attach_sites(const struct attach *attach, enum probe_number probe);

/* Detaches everything and waits for a limited time. Frees no files, but keeps those that wait to be
 * attached until then. NULL is allowed. */
void attach_free(struct attach *attach);

#endif
