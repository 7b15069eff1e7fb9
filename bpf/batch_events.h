/* SPDX-License-Identifier: BSD-2-Clause */
/* batch_events.h: batched records of programs; a part of events.h. */
#ifndef GCPROF_BATCH_EVENTS_H
#define GCPROF_BATCH_EVENTS_H

struct event_samples {
	struct event_header header;
	uint64_t since; /* when the program began, and no sample was before; 0: unknown */
	uint32_t count;
	uint32_t words; /* of stacks, behind the samples: struct gcprof_stack, keys of its pieces */
	struct gcprof_sample entries[]; /* `count` of them, as the program wrote them */
};

struct event_stacks {
	struct event_header header; /* time: the first sample's */
	uint64_t words[];           /* up to the event's end */
};

struct event_pieces {
	struct event_header header;
	uint64_t stack; /* key */
	uint32_t count, reserved;
	struct gcprof_piece pieces[]; /* `count` of them, as the program wrote them */
};

struct event_frames {
	struct event_header header;
	uint64_t stack; /* key */
	uint32_t count;
	uint32_t how;                 /* enum gcprof_stack_how */
	struct gcprof_frame frames[]; /* `count` of them, the innermost first */
};

struct event_sample {
	struct event_header header;
	struct gcprof_sample entry;
};

#endif
