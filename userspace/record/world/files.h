/* SPDX-License-Identifier: BSD-2-Clause */
/* files.h: the one registry of files that traced processes have mapped. */
/*
 * A file is known by its device and inode, as the kernel gives them with a mapping; one whose
 * content has changed is another file. It is opened once and stays open as long as it is kept, so
 * that its inode cannot become another file's. Its facts come from a reader process, a moment
 * after it was met. Everything else refers to it by its id, or by that of its module in the
 * profile. Code in no file has an entry, too: the kernel's page, and what a process generates.
 *
 * Files that were not needed for the longest time are forgotten, all but that their probes are
 * attached: the kernel keeps the inodes of those.
 *
 * Not thread-safe but for files_open(). Nothing here waits but files_read() and files_settle().
 */
#ifndef GCPROF_FILES_H
#define GCPROF_FILES_H

#include "file.h"
#include "../opener/opener.h"
#include "../../profile/writer.h"
#include "../../util/buffer.h"
#include "../../util/map.h"
#include "../../../bpf/events.h"

struct files;

/* Called for each mapping of a file that is known by now. */
typedef void files_mapped(void *context, struct file *file, const struct event_mmap *event);

/* `opener` is borrowed: it is freed later. -ENOMEM. */
int files_create(struct opener *opener, struct files **out);
void files_free(struct files *files); /* NULL is allowed */

/* What is called from now on. NULL: nothing. */
void files_set_visitor(struct files *files, files_mapped *mapped, void *context);

/* Which runtimes are recorded, bits by enum runtime_number: at first all. */
void files_choose_runtimes(struct files *files, uint32_t mask);

/* Starts the reader before there is a file. */
void files_prepare(struct files *files);

/* A file was mapped. Its id, 0: it will not be known. */
uint32_t files_map(struct files *files, const struct event_mmap *event, const char *path);

/* Takes what readers have found. */
void files_turn(struct files *files);

/*
 * Reads a file that is open (borrowed), and waits for that: for the time before the program
 * runs. NULL: there is no memory. Valid until the next call.
 */
struct file *files_read(struct files *files, int fd);

/* Waits until all files are known, for so long at most. */
void files_settle(struct files *files, uint64_t ns);

/* The file of a mapping, NULL if it was not met, or forgotten. Valid until the next call. */
struct file *files_find(struct files *files, uint32_t major, uint32_t minor, uint64_t inode);

/* Finds the files whose probes are attached and that are not `used` (ids of files, as keys): they
 * count as not attached from now on. Appends the first_place of each (uint32_t). */
void files_detach(struct files *files, const struct map *used, struct buffer *first_places);

/*
 * The id in the profile of the module that a place belongs to; 0: no memory. Its file was met
 * before, or is none. If it is not known (any more), the module leads to no file.
 */
uint64_t files_module(struct files *files, struct profile_writer *writer,
		      const struct module_place *place);

/* The same for the code that a process generates. */
uint64_t files_generated(struct files *files, struct profile_writer *writer, uint64_t process);

/* What has this id, NULL if it was forgotten. Valid until the next call. */
const struct file *files_by_id(struct files *files, uint32_t id);

/* What has this module, NULL if it is not known, or forgotten. Valid until the next call. */
const struct file *files_by_module(struct files *files, uint64_t module);

/* For any thread, which gives back what it gets. Also with
 * -ENOENT: the file is not open (yet), or was forgotten. */
int files_open(struct files *files, uint32_t id, struct file_opened *out);

/* When the first file was met that is not known yet, CLOCK_MONOTONIC ns; UINT64_MAX: all are. */
uint64_t files_pending(const struct files *files);

/* Files, and mappings of a file, that were left out because too many came at once. */
uint64_t files_lost(const struct files *files);

/* Who opens the files. */
struct opener *files_opener(const struct files *files);

#endif
