/* SPDX-License-Identifier: BSD-2-Clause */
/* provider.h: public API of libgcprof-provider: how a runtime or an allocator reports to gcprof. */
/*
 * A runtime opens one provider for each of its heaps, attaches each thread that
 * allocates, names types and functions, and reports
 *
 *	allocations	with gcprof_alloc(), or with the sampling clock below it
 *	outcomes	the fate of sampled objects
 *	collections	begin, end and phases
 *
 * The library decides which allocations are sampled and which events reach a
 * profiler at once, in batches, or as sums. While no profiler is attached it
 * neither samples nor reports.
 *
 * It knows nothing of objects, only sizes and ids. All sizes are in bytes, all
 * times CLOCK_MONOTONIC in nanoseconds. Functions that can fail return 0 or a
 * negative errno and leave an explanation in gcprof_error(). Strings are copied.
 * Unless stated otherwise, any thread may call a function that takes a provider,
 * and only the thread itself may call a function that takes a thread. None may
 * be called from a signal handler.
 *
 * fork() is handled: in the child the other threads are detached, and pending
 * reports belong to the parent.
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

struct gcprof_provider; /* one reporting heap or allocator */
struct gcprof_thread;   /* one of its threads; begins with struct gcprof_thread_head */

/* --- life ------------------------------------------------------------------------------ */

/*
 * A kind or reason of collections that the runtime names itself. `kind` is the enum gcprof_gc_kind
 * of collections with this name, GCPROF_GC_STOP for the pauses of a concurrent cycle; 0: it is the
 * name of cycles, or a reason.
 */
struct gcprof_gc_name {
	uint32_t number; /* the runtime's, GCPROF_GC_NAMES_FIRST to GCPROF_GC_NAMES_END - 1 */
	uint32_t kind;
	const char *text;
};

/* gcprof_options.fixed_stride */
enum { GCPROF_STRIDE_EXPONENTIAL, GCPROF_STRIDE_FIXED, GCPROF_STRIDE_EVERY };

/* Start from gcprof_options_default(). A field of 0 selects the default. */
struct gcprof_options {
	uint64_t period;        /* mean bytes between samples; default 512 KiB, GCPROF_PERIOD */
	uint64_t ceiling;       /* samples a second before the period rises; default 2000,
				   UINT64_MAX: none; GCPROF_CEILING (there 0: none) */
	uint64_t gc_ceiling;    /* short collections a second that are reported individually;
				   default 100, UINT64_MAX: all; GCPROF_GC_CEILING (there 0: all) */
	uint64_t seed;          /* of the sampling clock; 0: from the system, GCPROF_SEED */
	uint32_t fixed_stride;  /* a sample every `period` bytes, or every object;
				   GCPROF_STRIDE=fixed, =every */
	uint32_t no_batching;   /* 1: fire probes for each sample and collection;
				 GCPROF_BATCH=0 */
	uint32_t always_sample; /* 1: sample even if no profiler is attached (tests) */
	uint32_t n_gc_names;    /* entries at gc_names */
	uint32_t refused;       /* enum gcprof_refusal: it samples nothing here; 0: it does */
	const char *name;       /* name of the runtime or allocator in reports, "cpython" */
	const char *version;    /* its version, "3.11.2" */
	const struct gcprof_gc_name *gc_names; /* own kinds and reasons of collections; all heaps
						  of a runtime share their numbers */
};

/* Fills in the defaults, then applies the environment. -EINVAL for an invalid variable. */
int gcprof_options_default(struct gcprof_options *out);

/* Explains this thread's last failed call. Never NULL. */
const char *gcprof_error(void);

/* Sets that text, at most 255 bytes, and returns `result`. A runtime may use it for its own errors.
 */
