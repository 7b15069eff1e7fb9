/* SPDX-License-Identifier: BSD-2-Clause */
/* texts.h: tells the kernel side where processes have code with breakpoints (bpf/text.bpf.c). */
#ifndef GCPROF_TEXTS_H
#define GCPROF_TEXTS_H

#include "session.h"

/* A file with probes may be mapped anywhere in the process. */
void texts_expect(const struct session *session, uint32_t process);

/* It was mapped. */
void texts_add(const struct session *session, const struct event_mmap *event);

/* A child has its parent's code. */
void texts_inherit(const struct session *session, uint32_t parent, uint32_t child);

/* The process executed another program at `time`; what was mapped before is gone. */
void texts_exec(const struct session *session, uint32_t process, uint64_t time);

/* The process may go on after it was stopped, and stop again. */
void texts_go_on(const struct session *session, uint32_t process);

void texts_forget(const struct session *session, uint32_t process);

#endif
