/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_names.h: writes the names of native and kernel frames into a profile. */
#ifndef GCPROF_FRAME_NAMES_H
#define GCPROF_FRAME_NAMES_H

#include "modules.h"
#include "../profile/writer.h"

struct frame_names;

/* Both are borrowed. */
int frame_names_create(struct profile_writer *writer, const struct modules *modules,
		       struct frame_names **out);
void frame_names_free(struct frame_names *names); /* NULL is allowed */

/* Begins to read the kernel's symbols, in a thread: it takes some 60 ms, and nobody waits yet. */
void frame_names_prepare(struct frame_names *names);

/* Names the frames that came since the last call; symbol tables are read once for all calls. */
int frame_names_write(struct frame_names *names);

#endif
