/* SPDX-License-Identifier: BSD-2-Clause */
/* provider.h: public API of libgcprof-provider: how a runtime or an allocator reports to gcprof. */
/*
 * A runtime opens one provider for each of its heaps, attaches each thread that
 * allocates, gives types and functions names, and reports
 *
 *	allocations	with gcprof_alloc(), or with the sampling clock below it
 *	outcomes	what became of objects that were sampled
 *	collections	begin, end and phases
 *
 * The library decides which allocations are sampled and which events go to a
 * profiler at once, together, or as sums. While no profiler is attached nothing
 * is sampled or reported.
 *
 * It allocates no object and knows none: what it is given are sizes and numbers.
 * All sizes are in bytes, all times CLOCK_MONOTONIC in nanoseconds. Functions
 * that can fail return 0 or a negative errno and leave a sentence in
 * gcprof_error(). Strings are copied. Unless said otherwise any thread may call
 * a function that takes a provider, and a function that takes a thread is called
 * by that thread only. None may be called in a signal handler.
 *
 * fork() is seen to: in the child the other threads are detached, and what they
 * and the parent have not reported yet belongs to the parent.
 */
#ifndef GCPROF_PROVIDER_H
#define GCPROF_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "probe_args.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct gcprof_provider; /* one heap or allocator that reports */
struct gcprof_thread;   /* one of its threads; begins with struct gcprof_thread_head */

/* --- life ------------------------------------------------------------------------------ */

/* gcprof_options.fixed_stride */
enum { GCPROF_STRIDE_EXPONENTIAL, GCPROF_STRIDE_FIXED, GCPROF_STRIDE_EVERY };

/* Start from gcprof_options_default(); a zero field means its default. */
struct gcprof_options {
	uint64_t period;        /* mean bytes between samples; default 512 KiB, GCPROF_PERIOD */
	uint64_t ceiling;       /* samples a second before the period rises; default 2000,
				   UINT64_MAX: none; GCPROF_CEILING (there 0: none) */
	uint64_t gc_ceiling;    /* collections a second that are reported alone, if they are short;
				   default 100, UINT64_MAX: all; GCPROF_GC_CEILING (there 0: all) */
	uint64_t seed;          /* of the sampling clock; 0: from the system, GCPROF_SEED */
	uint32_t fixed_stride;  /* a sample every `period` bytes, or every object;
				   GCPROF_STRIDE=fixed, =every */
	uint32_t no_batching;   /* 1: every sample and collection fires probes of its own;
				 GCPROF_BATCH=0 */
	uint32_t always_sample; /* 1: sample although no profiler is attached (tests) */
	uint32_t reserved;      /* 0 */
	const char *name;       /* what reports call the runtime or allocator, "cpython" */
	const char *version;    /* its version, "3.11.2" */
};

/* Fills in the defaults, then what the environment says. -EINVAL if a variable makes no sense. */
int gcprof_options_default(struct gcprof_options *out);

/* The reason of this thread's last failed call, a sentence. Never NULL. */
const char *gcprof_error(void);

/* Sets that sentence, 255 bytes at most, and returns `result`: also for a runtime's own failures.
 */
