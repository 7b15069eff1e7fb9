/* SPDX-License-Identifier: BSD-2-Clause */
/* store_events.h: shared by the files that store events; see store.c. */
#ifndef GCPROF_STORE_EVENTS_H
#define GCPROF_STORE_EVENTS_H

#include <stddef.h>

#include "../../../bpf/events.h"
#include "../../profile/cursor.h"
#include "../../profile/record.h"
#include "../../profile/writer.h"
#include "../../util/buffer.h"
#include "../../util/map.h"
#include "../symbolize/frame_names.h"
#include "../world/files.h"
#include "../world/processes.h"
#include "live_objects.h"
#include "stacks.h"

/* Describes every event and its fields, from events.def. */

/* How a field becomes one of the record. */
enum event_conversion {
	CONVERT_NOT,
	/* A number, by its size. */
	CONVERT_SAME_1 = sizeof(uint8_t),
	CONVERT_SAME_2 = sizeof(uint16_t),
	CONVERT_SAME_4 = sizeof(uint32_t),
	CONVERT_SAME_8 = sizeof(uint64_t),
	CONVERT_SPAN,
	CONVERT_HEAP,
	CONVERT_GC_NAME,
	CONVERT_TEXT,
	/* What is given: no field of the event. */
	CONVERT_THREAD,
	CONVERT_PROCESS,
	CONVERT_STACK,
	CONVERT_QUALITY,
};

struct event_field {
	const char *name;      /* of the field, or of a member of it */
	uint16_t offset, size; /* in the event */
	uint16_t to;           /* offset in struct record */
	uint8_t how;           /* enum event_conversion */
};

struct event_info {
	const char *name;
	enum stream stream;
	enum record_kind record; /* RECORD_none: it becomes none */
	unsigned traits;         /* enum event_trait */
	size_t size;             /* of the fixed part */
	const struct event_field *fields;
	size_t n_fields;
};

/* NULL for an unknown code. */
const struct event_info *event_info(unsigned code);

/* The number in a field of an event. Fields are aligned. */
static inline uint64_t event_number(const struct event_header *event,
				    const struct event_field *field)
{
	const void *at = (const char *)event + field->offset;

	switch (field->size) {
	case sizeof(uint64_t):
		return *(const uint64_t *)at;
	case sizeof(uint32_t):
		return *(const uint32_t *)at;
	case sizeof(uint16_t):
		return *(const uint16_t *)at;
	case sizeof(uint8_t):
		return *(const uint8_t *)at;
	default:
		return 0;
	}
}

/* The native frames of an event that should get names at once, behind its texts and the frames of
 * the kernel. NULL: it has none within its size. */
const struct event_native *event_frames(const struct event_header *event, size_t size);

struct composer;
struct store_agent;

enum { PROGRAMS_NAMED = 3 };

struct store {
	struct profile_writer *writer;
	struct processes *processes;
	struct files *files;
	struct stacks *stacks;
	struct stack_keys *keys;
	struct composer *composer;
	struct live_objects *live;
	struct followed *followed;
	uint64_t samples;      /* number of samples with ids assigned here */
	struct map *left;      /* thread to the index, from 1, of where it left its CPU */
	struct buffer left_at; /* struct departure[]: waits outside of system calls */
	struct map *used;      /* thread: struct event_usage *, if more is to come */
	struct frame_names *names;
	struct long_name {
		uint64_t thread, name; /* the name is a string; 0: none */
	} long_names[64];              /* that threads are about to have, by thread */
	struct own_code *own;          /* NULL: unknown */
	uint64_t own_ticks;
	struct map *left_out; /* struct open_collection: began in a pause, and has not ended */
	struct buffer pauses; /* struct pause[], of the recording; UINT64_MAX: until now */
	bool denied;          /* the viewer may not see addresses of others' memory */
	uint64_t losses[LOSS_MAX];
	uint64_t counts[STREAM_END];
	uint64_t sampled;     /* allocation samples among them */
	uint64_t collections; /* of them, and in sums */
	uint64_t arrived_samples, arrived_gc;
	struct store_agent *agent; /* expected in all programs; NULL: none */
	struct {
		char names[PROGRAMS_NAMED][32]; /* of the files, without their folders */
		size_t count;                   /* one more if there are others */
	} programs;                             /* that were executed */
};

