/* SPDX-License-Identifier: BSD-2-Clause */
/* source_text.h: the text of source files that a profile names. */
/*
 * The recorded program chose the paths, or the author of the profile, and others may get to see the
 * text. So only files that are clearly source code are read, that everybody may read or the
 * program's user owns, and only if they are what the program was made of as far as one can tell:
 * unchanged since the recording began. Ask for files of the host of the recording only.
 */
#ifndef GCPROF_SOURCE_TEXT_H
#define GCPROF_SOURCE_TEXT_H

#include <stdint.h>
#include <sys/types.h>

/*
 * `realtime`: when the recording began, ns since 1970; `user`: who may have named it, (uid_t)-1:
 * unknown. The caller frees the text, which is not made printable; NULL: it is not to be read, or
 * cannot be. Thread-safe.
 */
char *source_text_read(const char *path, uint64_t realtime, uid_t user);

#endif
