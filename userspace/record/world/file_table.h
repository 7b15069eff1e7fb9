/* SPDX-License-Identifier: BSD-2-Clause */
/* file_table.h: the entries of files.c, found by inode or module; the least recently used are
 * evicted. */
/*
 * Code in no file has an entry too: the kernel's page, and code that a process generates. An entry
 * counts for the user whose processes map it, or for no user if there are several; one of whoever
 * has most is evicted.
 */
#ifndef GCPROF_FILE_TABLE_H
#define GCPROF_FILE_TABLE_H

#include <pthread.h>

#include "file.h"
#include "../opener/opener.h"
#include "../../util/buffer.h"
#include "../../util/file_stamp.h"
#include "../../util/map.h"
#include "../../util/quota.h"
#include "../../util/turns.h"

#define KEY_SPECIAL   UINT64_MAX /* instead of a device */
#define KEY_GENERATED (UINT64_MAX - 1)

static inline struct file_key file_key_of(uint32_t major, uint32_t minor, uint64_t inode)
{
	return (struct file_key){(uint64_t)major << 32 | minor, inode};
}

struct files;

struct entry {
	struct turn turn; /* while it waits to be read */
	struct file file;
	struct file_stamp stamp;     /* zero until it is open */
	struct entry *older, *newer; /* ordered by last use */
	struct buffer waiting;       /* struct event_mmap[] */
	struct quota waiters;        /* of these */
	struct files *files;
	struct buffer modules; /* uint64_t[]: the ids that lead to it */
	bool waits_for_debug;  /* a request to the opener is pending */
	bool waits_for_hash;   /* likewise */
	bool is_hashed, is_twin_of_others;
	uint64_t hash[2]; /* of its content */
	uint32_t twin;    /* id of a file that may have the same content; 0: none */
	struct file_twins *twins;
	bool asked_debug;
	struct opener_who who; /* a process that mapped it, of root if there was one; pid 0: none */
	uint64_t met;
};

struct file_table {
	struct map *by_key, *by_module; /* of struct entry * */
	struct entry *oldest, *newest;
	size_t files, files_max;
	size_t entries;
	struct quota shares; /* entries by user */
	size_t checks;       /* of the debug builds */
	uint32_t last_id;
	pthread_mutex_t lock; /* protects by_id, and each fd */
	struct map *by_id;
};

/* The entries of a registry. */
struct file_table *files_table(struct files *files);

/* -ENOMEM; must be freed even so. */
int file_table_init(struct file_table *table, size_t files_max);
void file_table_free(struct file_table *table);

/* NULL: unknown or evicted. */
struct entry *file_table_find(struct file_table *table, const struct file_key *key);
struct entry *file_table_by_id(struct file_table *table, uint32_t id);
struct entry *file_table_by_module(struct file_table *table, uint64_t module);

/* Adds an entry, replacing one with the same key; at first its file cannot be read. NULL: no
 * memory. */
struct entry *file_table_add(struct file_table *table, const struct file_key *key, const char *path,
			     uint32_t user);

/* A process of this user uses it, too. */
void file_table_use(struct file_table *table, struct entry *entry, uint32_t user);

/* Drops an entry. */
void file_table_forget(struct file_table *table, struct entry *entry);

/* The file is open now. Takes over `fd`. */
void file_table_opened(struct file_table *table, struct entry *entry, int fd, uid_t user);

/* As files_open(). */
int file_table_open(struct file_table *table, uint32_t id, struct file_opened *out);

/* The module leads to this entry until it is evicted; if it has many, only the first and the last
 * ones do. One that leads to another entry stays there. Returns its id; 0: no memory. */
uint64_t file_table_add_module(struct file_table *table, struct entry *entry, uint64_t id);

/*
 * Debug files that only the processes of a container see. Such a file supplies names for all who
 * use the program. So it is looked for only in the root folder of a process of root, of the
 * program's owner or of the recorder's user, and belongs to root or that owner.
 */

/* A process mapped the file; its facts are known. The opener is borrowed. */
void file_debug_meet(struct entry *entry, struct opener *opener, const struct opener_who *who);
void file_debug_known(struct entry *entry, struct opener *opener);

/*
 * Twins: files with the same content. An image of a container is one file in each overlay mount.
 * Such files are one module if a hash of their content says so, which the opener computes. Only
 * files that processes of one user brought in are compared: that user may change a file afterwards,
 * or have it read as another one (FUSE).
 */

/* Called once it is known whether the entry has a twin (entry->twin). */
typedef void file_twins_known(void *context, struct entry *entry);

struct file_twins {
	struct file_table *table;
	struct opener *opener;
	file_twins_known *known;
	void *context;
	struct opener_hash seed;
	size_t asked; /* hashes that are pending */
};

/* The entry's facts are known. True if it has to wait: `known` follows. */
bool file_twins_seek(struct file_twins *twins, struct entry *entry);

#endif