/* An event on its way to the profile. */
struct incoming {
	const struct event_info *info; /* of `header` */
	const struct event_header *header;
	struct process *process;
	uint64_t thread;   /* id */
	struct bytes tail; /* what follows the fixed part */
};

/* The profile's number for something that the provider numbered. */
static inline uint64_t store_number(const struct incoming *in, uint64_t number)
{
	return process_number(in->process, in->header->provider, number);
}

/* unsampled.c: the sampler of the process is on, according to a runtime's places. */
void store_is_sampled(const struct store *store, struct process *process);

/* store_runtime.c: turns the number of a kind or reason of collections into the profile's. Its name
 * is written, if the program has one. */
int store_refer_gc(struct store *store, const struct incoming *in, uint64_t *number);

/* Fills the event's record as far as events.def says, and writes the definitions that this refers
 * to: stacks, strings, names. */
int store_fill(struct store *store, const struct incoming *in, struct record *record);

/*
 * Takes a text of `size` bytes, but at most `max`, from the start of *tail, and skips it and its
 * padding. -EBADMSG if the tail is shorter.
 */
int store_take_text(struct bytes *tail, size_t size, size_t max, struct bytes *out);

uint64_t store_put_string(struct store *store, struct bytes text);

/* Writes the stack after an event; see stacks_put(). */
int store_put_stack(struct store *store, const struct incoming *in,
		    const struct event_stack *counts, struct stored_stack *out);

/* The same on top of a stack written before. */
int store_put_stack_on(struct store *store, const struct incoming *in,
		       const struct stack_base *base, const struct event_stack *counts,
		       struct stored_stack *out);

#define HISTOGRAM_BYTES_MAX (SYSCALL_BUCKETS * 2 * VARINT_MAX)

/*
 * Encodes a histogram as pairs of varints: distance from the previous bucket, and count. At most
 * SYSCALL_BUCKETS pairs; `out` has room for HISTOGRAM_BYTES_MAX. Returns the bytes used.
 */
size_t store_pack_histogram(const uint32_t *histogram, uint32_t buckets, uint8_t *out);

/* unsampled.c: writes that an agent or runtime (`name`, `version`) has no samples of a process. */
int store_put_unsampled(struct store *store, struct process *process, struct bytes name,
			struct bytes version, uint64_t why);

/* Writes it if the process should have loaded the agent by `time` and has not, or its program has
 * ended. */
int store_check_agent(struct store *store, struct process *process, uint64_t time, bool ended);

/* store_system.c: does a mapping indicate generated code, whose process must be identified while it
 * lives? */
bool store_is_generated(const struct event_mmap *event, const char *path);

/* store_stacks.c: data for composing stacks of segments. */
int composer_create(const struct stack_owners *owners, struct composer **out);
void composer_free(struct composer *composer); /* NULL is allowed */

/* The stack of a sample, by its key; its native frames are in the tail. */
int store_put_keyed(struct store *store, const struct incoming *in, struct keyed_stack *out);

typedef int store_function(struct store *store, const struct incoming *in);

/* Fills the record and writes it: all that most events need. */
store_function store_copied;

/* A function store_NAME() for each event that is stored by hand. */
#define COPIED(name)
#define EARLIER(name)
#define BY_HAND(name)                                          store_function store_##name;
#define EVENT(code, name, stream, record, stored, traits, doc) stored(name)
#include "../../../bpf/events.def"
#undef COPIED
#undef EARLIER
#undef BY_HAND

#endif
