/* SPDX-License-Identifier: BSD-2-Clause */
/* namer.h: a process of its own that finds names for frames. */
/*
 * Not thread-safe. Nothing here waits but namer_finish(). If the process dies (a
 * file made a library fail), another one takes its place and the module of the
 * frame that it died of gets no names.
 */
#ifndef GCPROF_NAMER_H
#define GCPROF_NAMER_H

#include "namer_protocol.h"

struct namer;

/* Receives the names of a frame, outermost first; none if n is 0. Texts go away afterwards. */
typedef int namer_names(void *context, const struct namer_frame *frame,
			const struct symbol *symbols, size_t n);

/*
 * Starts the process, which reads the kernel's symbols unless it is asked something at
 * once. A negative errno.
 */
int namer_create(namer_names *names, void *context, struct namer **out);
void namer_free(struct namer *namer); /* NULL is allowed */

/* Makes a file known. `fd` is borrowed, or -1; texts are copied. */
int namer_module(struct namer *namer, uint64_t module, const char *path, const void *build_id,
		 size_t build_id_size, int fd);

/* What describes generated code of a process: NAMER_MAP or NAMER_DUMP;
 * NAMER_DEBUG and a module. `fd` is taken over. */
int namer_code(struct namer *namer, enum namer_request_kind kind, uint64_t process, int fd);

/* Asks for the names of a frame. */
int namer_ask(struct namer *namer, const struct namer_frame *frame);

/* Sends what can be sent and takes what has come; what `names` returned if that was not 0. */
int namer_turn(struct namer *namer);

/* The same until every frame has its answer. */
int namer_finish(struct namer *namer);

/* Files that were asked for and could not be read, for whatever reason. */
size_t namer_unread(const struct namer *namer);

/* How often the process died or hung. */
size_t namer_failures(const struct namer *namer);

/* CPU time of the process so far, ns, and of those that died before it. Never less than before. */
uint64_t namer_cpu_ns(const struct namer *namer);

#endif
