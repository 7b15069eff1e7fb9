/* SPDX-License-Identifier: BSD-2-Clause */
/* major.c: the major collection: its phases and its pace. */
/*
 *	scanning     nothing to do: the old generation is below its threshold
 *	marking      from the roots; ends after a minor collection, when nothing is gray
 *	sweeping     finds free memory, returns some of it to the system
 *	finalizing   the program runs the finalizers of dead objects
 *
 * A step does a bounded part of a phase's work. A step runs each time that a part
 * of the nursery is used up or a large object is allocated, so steps are many and
 * short, and one follows each minor collection. Their work is proportional to the
 * bytes allocated and promoted since the last step, not to the size of the heap.
 * It is measured in bytes, not in time: the same program makes the same steps.
 */
#include "major.h"
#include "check.h"
#include "finalize.h"
#include "mark.h"
#include "nursery.h"
#include "pairs.h"
#include "large.h"
#include "old.h"
#include "heap.h"
#include "outcomes.h"
#include "weak.h"

/* --- work on dead objects between marking and sweeping, in parts ---------------------------- */

/*
 * When marking is done white objects are dead, and only weak references can reach
 * them. Steps process weak references, finalizers and samples while the program
 * runs, so the marks must stay valid: objects are still promoted black, and
 * everything reachable remains marked [dead-stay-dead]. A weak reference that is
 * not processed yet reports a white object as dead (weak.c). Ordered finalizers
 * come after all weak references are cleared, because they resurrect objects.
 */

/* Marking budget per ordered finalizer that a step scans: see mark.c. */
enum { MARKING_EACH = 256 };

static void *survivor(struct gc_heap *heap, void *object)
{
	(void)heap;
	return chunk_is_marked(object) ? object : NULL;
}

static void set_stage(struct gc_heap *heap, uint32_t stage)
{
	heap->major.after_mark = 0;
	__atomic_store_n(&heap->major.stage, stage, __ATOMIC_RELAXED);
}

/* Call it after a minor collection, with nothing gray. */
static void after_mark_begin(struct gc_heap *heap)
{
	set_stage(heap, AFTER_MARK_WEAK);
}

/* Call it before the marks are discarded. */
static void after_mark_abandon(struct gc_heap *heap)
{
	finalize_abandon(heap);
	set_stage(heap, AFTER_MARK_NOTHING);
}

/* Handles dead objects one by one: marks what one refers to before it visits the next. */
static bool finalize_ordered(struct gc_heap *heap, size_t items)
{
	uint64_t budget = items < UINT64_MAX / MARKING_EACH ? items * MARKING_EACH : UINT64_MAX;

	do {
		if (!mark_spend(heap, &budget))
			return true;
		finalize_make_ready(heap);
	} while (items && finalize_next_ordered(heap, &items));
	return heap->final.at;
}

/* Runs one part of a stage; true if there is more of it. */
static bool after_mark_part(struct gc_heap *heap, size_t items)
{
	size_t *next = &heap->major.after_mark;

	switch (heap->major.stage) {
	case AFTER_MARK_WEAK:
		return weak_clear(heap, survivor, next, items);
	case AFTER_MARK_ORDERED:
		return finalize_ordered(heap, items);
	case AFTER_MARK_LIGHT:
		return finalize_light(heap, survivor, items);
	default:
		return outcomes_old(heap, survivor, next, items);
	}
}

static bool after_mark_has_work(const struct gc_heap *heap)
{
	return heap->major.stage != AFTER_MARK_NOTHING;
}

/* Processes up to `items` items, with nothing gray; true when all are done. */
static bool after_mark_some(struct gc_heap *heap, size_t items)
{
	while (heap->major.stage != AFTER_MARK_DONE) {
		if (after_mark_part(heap, items))
			return false;
		set_stage(heap, heap->major.stage + 1);
	}
	set_stage(heap, AFTER_MARK_NOTHING);
	return true;
}

/* --- frees unmarked objects, and sets the next threshold ------------------------------------ */

/* While a major collection runs the heap grows by about this part (1 / BEYOND) of the threshold. */
enum { BEYOND = 4 };

static void set_threshold(struct gc_heap *heap)
{
	double next = (double)heap->major.live * heap->options.growth;

	heap->threshold = next < (double)heap->options.min_heap ? heap->options.min_heap
								: (uint64_t)next;
}

/* Room until the end of the next major collection stays mapped, because returning and mapping it
 * again costs page faults. During that collection the heap grows beyond the threshold, and the
 * minor collection that passes the threshold may promote a whole nursery. */
static size_t room_to_keep(const struct gc_heap *heap)
{
	return heap->threshold + heap->threshold / BEYOND + heap->nursery.size - heap->major.live;
}

/*
 * White objects are dead. Small and medium ones are counted as freed at once, although
 * their memory is found only when it is swept; large ones when they are unmapped.
 */
