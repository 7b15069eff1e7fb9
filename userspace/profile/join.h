/* SPDX-License-Identifier: BSD-2-Clause */
/* join.h: makes one profile of several. */
/*
 * Inputs may be files of one recording, whose processes and threads are then the same, or of
 * different ones, whose processes are not, whatever their numbers. The clock of the result is that
 * of the input that began first. What was recorded at the same time, by CLOCK_REALTIME, lies at the
 * same time; spans in which no input was recorded are left out.
 *
 * Each input is read twice, as a stream: first for what it is, then for its records.
 */
#ifndef GCPROF_JOIN_H
#define GCPROF_JOIN_H

#include <stdbool.h>

#include "reader.h"
#include "sink.h"

struct join;

/* Opens an input, from its beginning. */
typedef int join_open(void *context, size_t input, struct source **out);

/* `paths` are what the profile says of its inputs; borrowed. -ENOMEM. */
int join_create(const char *const *paths, size_t inputs, join_open *open, void *context,
		struct join **out);
void join_free(struct join *join); /* NULL is allowed */

/*
 * Reads what inputs are. An error of profile_reader_open() or of reading *input; an input that ends
 * within its header is left out (-ENODATA: all are). -EEXIST: *input and *other have a span of one
 * recording both, which would be counted twice.
 */
int join_plan(struct join *join, size_t *input, size_t *other);

/* After join_plan(): what became of an input; false: it is left out. */
bool join_input_state(const struct join *join, size_t input, enum profile_state *state);

size_t join_recordings(const struct join *join);

/* Takes over the sink, also when it fails. A negative errno: of *input, or of the sink, and then
 * *input is the number of inputs. */
int join_write(struct join *join, struct sink *sink, size_t *input);

/* Records of inputs that contradict others and were left out. */
uint64_t join_refused(const struct join *join);

#endif
