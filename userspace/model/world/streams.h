/* SPDX-License-Identifier: BSD-2-Clause */
/* streams.h: what was recorded, what was not, and what was lost. */
#ifndef GCPROF_STREAMS_H
#define GCPROF_STREAMS_H

#include <stdbool.h>

#include "../../../bpf/events.h"
#include "../../profile/record.h"
#include "../model.h"

struct stream_state {
	const char *why_not;
	uint64_t why;            /* enum stream_why */
	bool reported, attached; /* from a stream record */
	uint64_t events;
};

struct loss_state {
	const char *name, *text, *one; /* name NULL: no such kind */
	uint32_t stream, severity;
	uint64_t count;
};

struct streams {
	struct stream_state streams[STREAM_END];
	struct loss_state losses[LOSS_MAX];
};

int streams_stream(struct streams *streams, struct arena *arena,
		   const struct record_stream *record);
int streams_loss_kind(struct streams *streams, struct arena *arena,
		      const struct record_loss_kind *record);
int streams_loss(struct streams *streams, const struct record_loss *record);

/* Counts a record in its stream. */
void streams_count(struct streams *streams, const struct record *record);

int streams_finish(const struct streams *streams, struct model *model);

#endif
