/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_profiles.h: reads heap profiles that runtimes keep themselves. */
/*
 * Reads them when a running program is attached to, and at the end for all running programs. A
 * reader reads the processes' memory. Not thread-safe; only heap_profiles_finish() waits.
 */
#ifndef GCPROF_HEAP_PROFILES_H
#define GCPROF_HEAP_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "../world/files.h"
#include "../world/processes.h"
#include "../opener/opener.h"
#include "../../../bpf/events.h"

struct heap_profiles;

/* Receives `heap_site` events. */
typedef void heap_profiles_emit(void *context, const struct event_header *event, size_t size);

/* `opener` is borrowed. -ENOMEM. */
int heap_profiles_create(struct opener *opener, heap_profiles_emit *emit, void *context,
			 struct heap_profiles **out);
void heap_profiles_free(struct heap_profiles *profiles); /* NULL is allowed */

/* The process mapped a file. Nothing is read if its user has too many such processes. -ENOMEM. */
int heap_profiles_mapped(struct heap_profiles *profiles, const struct file *file,
			 const struct event_mmap *event, const struct process *process);

/* The process has ended. */
void heap_profiles_forget(struct heap_profiles *profiles, uint32_t process);

/* Sends requests and takes answers. */
void heap_profiles_turn(struct heap_profiles *profiles);

/* Reads the profiles of all running processes, within `ns`. */
void heap_profiles_finish(struct heap_profiles *profiles, uint64_t ns);

#endif