int gcprof_error_set(int result, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `options` may be NULL for the defaults and the environment. The caller owns the provider.
 * -EINVAL for options out of range, -ENOMEM. */
int gcprof_open(const struct gcprof_options *options, struct gcprof_provider **out);

/* Call it after every thread was detached. NULL is allowed. */
void gcprof_close(struct gcprof_provider *provider);

/* Nonzero stops sampling until a call with 0. Threads notice at their next gcprof_settle() and
 * gcprof_poll(). */
void gcprof_set_paused(struct gcprof_provider *provider, int paused);

/* Sets the program's mean bytes between samples. A profiler that asks later overrides it. */
void gcprof_set_period(struct gcprof_provider *provider, uint64_t period);

/* --- names ----------------------------------------------------------------------------- */

/* Returns the id of a new type, unique in the process. Returns 0 only when memory is exhausted or
 * the provider has 2^20 types. */
uint64_t gcprof_type(struct gcprof_provider *provider, const char *name);

/* Returns a managed function's id for struct gc_frame, valid for all providers of the process. The
 * same name, file and line have the same id, but finding it takes a lock: call it once for each
 * function. `file` may be NULL. Returns 0 only when memory is exhausted. */
uint32_t gcprof_code(const char *name, const char *file, uint32_t line);

/* --- threads --------------------------------------------------------------------------- */

/* Attaches the calling thread. `anchor` points to its innermost struct gc_frame and must stay valid
 * until the thread is detached; NULL: it pushes no frames. -ENOMEM. */
int gcprof_thread_attach(struct gcprof_provider *provider, const struct gc_anchor *anchor,
			 struct gcprof_thread **out);

/* Fills in at most `max` frames of the calling thread, the innermost first, and returns their
 * number; 0: they are unknown. Called from gcprof_allocated() and gcprof_alloc(), for samples only.
 * It must not report allocations to this provider. */
typedef uint32_t gcprof_walk(void *context, struct gcprof_frame *frames, uint32_t max);

/* From now on samples of the thread have the frames that `walk` returns, with code ids from
 * gcprof_code(). `how` is an enum gcprof_stack_how. NULL ends that. */
void gcprof_thread_walk(struct gcprof_thread *thread, gcprof_walk *walk, void *context,
			uint32_t how);

/* Reports pending samples and frees the thread. While one thread reports a collection, no other
 * thread of the same provider may attach or detach. */
void gcprof_thread_detach(struct gcprof_thread *thread);

/* Reports the thread's pending samples. Call it before the thread blocks, and before another thread
 * may report outcomes of its samples. */
void gcprof_flush(struct gcprof_thread *thread);

/* --- allocations ----------------------------------------------------------------------- */
/*
 * The bytes that a thread allocates are numbered in order; some are hits, and an
 * object that contains a hit is sampled. An allocator that already compares with
 * a limit folds the distance to the next hit into that limit:
 *
 *	limit = the usual limit, at most gcprof_bytes_left() - 1 from here
 *	where the limit is passed:
 *		gcprof_consume()	the bytes since the last call, without this object
 *		gcprof_poll()		before the allocation
 *		gcprof_allocated()	after it
 *		gcprof_settle()
 *
 * Other allocators call gcprof_alloc(), which costs a subtraction and a compare.
 */

/* The inlined part of a thread. Apart from gcprof_consume(), only the library writes it. */
struct gcprof_thread_head {
	int64_t budget;    /* while `on`: number of the byte, from 1, that is the next hit */
	int64_t countdown; /* bytes until gcprof_alloc() takes the slow path */
	uint32_t on;       /* the thread samples */
	uint32_t reserved;
};

static inline struct gcprof_thread_head *gcprof_head(const struct gcprof_thread *thread)
{
	return (struct gcprof_thread_head *)(uintptr_t)thread;
}

/* The number of the byte, counted from 1, that is the next hit; INT64_MAX while sampling is off. */
static inline int64_t gcprof_bytes_left(const struct gcprof_thread *thread)
{
	return gcprof_head(thread)->on ? gcprof_head(thread)->budget : INT64_MAX;
}

/* `size` bytes were allocated without a hit. */
static inline void gcprof_consume(struct gcprof_thread *thread, size_t size)
{
	if (gcprof_head(thread)->on)
		gcprof_head(thread)->budget -= (int64_t)size;
}

/* Starts sampling when a profiler has attached, and reports samples that waited too long. Call it
 * at least once in about 32 KiB, before an object is allocated and with all earlier bytes consumed.
 */
void gcprof_poll(struct gcprof_thread *thread);

/* Consumes the bytes of a newly allocated object, and samples it if it contains a hit. Returns the
 * sample's id, or 0. `type` 0: gcprof_typed() follows. `kind` is an enum gcprof_sample_kind. */
uint64_t gcprof_allocated(struct gcprof_thread *thread, size_t size, uint64_t type, uint32_t kind);

/* Stops sampling when no profiler is attached any more, and adopts a new period. Call it between
 * allocations, never before one that may be in the slow path because it contains a hit. */
void gcprof_settle(struct gcprof_thread *thread);

/* The slow path of gcprof_alloc(); calls all of these. */
uint64_t gcprof_alloc_slow(struct gcprof_thread *thread, size_t size, uint64_t type, uint32_t kind);

/* An object was allocated. Returns the id of its sample, or 0 if it is not sampled. */
static inline uint64_t gcprof_alloc(struct gcprof_thread *thread, size_t size, uint64_t type,
				    uint32_t kind)
{
	struct gcprof_thread_head *head = gcprof_head(thread);

	head->countdown -= (int64_t)size;
	if (__builtin_expect(head->countdown > 0, 1))
		return 0;
	return gcprof_alloc_slow(thread, size, type, kind);
}

/* Sets the type of a sample taken with type 0: once, within 100 ms, on the thread that took it.
 * Otherwise the type stays unknown. */
void gcprof_typed(struct gcprof_thread *thread, uint64_t sample, uint64_t type);

/* For agents of runtimes with their own sampler, which a profiler records from outside: reports
 * that the calling thread's runtime has just taken a sample. Returns the id for its outcome; 0: no
 * profiler is attached. */
uint64_t gcprof_followed(void);

/* --- outcomes and collections ---------------------------------------------------------- */
/*
 * Only one thread of a provider at a time may call these, except as stated,
 * synchronised with the others. A collection is reported individually or, if it is short and there
 * are many, as part of a sum.
 */

/* Whether outcomes have a consumer. If not, the client need not track sampled objects. */
int gcprof_wants_outcomes(void);

/* Reports outcomes of sampled objects. Within a collection they belong to it. Freed objects
 * (GCPROF_FREED) may be reported at any time outside collections, by the thread that took their
 * samples or after its gcprof_flush(); if there are no collections, by several threads at the same
 * time. */
void gcprof_outcomes(struct gcprof_thread *thread, const struct gcprof_fate *fates, uint32_t count);

/* For runtimes that know only the address of an object they free: registers the object of a sample,
 * until gcprof_freed(). Call it before another thread may free the object. `allocated` is the
 * number of bytes that all threads have allocated so far, for the age; 0: unknown. An object that
 * was registered at the same address is forgotten. Takes 32 bytes for each object that is alive.
 * -ENOMEM: the object counts as alive. */
int gcprof_placed(struct gcprof_thread *thread, uint64_t sample, const void *object,
		  uint64_t allocated);

/* The program frees the object at this address: reports GCPROF_FREED if it is registered, otherwise
 * does nothing, which costs two loads and a compare. Any attached thread of the provider may call
 * it, outside collections; call it before the memory may be used again. `allocated` as above. */
void gcprof_freed(struct gcprof_thread *thread, const void *object, uint64_t allocated);

/* The thread begins a collection at `now`; `kind` is an enum gcprof_gc_kind, `reason` an enum
 * gcprof_gc_reason, or each the number of a gcprof_gc_name. Collections are not nested. Those whose
 * kind has a name are always reported individually. */
void gcprof_gc_begin(struct gcprof_thread *thread, uint32_t kind, uint32_t reason, uint64_t now);

/* The collection ended at `now`. `stats` is borrowed during the call. */
void gcprof_gc_end(struct gcprof_thread *thread, const struct gcprof_gc_stats *stats, uint64_t now);

/* The program resumes: the collections since the last call form one stop. */
void gcprof_stop_end(struct gcprof_thread *thread);

/* The major collector enters another phase, within a collection. */
void gcprof_phase(struct gcprof_provider *provider, uint32_t phase);

enum gcprof_cycle_event { GCPROF_CYCLE_BEGIN, GCPROF_CYCLE_END };

/* What is known of a cycle then; 0: unknown, or no name. */
struct gcprof_cycle {
	uint32_t name;   /* at its begin: number of a gcprof_gc_name */
	uint32_t reason; /* at its begin: as above */
	uint64_t used;   /* bytes of the heap in use */
	uint64_t live;   /* at its end: bytes found alive */
};

/* A concurrent collector begins or ends a cycle: `event` is an enum gcprof_cycle_event. The program
 * runs during a cycle; what stops it are collections as above, GCPROF_GC_STOP or of another kind. A
 * provider has one cycle at a time. Any thread may call this, also while another collects. */
void gcprof_cycle(struct gcprof_provider *provider, uint32_t event,
		  const struct gcprof_cycle *cycle);

/* Reports pending sums. Call it when the runtime goes idle or the process ends. */
void gcprof_flush_sums(struct gcprof_provider *provider);

/* --- options of a runtime -------------------------------------------------------------- */

enum gcprof_option_kind {
	GCPROF_OPTION_SIZE,   /* size_t bytes, in the environment with a suffix K M G */
	GCPROF_OPTION_BYTES,  /* the same in a uint64_t */
	GCPROF_OPTION_NUMBER, /* uint64_t */
	GCPROF_OPTION_RATE,   /* uint64_t; 0 in the environment means no limit: UINT64_MAX */
	GCPROF_OPTION_STRIDE, /* uint32_t: "exponential", "fixed" or "every" */
	GCPROF_OPTION_UNLESS, /* uint32_t: 0 or 1; the environment has the opposite value */
};

/* One field of a struct of options. */
struct gcprof_option {
	const char *name;
	const char *variable; /* environment variable, or NULL */
	enum gcprof_option_kind kind;
	size_t offset;
	uint64_t standard;
	uint64_t min, max;
};

/* Replaces fields of 0 by their defaults, or, if `environment` is not 0, by the variables that are
 * set; then checks all fields. -EINVAL for an invalid variable or a field out of range. */
int gcprof_options_fill(const struct gcprof_option *rows, size_t n, void *options, int environment);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
