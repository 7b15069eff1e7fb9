/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_profiles.h: has the heap profiles read that runtimes keep themselves. */
/*
 * Twice: of a program that runs already when it is attached to, and of all that go on at the end.
 * A reader reads them out of the memory of the processes. Not thread-safe; nothing waits but
 * heap_profiles_finish().
 */
#ifndef GCPROF_HEAP_PROFILES_H
#define GCPROF_HEAP_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "../world/files.h"
#include "../opener/opener.h"
#include "../../../bpf/events.h"

struct heap_profiles;

/* Receives events `heap_site`. */
typedef void heap_profiles_emit(void *context, const struct event_header *event, size_t size);

/* `opener` is borrowed. -ENOMEM. */
int heap_profiles_create(struct opener *opener, heap_profiles_emit *emit, void *context,
			 struct heap_profiles **out);
void heap_profiles_free(struct heap_profiles *profiles); /* NULL is allowed */

/* A process has mapped a file; `ran`: before the recording began. -ENOMEM. */
int heap_profiles_mapped(struct heap_profiles *profiles, const struct file *file,
			 const struct event_mmap *event, bool ran);

/* The process has ended. */
void heap_profiles_forget(struct heap_profiles *profiles, uint32_t process);

/* Asks for what is to be read, and takes what has come. */
void heap_profiles_turn(struct heap_profiles *profiles);

/* Reads those of all processes that are still there, for so many ns at most. */
void heap_profiles_finish(struct heap_profiles *profiles, uint64_t ns);

#endif
