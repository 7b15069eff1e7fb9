/* SPDX-License-Identifier: BSD-2-Clause */
/* join.h: merges several profiles into one. */
/*
 * Inputs may be files of one recording, which share processes and threads, or of different ones,
 * which never do, even if numbers are equal. The result has the clock of the input that began
 * first. The other inputs are aligned with it by CLOCK_REALTIME; spans in which no input was
 * recorded are left out.
 *
 * Each input is read twice, as a stream: first for its summary, then for its records.
 */
#ifndef GCPROF_JOIN_H
#define GCPROF_JOIN_H

#include <stdbool.h>

#include "reader.h"
#include "sink.h"

struct join;

/* Opens an input at its beginning; 0 or a negative errno. */
typedef int join_open(void *context, size_t input, struct source **out);

/* `paths`: names of the inputs in the result; borrowed. -ENOMEM. */
int join_create(const char *const *paths, size_t inputs, join_open *open, void *context,
		struct join **out);
void join_free(struct join *join); /* NULL is allowed */

/*
 * Reads the summaries of the inputs. An input that ends within its header is left out. Errors:
 * those of opening or reading *input; -EEXIST: *input and *other have the same span of a recording.
 */
int join_plan(struct join *join, size_t *input, size_t *other);

/* After join_plan(): the state of an input; false: it is left out. */
bool join_input_state(const struct join *join, size_t input, enum profile_state *state);

size_t join_recordings(const struct join *join);

/* Takes over the sink, even on failure. A negative errno of *input, or of the sink; *input is then
 * the number of inputs. */
int join_write(struct join *join, struct sink *sink, size_t *input);

#endif
