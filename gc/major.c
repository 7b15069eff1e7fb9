/* SPDX-License-Identifier: BSD-2-Clause */
/* major.c: the major collection: its phases, and how fast it goes. */
/*
 *	scanning     nothing to do: the old generation is below its threshold
 *	marking      from the roots; ends behind a minor collection, when nothing is gray
 *	sweeping     finds free memory, gives some of it back
 *	finalizing   the program runs the finalizers of what died
 *
 * A step does a bounded part of a phase's work. Steps are made each time that a
 * part of the nursery was used up or a large object is allocated, so they are
 * many and short, and one follows each minor collection. Their work is in
 * proportion to what was allocated and promoted since, never to the size of the
 * heap, and is counted in bytes, never in time: the same program makes the same
 * steps.
 */
#include "major.h"
#include "after_mark.h"
#include "check.h"
#include "finalize.h"
#include "mark.h"
#include "nursery.h"
#include "pairs.h"
#include "sweep.h"

/* A nursery is used up in so many steps, or fewer if it has fewer buffers. */
enum { STEPS = 64 };

/* Work of marking (see mark.c) for each byte allocated, and for each byte promoted besides. */
enum { MARK_ALLOCATED = 4, MARK_PROMOTED = 4 };

/* What was promoted is spread over as many steps as will come before the next minor collection if
 * that one uses as much of the nursery, at least such a part. */
enum { LEAST_USED = 8 };

/* Large objects may be much at once: beyond the first step's share, a byte for so many of them. */
enum { MARK_LARGE = 16 };

/* At so many times the threshold marking is finished in one step after all. */
enum { OVERRUN = 2 };

/* A nursery of which so many such parts were used is long enough for steps of its own. */
enum { LONG_USED = 4 };

/* Bytes swept for each byte allocated. */
enum { SWEEP_ALLOCATED = 16 };

/* Ephemerons, weak references, finalizers or samples gone through in a step. */
enum { AFTER_MARK_ITEMS = 1000 };

/* Each time that marking nearly ended the next try may do twice as much, up to this power of 2. */
enum { TRIES_MAX = 20 };

void major_init(struct gc_heap *heap)
{
	size_t interval = heap->options.nursery_size / STEPS;
	size_t least = heap->options.buffer_size;

	heap->major.phase = GCPROF_PHASE_SCANNING;
	heap->major.interval = interval < least ? least : interval;
	heap->major.next_step = SIZE_MAX;
	heap->threshold = heap->options.min_heap;
}

static void enter_phase(struct gc_heap *heap, uint32_t phase)
{
	heap->major.phase = phase;
	gcprof_phase(heap->provider, phase);
}

static bool is_over_threshold(const struct gc_heap *heap)
{
	uint64_t pressure = __atomic_load_n(&heap->pressure, __ATOMIC_RELAXED);

	return heap->old.bytes + heap->large.bytes + pressure > heap->threshold;
}

bool major_is_wanted(const struct gc_heap *heap)
{
	return heap->major.phase != GCPROF_PHASE_SCANNING || is_over_threshold(heap);
}

/* Bytes of the nursery between two steps. Stopping several threads takes a while: do it less. */
static size_t step_interval(const struct gc_heap *heap)
{
	return heap->n_threads > 1 ? 2 * heap->major.interval : heap->major.interval;
}

/* There is something to do without a minor collection. */
static bool has_steps(const struct gc_heap *heap)
{
	const struct gc_major *major = &heap->major;

	return major->phase == GCPROF_PHASE_SWEEPING || after_mark_has_work(heap) ||
	       (major->phase == GCPROF_PHASE_MARKING && (major->gray.count || pairs_to_walk(heap)));
}

/* Says when the next step is due: soon, unless only a minor collection brings us further. */
static void plan(struct gc_heap *heap)
{
	struct gc_major *major = &heap->major;
	size_t used = nursery_taken(&heap->nursery), next = SIZE_MAX;

	if (has_steps(heap))
		next = used + step_interval(heap);
	__atomic_store_n(&major->next_step, next, __ATOMIC_RELAXED);
}

static void begin_marking(struct gc_heap *heap)
{
	enter_phase(heap, GCPROF_PHASE_MARKING);
	heap->major.drained = false;
	heap->major.tries = 0;
	mark_begin(heap);
}

static void end_marking(struct gc_heap *heap)
{
	heap->stats.full_collections++;
	sweep_begin(heap);
	enter_phase(heap, GCPROF_PHASE_SWEEPING);
}

/* The program may still be at it. */
static void end_finalizing(struct gc_heap *heap)
{
	if (!finalize_is_due(heap))
		enter_phase(heap, GCPROF_PHASE_SCANNING);
}