static void sweep_begin(struct gc_heap *heap)
{
	uint64_t live = heap->major.live - heap->major.live_large;

	__atomic_store_n(&heap->pressure, 0, __ATOMIC_RELAXED);
	set_threshold(heap);
	heap->last.freed_bytes += heap->old.bytes - live;
	heap->old.bytes = live;
	old_begin_sweeping(&heap->old, room_to_keep(heap));
	large_begin_sweeping(heap);
	nursery_trim(heap);
}

/* Sweeps up to `arenas` arenas and about as many bytes of large objects; true when all is swept. */
static bool sweep_some(struct gc_heap *heap, size_t arenas)
{
	bool large_done = large_sweep_some(heap, arenas);

	return old_sweep_some(&heap->old, arenas) && large_done;
}

/* --- a major collection --------------------------------------------------------------------- */

/* Number of steps per nursery; fewer if it has fewer buffers. */
enum { STEPS = 64 };

/* Marking work (see mark.c) per byte allocated, and in addition per byte promoted. */
enum { MARK_ALLOCATED = 4, MARK_PROMOTED = 4 };

/* Work for promoted bytes is spread over the expected steps before the next minor collection: as
 * many as for the nursery used last time, but at least for this part of a nursery. */
enum { LEAST_USED = 8 };

/* Large objects add much at once: marking work of one byte for this many of their bytes. */
enum { MARK_LARGE = 16 };

/* At this multiple of the threshold, marking is finished in one step. */
enum { OVERRUN = 2 };

/* If this many step intervals of the nursery were used, steps will get their own stops. */
enum { LONG_USED = 4 };

/* Bytes swept per byte allocated. */
enum { SWEEP_ALLOCATED = 16 };

/* Ephemerons, weak references, finalizers or samples processed in a step. */
enum { AFTER_MARK_ITEMS = 1000 };

/* Each time that marking nearly ends, the next attempt may do twice as much, up to this power. */
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

/* Bytes of the nursery between two steps. Stopping several threads is slow, so do it less often. */
static size_t step_interval(const struct gc_heap *heap)
{
	return heap->n_threads > 1 ? 2 * heap->major.interval : heap->major.interval;
}

/* Whether steps can make progress without a minor collection. */
static bool has_steps(const struct gc_heap *heap)
{
	const struct gc_major *major = &heap->major;

	return major->phase == GCPROF_PHASE_SWEEPING || after_mark_has_work(heap) ||
	       (major->phase == GCPROF_PHASE_MARKING && (major->gray.count || pairs_to_walk(heap)));
}

/* Sets when the next step is due: one interval from now, or never if only a minor collection can
 * make progress. */
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

/* The program may still be running finalizers. */
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

/* How much to mark in this step: its share of the work until the next minor collection, plus work
 * for large objects. */
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

/* Runs a part of the work after marking; ends marking when all is done. */
static void after_mark_step(struct gc_heap *heap)
{
	if (after_mark_some(heap, is_overrun(heap) ? SIZE_MAX : AFTER_MARK_ITEMS))
		end_marking(heap);
}

/* With nothing gray: true if that is still so and all ephemerons were visited. */
static bool walk_pairs(struct gc_heap *heap)
{
	pairs_walk(heap, is_overrun(heap) ? SIZE_MAX : AFTER_MARK_ITEMS);
	return !pairs_to_walk(heap) && !heap->major.gray.count;
}

/*
 * Marking can only end when the nursery is empty and the roots were just traced,
 * that is, after a minor collection. That collection may have made gray more than
 * one step can mark, such as a large array, and so may the next one.
 */
static void mark_step(struct gc_heap *heap, bool after_minor)
{
	struct gc_major *major = &heap->major;
	bool done = mark_some(heap, mark_budget(heap));

	if (done && major->stage == AFTER_MARK_NOTHING)
		done = walk_pairs(heap);
	if (done && after_minor && major->stage == AFTER_MARK_NOTHING)
		after_mark_begin(heap);
	if (done && major->stage != AFTER_MARK_NOTHING)
		after_mark_step(heap);
	else if (after_minor && major->drained && major->tries < TRIES_MAX)
		major->tries++;
	major->drained = done && !after_minor;
}

/*
 * After a minor collection, the next step can wait until the next part of the
 * nursery is used, so that each is a separate stop. It cannot if marking can end
 * only now, or if so little of the nursery is used that the next collection would
 * come first.
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

void major_step(struct gc_heap *heap, bool after_minor)
{
	switch (heap->major.phase) {
	case GCPROF_PHASE_SCANNING:
		begin_marking(heap);
		break;
	case GCPROF_PHASE_MARKING:
		mark_step(heap, after_minor);
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
 * An incremental marking in progress cannot be completed instead: objects that
 * died since they were marked would survive. Its marks are discarded.
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
