/* SPDX-License-Identifier: BSD-2-Clause */
/* control_search.h: finds the blocks of running programs, by their symbols (gc/frame.h). */
#ifndef GCPROF_CONTROL_SEARCH_H
#define GCPROF_CONTROL_SEARCH_H

#include <stdint.h>

#include "../world/files.h"
#include "../../../bpf/events.h"

/* A block is at `address` in the process, whose file is mapped like this. */
typedef void control_found(void *context, const struct event_mmap *mapping, uint64_t address);

/*
 * Searches all that a process has mapped, as far as its files are known. Those that are not yet
 * are read, and waited for up to the time `until`; 0: they are not. 0 or a negative errno:
 * -ENOENT: it is gone.
 */
int control_search(struct files *files, uint32_t proc_pid, uint64_t until, enum control_block block,
		   control_found *found, void *context);

#endif