static void end_sweeping(struct gc_heap *heap)
{
	enter_phase(heap, GCPROF_PHASE_FINALIZING);
	end_finalizing(heap);
}

static bool is_overrun(const struct gc_heap *heap)
{
	return heap->old.bytes + heap->large.bytes > OVERRUN * heap->threshold;
}

/* How much to mark in this step: its share of what the time until the next minor collection
 * asks for, and what large objects ask for at once. */
static uint64_t mark_budget(const struct gc_heap *heap)
{
	const struct gc_major *major = &heap->major;
	uint64_t interval = step_interval(heap), nursery = heap->options.nursery_size;
	uint64_t used = major->used < nursery / LEAST_USED ? nursery / LEAST_USED : major->used;

	if (is_overrun(heap))
		return UINT64_MAX;
	return (MARK_ALLOCATED * interval +
		MARK_PROMOTED * major->promoted / (used / interval + 1) + major->large / MARK_LARGE)
	       << major->tries;
}

/* What large arrays that were promoted since made gray is marked again: it was before. */
static void settle_step(struct gc_heap *heap)
{
	if (after_mark_some(heap, is_overrun(heap) ? SIZE_MAX : AFTER_MARK_ITEMS))
		end_marking(heap);
}

/* Nothing is gray; true if that is still so and all ephemerons had their turn. */
static bool walk_pairs(struct gc_heap *heap)
{
	pairs_walk(heap, is_overrun(heap) ? SIZE_MAX : AFTER_MARK_ITEMS);
	return !pairs_to_walk(heap) && !heap->major.gray.count;
}

/*
 * Marking can only end when the nursery is empty and the roots were just
 * traced, which is so behind a minor collection. That may have made gray what one
 * step cannot mark, a large array for instance, and the next one again.
 */
static void mark_step(struct gc_heap *heap, bool behind_minor)
{
	struct gc_major *major = &heap->major;
	bool done = mark_some(heap, mark_budget(heap));

	if (done && major->stage == AFTER_MARK_NOTHING)
		done = walk_pairs(heap);
	if (done && behind_minor && major->stage == AFTER_MARK_NOTHING)
		after_mark_begin(heap);
	if (done && major->stage != AFTER_MARK_NOTHING)
		settle_step(heap);
	else if (behind_minor && major->drained && major->tries < TRIES_MAX)
		major->tries++;
	major->drained = done && !behind_minor;
}

/*
 * Behind a minor collection that took its time a step can wait for the next
 * part of the nursery, so that each is a stop of its own: unless only now
 * marking can end, or nurseries are so short that the next collection comes
 * before that.
 */
bool major_step_can_wait(struct gc_heap *heap)
{
	const struct gc_major *major = &heap->major;

	if (major->phase == GCPROF_PHASE_SCANNING || major->phase == GCPROF_PHASE_FINALIZING ||
	    major->used < LONG_USED * step_interval(heap))
		return false;
	if (major->phase == GCPROF_PHASE_MARKING && (major->drained || !has_steps(heap)))
		return false;
	plan(heap);
	return true;
}

void major_step(struct gc_heap *heap, bool behind_minor)
{
	switch (heap->major.phase) {
	case GCPROF_PHASE_SCANNING:
		begin_marking(heap);
		break;
	case GCPROF_PHASE_MARKING:
		mark_step(heap, behind_minor);
		break;
	case GCPROF_PHASE_SWEEPING:
		if (sweep_some(heap, 1 + SWEEP_ALLOCATED * step_interval(heap) / CHUNK_SIZE))
			end_sweeping(heap);
		break;
	default:
		end_finalizing(heap);
		break;
	}
	heap->major.large = 0;
	plan(heap);
}

/*
 * One under way cannot become a whole one: what died since it was marked would
 * stay. Its marks are forgotten.
 */
void major_full(struct gc_heap *heap)
{
	if (heap->major.phase == GCPROF_PHASE_MARKING) {
		after_mark_abandon(heap);
		mark_abandon(heap);
	}
	if (heap->major.phase == GCPROF_PHASE_SWEEPING)
		sweep_some(heap, SIZE_MAX);
	begin_marking(heap);
	mark_some(heap, UINT64_MAX);
	pairs_walk(heap, SIZE_MAX);
	mark_some(heap, UINT64_MAX);
	check_if_due(heap, CHECK_MARKED);
	after_mark_begin(heap);
	after_mark_some(heap, SIZE_MAX);
	end_marking(heap);
	sweep_some(heap, SIZE_MAX);
	end_sweeping(heap);
	plan(heap);
}
