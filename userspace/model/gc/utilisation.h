/* SPDX-License-Identifier: BSD-2-Clause */
/* utilisation.h: minimum mutator utilisation. */
#ifndef GCPROF_UTILISATION_H
#define GCPROF_UTILISATION_H

#include <stddef.h>
#include <stdint.h>

struct model_gc;

/* A pause of a process, or several that are known only as a sum. */
struct pause {
	uint64_t process, heap, begin, end;
	uint64_t ns;    /* without pauses inside it */
	uint64_t count; /* 0: a stop around other pauses */
	uint64_t thread;
};

/*
 * Fills gc->utilisation for windows of 1, 2, 5, 10 ms ... up to the `duration` of the recording:
 * the minimum over all positions of the window and all processes. Also fills gc->any_ns and
 * gc->overlap. Sorts `pauses` and merges overlapping ones of a process.
 */
void utilisation_fill(struct pause *pauses, size_t count, uint64_t duration, struct model_gc *gc);

#endif