int gcprof_error_set(int result, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `options` may be NULL for the defaults and the environment. The provider belongs to the caller.
 * -EINVAL for options out of range, -ENOMEM. */
int gcprof_open(const struct gcprof_options *options, struct gcprof_provider **out);

/* Every thread must have been detached. NULL is allowed. */
void gcprof_close(struct gcprof_provider *provider);

/* Not 0: takes no samples until it is called with 0. Threads notice at their next
 * gcprof_settle() and gcprof_poll(). */
void gcprof_set_paused(struct gcprof_provider *provider, int paused);

/* The program asks for another mean of bytes between samples; a profiler that asks later has its
 * way. */
void gcprof_set_period(struct gcprof_provider *provider, uint64_t period);

/* --- names ----------------------------------------------------------------------------- */

/* A type's id: never 0 but when memory is exhausted or the provider has 2^20 types; unique in the
 * process. */
uint64_t gcprof_type(struct gcprof_provider *provider, const char *name);

/* A managed function's id, for struct gc_frame: of the process, not of a provider. `file` may be
 * NULL. Returns 0 only when memory is exhausted. */
uint32_t gcprof_code(const char *name, const char *file, uint32_t line);

/* --- threads --------------------------------------------------------------------------- */

/* Attaches the calling thread. `anchor` names its innermost struct gc_frame and must stay until
 * the thread is detached; NULL: it pushes no frames. -ENOMEM. */
int gcprof_thread_attach(struct gcprof_provider *provider, const struct gc_anchor *anchor,
			 struct gcprof_thread **out);

/* Fills in the frames of the calling thread, the innermost first and at most `max`; returns how
 * many, 0: they are not known. Called within gcprof_allocated() and gcprof_alloc(), for samples
 * only. It must not allocate by this provider. */
typedef uint32_t gcprof_walk(void *context, struct gcprof_frame *frames, uint32_t max);

/* From now on samples of the thread have these frames; their codes are gcprof_code()'s. `how` is an
 * enum gcprof_stack_how. NULL: no longer. */
void gcprof_thread_walk(struct gcprof_thread *thread, gcprof_walk *walk, void *context,
			uint32_t how);

/* Reports what waits and frees it. No other thread of the same provider attaches or detaches at a
 * moment when the caller reports a collection. */
void gcprof_thread_detach(struct gcprof_thread *thread);

/* Reports samples that wait in the thread. Before it blocks, and before another thread may report
 * outcomes of its samples. */
void gcprof_flush(struct gcprof_thread *thread);

/* --- allocations ----------------------------------------------------------------------- */
/*
 * The bytes that a thread allocates are numbered in their order; some are hits,
 * and an object that contains a hit is sampled. An allocator that compares with
 * a limit anyway folds the distance to the next hit into that limit:
 *
 *	limit = what it would be, at most gcprof_bytes_left() - 1 from here
 *	where the limit is passed:
 *		gcprof_consume()	the bytes since the last time, without this object
 *		gcprof_poll()		before it allocates
 *		gcprof_allocated()	behind it
 *		gcprof_settle()
 *
 * One that has no such limit calls gcprof_alloc(), which costs a subtraction and a compare.
 */

/* What is inlined of a thread. Only the library writes it, but for gcprof_consume(). */
struct gcprof_thread_head {
	int64_t budget;    /* the byte with this number, from 1, is the next hit, while `on` */
	int64_t countdown; /* gcprof_alloc() goes to the slow path behind so many bytes */
	uint32_t on;       /* it samples */
	uint32_t reserved;
};

static inline struct gcprof_thread_head *gcprof_head(const struct gcprof_thread *thread)
{
	return (struct gcprof_thread_head *)(uintptr_t)thread;
}

/* The byte with this number, counted from 1, is the next hit; INT64_MAX while nothing is sampled.
 */
static inline int64_t gcprof_bytes_left(const struct gcprof_thread *thread)
{
	return gcprof_head(thread)->on ? gcprof_head(thread)->budget : INT64_MAX;
}

/* So many bytes were allocated without a hit. */
static inline void gcprof_consume(struct gcprof_thread *thread, size_t size)
{
	if (gcprof_head(thread)->on)
		gcprof_head(thread)->budget -= (int64_t)size;
}

/* Starts sampling when a profiler came, and reports what waited too long. Once in some 32 KiB at
 * least, before an object is allocated and with all earlier bytes consumed. */
void gcprof_poll(struct gcprof_thread *thread);

/* An object was allocated: consumes its bytes, and samples it if it contains a hit. Returns the
 * sample's id, or 0. `type` 0: gcprof_typed() follows. `kind` is an enum gcprof_sample_kind. */
uint64_t gcprof_allocated(struct gcprof_thread *thread, size_t size, uint64_t type, uint32_t kind);

/* Stops sampling when no profiler is attached any more, and takes over another period: between
 * allocations, never before one that is perhaps here because it contains a hit. */
void gcprof_settle(struct gcprof_thread *thread);

/* All of these, for gcprof_alloc(). */
uint64_t gcprof_alloc_slow(struct gcprof_thread *thread, size_t size, uint64_t type, uint32_t kind);

/* An object was allocated. Returns the id of its sample, or 0, as nearly always. */
static inline uint64_t gcprof_alloc(struct gcprof_thread *thread, size_t size, uint64_t type,
				    uint32_t kind)
{
	struct gcprof_thread_head *head = gcprof_head(thread);

	head->countdown -= (int64_t)size;
	if (__builtin_expect(head->countdown > 0, 1))
		return 0;
	return gcprof_alloc_slow(thread, size, type, kind);
}

/* The type of a sample that was taken without one: once, within 100 ms, and by the thread that
 * took it. Without it the type stays unknown. */
void gcprof_typed(struct gcprof_thread *thread, uint64_t sample, uint64_t type);

/* For agents of runtimes that sample by themselves and that a profiler records from outside: the
 * calling thread's runtime has just taken a sample. Returns the id for its outcome; 0: no profiler
 * is attached. */
uint64_t gcprof_followed(void);

/* --- outcomes and collections ---------------------------------------------------------- */
/*
 * One thread of a provider at a time calls these, and it sees what the others did
 * before. A collection may be reported alone or, if it is short and
 * there are many, as one of a sum.
 */

/* Is there a consumer of outcomes? If not, samples need not be remembered. */
int gcprof_wants_outcomes(void);

/* What became of sampled objects. In a collection it belongs to that. Objects that are freed
 * (GCPROF_FREED) may be reported at any time outside of collections, by the thread that took their
 * samples or after its gcprof_flush(); where there are no collections, by several threads at the
 * same time. */
void gcprof_outcomes(struct gcprof_thread *thread, const struct gcprof_fate *fates, uint32_t count);

/* The thread collects from `now` on: `kind` is an enum gcprof_gc_kind, `reason` an enum
 * gcprof_gc_reason. Collections are not nested. */
void gcprof_gc_begin(struct gcprof_thread *thread, uint32_t kind, uint32_t reason, uint64_t now);

/* The collection ended. `stats` is borrowed during the call. */
void gcprof_gc_end(struct gcprof_thread *thread, const struct gcprof_gc_stats *stats, uint64_t now);

/* The program goes on: collections since the last call, one after the other, are one stop. */
void gcprof_stop_end(struct gcprof_thread *thread);

/* The major collector enters another phase, in a collection. */
void gcprof_phase(struct gcprof_provider *provider, uint32_t phase);

/* Are there sums that were not reported yet? A hint, at any time. */
int gcprof_sums_wait(const struct gcprof_provider *provider);

/* Reports them: when the runtime will do nothing for some time, or the process ends. */
void gcprof_flush_sums(struct gcprof_provider *provider);

/* --- options of a runtime -------------------------------------------------------------- */

enum gcprof_option_kind {
	GCPROF_OPTION_SIZE,   /* size_t bytes, in the environment with a suffix K M G */
	GCPROF_OPTION_BYTES,  /* the same in a uint64_t */
	GCPROF_OPTION_NUMBER, /* uint64_t */
	GCPROF_OPTION_RATE,   /* uint64_t; 0 in the environment means no limit: UINT64_MAX */
	GCPROF_OPTION_STRIDE, /* uint32_t: "exponential", "fixed" or "every" */
	GCPROF_OPTION_UNLESS, /* uint32_t: 0 or 1; the environment says the contrary */
};

/* One field of a structure of options. */
struct gcprof_option {
	const char *name;
	const char *variable; /* of the environment, or NULL */
	enum gcprof_option_kind kind;
	size_t offset;
	uint64_t standard;
	uint64_t min, max;
};

/* Fills in the defaults, then what the environment says, as gcprof_options_default() does. */
int gcprof_options_read(const struct gcprof_option *rows, size_t n, void *options);

/* Replaces fields that are 0 by their defaults and checks all: -EINVAL if one is out of range. */
int gcprof_options_check(const struct gcprof_option *rows, size_t n, void *options);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
