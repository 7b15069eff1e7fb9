/* SPDX-License-Identifier: BSD-2-Clause */
/* control.h: what programs that run already are asked for: a sampling period, their names. */
/*
 * Programs are reached through the opener, asynchronously: what is asked for is in their
 * memory a moment later. An order reaches only the program that it was meant for, and
 * what another process has changed since is left alone.
 */
#ifndef GCPROF_CONTROL_H
#define GCPROF_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../world/files.h"
#include "../opener/opener.h"
#include "../../../bpf/events.h"

struct control;

/* `files` is borrowed, with its opener. */
int control_create(struct files *files, struct control **out);

/*
 * Looks for the control block (gc/provider/frame.h) in what a process has mapped and
 * asks for a period in bytes (0: the program's own) and a ceiling in samples a
 * second (0: none). Waits. Returns how many blocks there were, or a negative errno.
 */
int control_set(struct control *control, uint32_t proc_pid, uint64_t period, uint64_t ceiling);

/*
 * The same without waiting, unless the process was asked already and still does what it was
 * asked for; of one that executed another program since, that is asked.
 */
void control_keep(struct control *control, uint32_t proc_pid, uint64_t ceiling);

/*
 * No recorder is there: what a program is still asked for was left by a recorder that was killed,
 * and is taken back. Waits. Returns how many blocks that were, or a negative errno.
 */
int control_reclaim(struct files *files, uint32_t proc_pid);

/*
 * Asks a program to report each of its collections unbatched, until control_restore(). Waits.
 * Returns how many collectors were asked, or a negative errno.
 */
int control_singly(struct control *control, uint32_t proc_pid);

/* To be called once the probes are attached: asks again where a program thought that the recorder
 * is gone. NULL is allowed. */
void control_repeat(struct control *control);

/*
 * Announces another consumer to a program, which it cannot see by itself while
 * another one does: so it names its types, functions and threads again. To be
 * called once the probes of the file are attached, which was mapped like this and whose
 * gcprof_arrivals is at `address`. `done` is called as by opener_memory(): without an error if
 * it was announced. A negative errno if it will not be called.
 */
int control_arrive(struct opener *opener, const struct event_mmap *mapping, uint64_t address,
		   opener_done *done, void *context);

/* A block is at `address` in the process, whose file is mapped like this. */
typedef void control_found(void *context, const struct event_mmap *mapping, uint64_t address);

/*
 * Searches all that a process has mapped, as far as its files are known. Those that are not yet
 * are read, and waited for up to the time `until`; 0: they are not. 0 or a negative errno:
 * -ENOENT: it is gone.
 */
int control_search(struct files *files, uint32_t proc_pid, uint64_t until, enum control_block block,
		   control_found *found, void *context);

/* Takes back what was asked for: sets every block back to what it was, unless the program or
 * another process changed it since. Does not wait. */
void control_restore(struct control *control);

/* Restores, waits for that, though not for ever, and frees. NULL is allowed. */
void control_free(struct control *control);

#endif
