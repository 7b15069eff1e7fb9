/* SPDX-License-Identifier: BSD-2-Clause */
/* stacks.h: turns the tail of an event into a stack of the profile. */
#ifndef GCPROF_STACKS_H
#define GCPROF_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"
#include "../../symbols/stack_unwind.h"
#include "../world/files.h"
#include "../world/processes.h"

/* The stacks and stack segments behind the keys that programs use. */

struct stack_keys;

/* Tells which processes exist: keys of others are evicted first. */
struct stack_owners {
	bool (*lives)(void *context, uint64_t process);
	void *context;
};

/* Frames reported with a sample. */
struct stack_segment {
	const uint64_t *frames; /* of the profile, outermost first */
	size_t n;
	uint64_t place;   /* identifies these frames; never reused */
	uint32_t quality; /* enum stack_quality */
	bool open;        /* the walk ended in it or before: the frames outside are unknown */
};

/* Holds about `keys` (a power of two) keys in use, and their frames; twice that while the processes
 * live. -ENOMEM. */
int stack_keys_create(const struct stack_owners *owners, size_t keys, size_t frames,
		      struct stack_keys **out);
void stack_keys_free(struct stack_keys *keys); /* NULL is allowed */

/* Sets the segment of a key. The least recently used keys are evicted, so that a program can only
 * make the recorder hold a bounded number. -ENOMEM. */
int stack_keys_set_segment(struct stack_keys *keys, uint64_t process, uint64_t key,
			   const struct stack_segment *segment);

/* False: unknown key. The frames are borrowed until the next call. */
bool stack_keys_get_segment(struct stack_keys *keys, uint64_t process, uint64_t key,
			    struct stack_segment *segment);

/* A complete stack reported with a sample. */
struct keyed_stack {
	uint64_t stack;   /* id in the profile */
	uint64_t quality; /* enum stack_quality */
};

/* The same for keys of stacks, which need a struct stack_keys of their own. */
int stack_keys_set(struct stack_keys *keys, uint64_t process, uint64_t key,
		   const struct keyed_stack *keyed);
bool stack_keys_get(struct stack_keys *keys, uint64_t process, uint64_t key,
		    struct keyed_stack *keyed);

struct stacks;
struct runtime_facts;

/* All are borrowed. */
int stacks_create(struct profile_writer *writer, struct processes *processes, struct files *files,
		  struct stacks **out);
void stacks_free(struct stacks *stacks); /* NULL is allowed */

/* Stacks put after this time (CLOCK_MONOTONIC ns; 0: no limit) do not wait for a reader to unwind
 * their dumps, and have only what was walked before. Returns the previous time. */
uint64_t stacks_walk_until(struct stacks *stacks, uint64_t time);

/* A stack as stored. */
struct stored_stack {
	uint64_t id;      /* 0: an empty stack */
	uint32_t quality; /* enum stack_quality */
	bool dump_short;  /* truncated where its dump ends */
};

/* Properties of a stack that is to be put. */
struct stack_base {
	uint64_t below;   /* a stack written before, under this one; 0: none */
	uint8_t provider; /* of the managed frames */
	bool cut;         /* leave out code in no file, and its callers */
	bool sample;      /* of an allocation: leave out innermost frames of a runtime's own code */
};

/*
 * Writes a stack, outermost frame first: user frames with the managed ones among them, then the
 * kernel's; on top of the stack `base->below`, if any. Unwinds its dump first, if it has one.
 * -EBADMSG if the counts exceed their bounds or the tail's `size` bytes; -ENOMEM.
 */
int stacks_put(struct stacks *stacks, struct process *process, const struct stack_base *base,
	       const struct event_stack *counts, struct bytes tail, struct stored_stack *out);

/* Writes a stack that a provider passed, innermost frame first. 0: no memory. */
uint64_t stacks_put_known(struct stacks *stacks, struct process *process, uint8_t provider,
			  const struct gcprof_frame *frames, size_t n);

/* Receives a segment and its key; the frames are valid during the call. */
typedef int stacks_visit(void *context, uint64_t key, const struct stack_segment *segment);

/*
 * Cuts the stack put last into segments, outermost first, at the limits that the program reported.
 * Visits segments that can be used alone. -EBADMSG if the limits make no sense; -ENOMEM; or what a
 * visit returns if it is not 0.
 */
int stacks_cut(struct stacks *stacks, struct process *process, const struct gcprof_piece *pieces,
	       size_t n, stacks_visit *visit, void *context);

/* The number of innermost frames of a sample's stack in the runtime's own code: they are left out.
 * `places`: their link-time addresses, or encoded functions; 0: in another file. A stack without
 * other frames is left alone: 0. */
size_t stacks_own_frames(const struct runtime_facts *facts, const uint64_t *places, size_t count);

/* Has a reader unwind stack dumps, with the files that were mapped. */

struct stack_dumps;

/* `files` is borrowed. */
int stack_dumps_create(struct files *files, struct stack_dumps **out);
void stack_dumps_free(struct stack_dumps *dumps); /* NULL is allowed */

/*
 * Unwinds a stack of the process, with its current mappings. -EAGAIN: the reader is at work; no
 * other stack may be requested before this call, with the same arguments, has returned 0, or
 * stack_dumps_skip() was called. The result is valid until the next call. A stack on which the
 * reader failed has no frames, and says so.
 */
int stack_dumps_walk(struct stack_dumps *dumps, const struct process *process,
		     const struct event_copy *copy, const void *bytes,
		     const struct stack_walk **out);

/* Cancels the pending stack, which will be stored without frames. NULL is allowed. */
void stack_dumps_skip(struct stack_dumps *dumps);

#endif
