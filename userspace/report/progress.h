/* SPDX-License-Identifier: BSD-2-Clause */
/* progress.h: shows on a terminal how much of a profile was read. */
#ifndef GCPROF_PROGRESS_H
#define GCPROF_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "../profile/source.h"

/*
 * Opens a profile like source_file_open(). If reading takes longer than half a second and
 * standard error is a terminal, a line there shows the progress until the source is closed.
 * `prints`: the caller writes to standard output meanwhile, so if that is a terminal, too,
 * no line is shown.
 */
int progress_open(const char *path, bool prints, struct source **out);

/*
 * Takes over `inner`, which has `size` bytes; shows progress on the terminal `fd` after
 * `after_ns`. NULL: no memory, and the caller still owns `inner`.
 */
struct source *progress_wrap(struct source *inner, uint64_t size, int fd, uint64_t after_ns);

#endif
