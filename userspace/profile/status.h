/* SPDX-License-Identifier: BSD-2-Clause */
/* status.h: explains why a profile cannot be read or is incomplete. */
#ifndef GCPROF_STATUS_H
#define GCPROF_STATUS_H

#include "reader.h"

/* Explains an error of profile_reader_open() or source_file_open(), the last in this thread, to the
 * user; never NULL. The text may hold words of the file: it is escaped by whoever prints it. */
const char *profile_error_text(int err);

/* One word: complete, unfinished, torn, damaged, large. */
const char *profile_state_name(enum profile_state state);

/* What is wrong and what it means; NULL for a complete profile. */
const char *profile_state_text(enum profile_state state);

/*
 * Reports that `file` is incomplete, if it is; `bytes` of it were read (0: not said). Returns an
 * exit status: a failure if what is there was not read, because the file is damaged or too large.
 */
int profile_judge(const char *file, enum profile_state state, uint64_t bytes);

#endif
