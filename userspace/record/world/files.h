/* SPDX-License-Identifier: BSD-2-Clause */
/* files.h: the registry of files that traced processes have mapped. */
/*
 * A file is identified by device and inode, as the kernel reports them with a mapping; a file whose
 * content changed is another one. Paths and build-ids identify nothing: whoever made the file, or
 * mounted it, chose them. It is opened once and stays open while it is registered, so that
 * its inode cannot be reused. A reader process extracts its facts soon after its first mapping.
 * Other modules refer to it by its id, or by that of its module in the profile. Code in no file has
 * an entry too: the kernel's page, and code that a process generates.
 *
 * The least recently used files are evicted.
 *
 * Not thread-safe except for files_open(). Only files_read() and files_settle() wait.
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

/* Called for each mapping of a file, once the file's facts are known. */
typedef void files_mapped(void *context, struct file *file, const struct event_mmap *event);

/* `opener` is borrowed and must be freed later. -ENOMEM. */
int files_create(struct opener *opener, struct files **out);
void files_free(struct files *files); /* NULL is allowed */

/* Sets the function that is called from now on. NULL: none. */
void files_set_visitor(struct files *files, files_mapped *mapped, void *context);

/* Which runtimes are recorded, as bits by enum runtime_number; initially all. */
void files_choose_runtimes(struct files *files, uint32_t mask);

/* Starts the reader before the first file. */
void files_prepare(struct files *files);

/* A process of this user mapped a file. Returns its id; 0: it is left out. */
uint32_t files_map(struct files *files, const struct event_mmap *event, const char *path,
		   uint32_t user);

/* Takes answers of readers. */
void files_turn(struct files *files);

/*
 * Reads an open file (borrowed) for this user and waits for that; for use before the program runs.
 * NULL: no memory. Valid until the next call.
 */
struct file *files_read(struct files *files, int fd, uint32_t user);

/* Waits until all files are known, at most `ns`. */
void files_settle(struct files *files, uint64_t ns);

/* The file of a mapping; NULL if unknown or evicted. Valid until the next call. */
struct file *files_find(struct files *files, uint32_t major, uint32_t minor, uint64_t inode);

/*
 * The profile's id of the module at a place; 0: no memory. Its file is registered, or there is
 * none. If it is unknown or was evicted, the module refers to no file.
 */
uint64_t files_module(struct files *files, struct profile_writer *writer,
		      const struct module_place *place);

/* The same for code that a process generates. */
uint64_t files_generated(struct files *files, struct profile_writer *writer, uint64_t process,
			 uint32_t user);

/* The process has ended, and with it its code. */
void files_forget_generated(struct files *files, uint64_t process);

/* The file with this id; NULL if it was evicted. Valid until the next call. */
const struct file *files_by_id(struct files *files, uint32_t id);

/* The file of this module; NULL if unknown or evicted. Valid until the next call. */
const struct file *files_by_module(struct files *files, uint64_t module);

/* Opens the file again, for any thread. The caller closes `fd` and frees `path`, also with -ENOENT:
 * the file is not open (yet), or was evicted. */
int files_open(struct files *files, uint32_t id, struct file_opened *out);

/* First mapping of the oldest file that is not known yet, CLOCK_MONOTONIC ns; UINT64_MAX: all are
 * known. */
uint64_t files_pending(const struct files *files);

/* Files, and mappings of a file, left out because too many came at once. */
uint64_t files_lost(const struct files *files);

/* The opener of the files. */
struct opener *files_opener(const struct files *files);

#endif
