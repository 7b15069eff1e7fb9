/* SPDX-License-Identifier: BSD-2-Clause */
/* others.h: is somebody else recording with gcprof? */
#ifndef GCPROF_OTHERS_H
#define GCPROF_OTHERS_H

#include <stdbool.h>

/*
 * True if another recorder's programs are loaded, or if the kernel does not say (it tells
 * CAP_SYS_ADMIN only). To be asked once our own are: whoever comes later asks, too.
 */
bool others_may_record(void);

#endif
