/* SPDX-License-Identifier: BSD-2-Clause */
/* progress.h: how far a profile is read, for a person who waits at a terminal. */
#ifndef GCPROF_PROGRESS_H
#define GCPROF_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "../profile/source.h"

/*
 * Opens a profile as source_file_open() does. If standard error is a terminal, a line there
 * tells how much is read once it takes longer than half a second; it is gone when the source
 * is closed. `prints`: standard output is written to meanwhile, so that nothing is printed if that
 * is a terminal, too.
 */
int progress_open(const char *path, bool prints, struct source **out);

/*
 * Takes over `inner`, which has `size` bytes; tells on `fd`, a terminal, once `after_ns` have
 * gone by. NULL: no memory, and `inner` is as it was.
 */
struct source *progress_wrap(struct source *inner, uint64_t size, int fd, uint64_t after_ns);

#endif
