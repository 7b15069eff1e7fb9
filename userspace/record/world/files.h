/* SPDX-License-Identifier: BSD-2-Clause */
/* files.h: the files that traced processes have mapped, each opened and read once. */
/*
 * A file is known by its device and inode, as the kernel gives them with a mapping. It stays
 * open as long as it is kept, so that its inode cannot become another file's. Its facts
 * come from a reader process, a moment after it was met.
 *
 * Not thread-safe. Nothing here waits but files_read() and files_settle().
 */
#ifndef GCPROF_FILES_H
#define GCPROF_FILES_H

#include <sys/types.h>

#include "../opener/opener.h"
#include "../../reader/facts.h"
#include "../../../bpf/events.h"

struct files;

enum file_state {
	FILE_READING, /* its facts are on their way */
	FILE_KNOWN,
	FILE_FAILED, /* it was read in vain, or could not be opened: `err` */
};

struct file {
	enum file_state state;
	int err; /* -ESTALE: what has its path is another file; opener.h; -ETIME, -EPIPE: its reader
		    failed */
	int fd;  /* -1: FILE_FAILED */
	int debug_fd; /* what may be its debug file, as its process sees it; -1: none is known */
	dev_t device; /* as stat() calls it */
	ino_t inode;
	uid_t user;
	uint32_t filesystem;      /* as statfs() calls its kind; 0: not known */
	char *path;               /* as it was mapped first */
	struct file_facts facts;  /* of FILE_KNOWN */
	struct probe_site *sites; /* facts.n_sites of them */
};

/* Called for each mapping of a file that is known by now. */
typedef void files_mapped(void *context, const struct file *file, const struct event_mmap *event);

struct files_visitor {
	void *context;
	files_mapped *mapped;
};

/* `opener` is borrowed: it is freed later. -ENOMEM. */
int files_create(struct opener *opener, struct files **out);
void files_free(struct files *files); /* NULL is allowed */

/* What is called from now on; copied. NULL: nothing. */
void files_set_visitor(struct files *files, const struct files_visitor *visitor);

/* Starts the reader before there is a file. */
void files_prepare(struct files *files);

/* A file was mapped. -ENOMEM. */
int files_map(struct files *files, const struct event_mmap *event, const char *path);

/* A file was mapped, and is to be known: no mapping of it is passed on. -ENOMEM. */
int files_meet(struct files *files, const struct event_mmap *event, const char *path);

/* Takes what readers have found. */
void files_turn(struct files *files);

/*
 * Reads a file that is open (borrowed), and waits for that: for the time before the program
 * runs. NULL: there is no memory. Valid until the next call.
 */
const struct file *files_read(struct files *files, const char *path, int fd);

/* Waits until all files are known, for so long at most. */
void files_settle(struct files *files, uint64_t ns);

/* The file of a mapping, NULL if it was not met, or forgotten. Valid until the next call. */
const struct file *files_find(struct files *files, uint32_t major, uint32_t minor, uint64_t inode);

/* When the first file was met that is not known yet, CLOCK_MONOTONIC ns; UINT64_MAX: all are. */
uint64_t files_pending(const struct files *files);

/* Files, and mappings of a file, that were left out because too many came at once. */
uint64_t files_lost(const struct files *files);

/* Who opens the files. */
struct opener *files_opener(const struct files *files);

/* CPU time of the readers, ns. */
uint64_t files_cpu_ns(const struct files *files);

#endif
