/* SPDX-License-Identifier: BSD-2-Clause */
/* libbpf_messages.h: what libbpf says, among gcprof's own messages. */
#ifndef GCPROF_LIBBPF_MESSAGES_H
#define GCPROF_LIBBPF_MESSAGES_H

/* From now on its warnings are LOG_VERBOSE, all else is LOG_DEBUG. */
void libbpf_messages_capture(void);

#endif
