/* SPDX-License-Identifier: BSD-2-Clause */
/* file_debug.h: debug files that only the processes of a container see. */
/*
 * Such a file supplies names for all who use the program. So it is looked for only in the root
 * folder of a process of root, of the program's owner or of the recorder's user, and belongs to
 * root or that owner.
 */
#ifndef GCPROF_FILE_DEBUG_H
#define GCPROF_FILE_DEBUG_H

#include "file_table.h"

/* A process mapped the file; its facts are known. The opener is borrowed. */
void file_debug_meet(struct entry *entry, struct opener *opener, const struct opener_who *who);
void file_debug_known(struct entry *entry, struct opener *opener);

#endif
