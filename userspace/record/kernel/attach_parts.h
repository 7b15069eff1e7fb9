/* SPDX-License-Identifier: BSD-2-Clause */
/* attach_parts.h: private to attach*.c: what is attached. They include attach.h first. */
#ifndef GCPROF_ATTACH_PARTS_H
#define GCPROF_ATTACH_PARTS_H

#include "../../util/buffer.h"
#include "attacher.h"
#include "obstacles.h"
#include "probe_links.h"
#include "probe_places.h"
#include "restore.h"

enum request {
	REQUEST_NONE,
	REQUEST_ATTACH,
	REQUEST_DETACH,
	REQUEST_SETTLE,
	REQUEST_RESTORE,
};

struct attach {
	int program;             /* descriptor */
	struct bpf_link *locked; /* an iterator over programs with locked memory maps */
	bool multi;
	struct worker *attacher;
	enum request request; /* in progress */
	uint32_t current;     /* the link that it attaches */
	struct obstacles obstacles;
	uint64_t deaths;
	uint64_t latest;
	struct probe_places *places;
	struct probe_links *links;
	size_t n_sent;                      /* links to be removed that are in the request */
	uint32_t leaving[PROBE_PLACES_MAX]; /* files to be forgotten, by first place */
	size_t n_leaving;
	struct buffer stopped; /* struct restore_request[] */
	uint32_t restoring;    /* a process */
};

static inline struct probe_link *link_at(const struct attach *attach, uint32_t number)
{
	return probe_links_at(attach->links, number);
}

/* Adds a link that waits. `file`: which is kept meanwhile; or NULL. */
int attach_add_link(struct attach *attach, const struct probe_target *target, uint32_t first,
		    struct file *file);

#endif
