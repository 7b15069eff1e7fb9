/* SPDX-License-Identifier: BSD-2-Clause */
/* mapped.h: what a process mapped executable: a file, the kernel's page, or code it makes itself.
 */
#ifndef GCPROF_MAPPED_H
#define GCPROF_MAPPED_H

#include <stdbool.h>

#include "../symbolize/frame_names.h"
#include "../world/modules.h"
#include "../../../bpf/events.h"

/*
 * The module of a mapping; 0 if no code runs there. Looks, while the process lives,
 * at what will be needed to name its code. -ENOMEM.
 */
int mapped_module(struct modules *modules, struct frame_names *names, uint64_t process,
		  const struct module_place *place, uint64_t *module);

/* Is it a sign of code made at run time, whose maker has to be looked at while it lives? */
bool mapped_tells_of_code(const struct event_mmap *event, const char *path);

/* What stands for the first address of the mapping in the module. */
uint64_t mapped_offset(struct modules *modules, uint64_t module, const struct event_mmap *event);

#endif
