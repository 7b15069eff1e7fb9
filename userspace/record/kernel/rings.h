/* SPDX-License-Identifier: BSD-2-Clause */
/* rings.h: drains the BPF rings. */
#ifndef GCPROF_RINGS_H
#define GCPROF_RINGS_H

#include "../../../bpf/events.h"
#include "session.h"

struct rings;

/* Receives one record of `size` bytes, valid during the call. */
typedef void rings_visit(void *context, const struct event_header *event, size_t size);

int rings_open(const struct session *session, rings_visit *visit, void *context,
	       struct rings **out);

/*
 * Delivers the rings' contents. 1 if all were emptied; 0 if one kept filling and was left for the
 * next call; or a negative errno.
 */
int rings_drain(struct rings *rings);

/* NULL is allowed. */
void rings_free(struct rings *rings);

#endif
