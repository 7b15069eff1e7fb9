/* SPDX-License-Identifier: BSD-2-Clause */
/* batch_events.h: batched records of programs; part of events.h. */
#ifndef GCPROF_BATCH_EVENTS_H
#define GCPROF_BATCH_EVENTS_H

struct event_samples {
	struct event_header header;
	uint64_t since; /* when the program started; no sample is earlier; 0: unknown */
	uint32_t count;
	uint32_t words; /* of stacks, after the samples: struct gcprof_stack, segment keys */
	struct gcprof_sample entries[]; /* `count` of them, as written by the program */
};

struct event_stacks {
	struct event_header header; /* time: the first sample's */
	uint64_t words[];           /* to the end of the record */
};

struct event_pieces {
	struct event_header header;
	uint64_t stack; /* key */
	uint32_t count, reserved;
	struct gcprof_piece pieces[]; /* `count` of them, as written by the program */
};

struct event_frames {
	struct event_header header;
	uint64_t stack; /* key */
	uint32_t count;
	uint32_t how;                 /* enum gcprof_stack_how */
	struct gcprof_frame frames[]; /* `count` of them, innermost first */
};

struct event_sample {
	struct event_header header;
	uint64_t since; /* as in event_samples */
	struct gcprof_sample entry;
};

#endif
