/* SPDX-License-Identifier: BSD-2-Clause */
/* others.h: is somebody else recording with gcprof? */
#ifndef GCPROF_OTHERS_H
#define GCPROF_OTHERS_H

#include <stdbool.h>

/* True if another recorder's programs are loaded, before our own are; false also if the kernel does
 * not say (it tells CAP_SYS_ADMIN only). */
bool others_record(void);

#endif
