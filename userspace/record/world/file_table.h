/* SPDX-License-Identifier: BSD-2-Clause */
/* file_table.h: the entries of files.c, found by inode or module; the least recently used are
 * evicted. */
/*
 * Code in no file has an entry too: the kernel's page, and code that a process generates. If files
 * of users other than root take more than half of the room, one of theirs is evicted.
 */
#ifndef GCPROF_FILE_TABLE_H
#define GCPROF_FILE_TABLE_H

#include <pthread.h>

#include "file.h"
#include "../../util/buffer.h"
#include "../../util/file_stamp.h"
#include "../../util/map.h"

#define KEY_SPECIAL   UINT64_MAX /* instead of a device */
#define KEY_GENERATED (UINT64_MAX - 1)

struct entry {
	struct file file;
	struct file_stamp stamp;     /* zero until it is open */
	struct entry *older, *newer; /* ordered by last use */
	struct entry *next;          /* next entry to be read */
	struct buffer waiting;       /* struct event_mmap[] */
	struct files *files;
	bool waits_for_debug; /* a request to the opener is pending */
	uint32_t pid;         /* first process that mapped it */
	uint64_t met;
};

struct file_table {
	struct map *by_key, *by_module; /* of struct entry * */
	struct entry *oldest, *newest;
	size_t files, files_max;
	size_t users; /* number of files that do not belong to root */
	size_t entries;
	uint32_t last_id;
	pthread_mutex_t lock; /* protects by_id, and each fd and user */
	struct map *by_id;
};

/* -ENOMEM; must be freed even so. */
int file_table_init(struct file_table *table, size_t files_max);
void file_table_free(struct file_table *table);

/* NULL: unknown or evicted. */
struct entry *file_table_find(struct file_table *table, const struct file_key *key);
struct entry *file_table_by_id(struct file_table *table, uint32_t id);
struct entry *file_table_by_module(struct file_table *table, uint64_t module);

/* Adds an entry, replacing one with the same key; at first its file cannot be read. NULL: no
 * memory. */
struct entry *file_table_add(struct file_table *table, const struct file_key *key,
			     const char *path);

/* Drops an entry. */
void file_table_forget(struct file_table *table, struct entry *entry);

/* The file is open now. Takes over `fd`. */
void file_table_opened(struct file_table *table, struct entry *entry, int fd, uid_t user);

/* As files_open(). */
int file_table_open(struct file_table *table, uint32_t id, struct file_opened *out);

/* Gives the entry this module. Returns its id; 0: no memory. */
uint64_t file_table_set_module(struct file_table *table, struct entry *entry, uint64_t id);

#endif
