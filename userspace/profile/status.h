/* SPDX-License-Identifier: BSD-2-Clause */
/* status.h: explains why a profile cannot be read or is incomplete. */
#ifndef GCPROF_STATUS_H
#define GCPROF_STATUS_H

#include "reader.h"

/* Explains an error of profile_reader_open() or source_file_open() to the user; never NULL. */
const char *profile_error_text(int err);

/* One word: complete, unfinished, torn, damaged, large. */
const char *profile_state_name(enum profile_state state);

/* What is wrong and what it means; NULL for a complete profile. */
const char *profile_state_text(enum profile_state state);

#endif
