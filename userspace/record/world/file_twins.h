/* SPDX-License-Identifier: BSD-2-Clause */
/* file_twins.h: files with the same content, which are one module. */
/*
 * An image of a container is one file in each overlay mount. Such files are one module if a hash of
 * their content says so, which the opener computes. Only files that processes of one user brought
 * in are compared: that user may change a file afterwards, or have it read as another one (FUSE).
 */
#ifndef GCPROF_FILE_TWINS_H
#define GCPROF_FILE_TWINS_H

#include "file_table.h"

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
