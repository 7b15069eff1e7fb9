/* SPDX-License-Identifier: BSD-2-Clause */
/* file_table.h: the entries of files.c, found by their inode or module, the oldest forgotten. */
/*
 * Code in no file has an entry, too: the kernel's page, and what a process generates. What was not
 * needed for the longest time is forgotten, all but that the probes of a file are attached: the
 * kernel keeps the inodes of those, and there are at most as many as places of probes. If files of
 * users other than root take more than half of the room, one of theirs goes.
 */
#ifndef GCPROF_FILE_TABLE_H
#define GCPROF_FILE_TABLE_H

#include <pthread.h>

#include "file.h"
#include "../../util/buffer.h"
#include "../../util/map.h"

/* What the kernel calls a file. Of code in no file `inode` is its process, or the string that names
 * it. */
struct file_key {
	uint64_t device, inode;
};

#define KEY_SPECIAL   UINT64_MAX /* in the place of a device */
#define KEY_GENERATED (UINT64_MAX - 1)

/* Of a file's content. No user can set when it changed. */
struct file_stamp {
	uint64_t size;
	int64_t seconds;
	uint32_t nanoseconds;
};

struct entry {
	struct file file;
	struct file_key key;
	struct file_stamp stamp;
	struct entry *older, *newer; /* by when it was needed last */
	struct entry *next;          /* that is to be read */
	struct buffer waiting;       /* struct event_mmap[] */
	struct files *files;
	bool waits_for_debug; /* the opener has a request */
	bool forgotten;       /* all but that its probes are attached */
	uint32_t pid;         /* that mapped it first */
	uint64_t met;
};

struct file_table {
	struct map *by_key, *by_module; /* to struct entry * */
	struct entry *oldest, *newest;
	size_t files, files_max;
	size_t users; /* files that do not belong to root */
	size_t entries;
	uint32_t last_id;
	pthread_mutex_t lock; /* of by_id, and of each fd and user */
	struct map *by_id;
};

/* -ENOMEM: to be freed all the same. */
int file_table_init(struct file_table *table, size_t files_max);
void file_table_free(struct file_table *table);

/* NULL: it is not known, or forgotten. */
struct entry *file_table_find(struct file_table *table, const struct file_key *key);
struct entry *file_table_by_id(struct file_table *table, uint32_t id);
struct entry *file_table_by_module(struct file_table *table, uint64_t module);

/* A new entry, in the place of one that had its key, of a file that cannot be read. NULL: there is
 * no memory. */
struct entry *file_table_add(struct file_table *table, const struct file_key *key,
			     const char *path);

/* It is open now. Takes over `fd`. */
void file_table_opened(struct file_table *table, struct entry *entry, int fd, uid_t user);

/* As files_open(). */
int file_table_open(struct file_table *table, uint32_t id, struct file_opened *out);

/* The entry has this module from now on: its id, or 0 if there is no memory. */
uint64_t file_table_set_module(struct file_table *table, struct entry *entry, uint64_t id);

/* What is searched for files that are attached and that no process uses, and what is found. */
struct file_unused {
	const struct map *used;      /* ids of files, as keys */
	uint64_t since;              /* those attached later count as used; ns */
	struct buffer *first_places; /* uint32_t[], of those that are not */
};

/* They count as not attached from now on. */
void file_table_detach(struct file_table *table, struct file_unused *unused);

#endif
