/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* gc.bpf.c: the probes of gc/provider/probes.def. */
/*
 * One program serves all probes: the attachment's cookie leads to the argument locations that the
 * recorder found.
 *
 * A program may pass anything. Numbers are checked against the table's ranges, addresses are read
 * with functions that may fail, and lengths are bounded before use. What does not fit is counted as
 * refused.
 */
#include "ceiling.h"
#include "cost.h"
#include "preempt.h"
#include "place.h"
#include "sample_probes.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SIZE_SANE (UINT64_C(1) << 48) /* upper bound for objects and periods */
#define LATE_MAX_NS \
	UINT64_C(100000000000) /* upper bound for collections that are reported at their end */

/* A collection; 4 was withdrawn. */
static __always_inline bool is_gc_kind(uint32_t kind)
{
	return kind >= GCPROF_GC_MINOR && kind <= GCPROF_GC_STOP && kind != 4;
}

/* Emits a record of `n` allocation events. */
static __always_inline void probe_emit(const struct probe_firing *firing, struct scratch *scratch,
				       uint32_t n)
{
	if (probe_shares(scratch, firing->state, n))
		scratch_emit_many(scratch, &ring_alloc, LOSS_ALLOC_RING, n);
}

static __always_inline int probe_sample(const struct probe_firing *firing)
{
	struct task_state *state = firing->state;
	struct scratch *scratch;
	struct event_alloc *event;
	uint64_t sample, type, bytes, period, anchor;
	uint32_t kind;

	sample = firing->values[0];
	type = firing->values[1];
	bytes = firing->values[2];
	period = firing->values[3];
	kind = firing->values[4];
	anchor = firing->values[5];
	if (!sample || !bytes || bytes >= SIZE_SANE || !period || period >= SIZE_SANE ||
	    kind < GCPROF_SAMPLE_NURSERY || kind > GCPROF_SAMPLE_MANUAL)
		return probe_refuse();
	/* An allocator beside the provider of frames passes none. */
	if (anchor) {
		state->anchor = anchor;
		state->provider = firing->place->provider;
	}
	/* A collector may call malloc(), whose samples do not end the collection. */
	if (kind < GCPROF_SAMPLE_FOREIGN)
		process_gc_is_over(state, firing->now);

	scratch = probe_scratch();
	if (!scratch)
		return 0;
	event = (struct event_alloc *)scratch->data;
	__builtin_memset(event, 0, sizeof(*event));
	emit_header(&event->header, EVENT_alloc, 0, state, firing->now);
	event->sample = sample;
	event->type = type;
	event->bytes = bytes;
	event->period = period;
	event->kind = kind;
	event->provider = firing->place->provider;
	event->key = firing->values[6];
	event->address = firing->values[7];
	event->since = state->image;
	scratch->size = sizeof(*event);
	if (!event->key || event->key != state->whole) {
		regs_user(firing->ctx, &scratch->regs);
		stack_user(scratch, state);
		if (stack_is_copied(scratch))
			regs_user_rest(firing->ctx, &scratch->regs);
	}
	if (probe_shares(scratch, state, 1))
		stack_emit(scratch, &ring_alloc, LOSS_ALLOC_RING);
	return 0;
}

/* The same number, bounded for the verifier. */
static __always_inline uint64_t known_count(uint64_t count, uint64_t most)
{
	count = opaque(count);
	return count < most ? count : most;
}

/*
 * Copies the entries of a batch after the `head` bytes of its event, and then `rest`; both sizes
 * are bounded. False if they cannot be read; the scratch is released then.
 */
static __always_inline bool batch_read(struct scratch *scratch, uint32_t head, uint64_t entries,
				       uint64_t entry_bytes, uint64_t rest, uint64_t rest_bytes)
{
	uint32_t at = head + entry_bytes;

	if (bpf_probe_read_user(scratch->data + head, entry_bytes, (const void *)entries) ||
	    bpf_probe_read_user(scratch->data + at, rest_bytes, (const void *)rest)) {
		scratch_drop(scratch);
		return 0;
	}
	scratch->size = at + rest_bytes;
	return 1;
}

/* The recorder checks the entries; it has more time. */
static __always_inline int probe_samples(const struct probe_firing *firing)
{
	struct task_state *state = firing->state;
	struct scratch *scratch;
	struct event_samples *event;
	uint64_t entries, count, stacks, words;

	entries = firing->values[0];
	count = firing->values[1];
	stacks = firing->values[2];
	words = firing->values[3];
	if (!entries || !count || count > GCPROF_SAMPLES_MAX || words > GCPROF_STACK_WORDS_MAX)
		return probe_refuse();
	scratch = probe_scratch();
	if (!scratch) {
		/* That counted one event. */
		loss_add(LOSS_SCRATCH_BUSY, count - 1);
		return 0;
	}
	event = (struct event_samples *)scratch->data;
	probe_header(firing, &event->header, EVENT_samples, 0);
	event->since = state->image;
	count = known_count(count, GCPROF_SAMPLES_MAX);
	words = known_count(words, GCPROF_STACK_WORDS_MAX);
	event->count = count;
	event->words = words;
	if (batch_read(scratch, sizeof(*event), entries, count * sizeof(event->entries[0]), stacks,
		       words * sizeof(uint64_t)))
		probe_emit(firing, scratch, count);
	else
		loss_add(LOSS_BATCH_MEMORY, count);
	return 0;
}

static __always_inline int probe_pieces(const struct probe_firing *firing)
{
	struct scratch *scratch;
	struct event_pieces *event;
	uint64_t stack, pieces, count;

	stack = firing->values[0];
	pieces = firing->values[1];
	count = firing->values[2];
	if (!stack || !pieces || !count || count > GCPROF_PIECES_MAX)
		return probe_refuse();
	scratch = probe_scratch();
	if (!scratch)
		return 0;
	event = (struct event_pieces *)scratch->data;
	probe_header(firing, &event->header, EVENT_pieces, 0);
	event->stack = stack;
	count = known_count(count, GCPROF_PIECES_MAX);
	event->count = count;
	event->reserved = 0;
	if (bpf_probe_read_user(event->pieces, count * sizeof(event->pieces[0]),
				(const void *)pieces)) {
		loss_count(LOSS_PROBE_MEMORY);
		scratch_drop(scratch);
		return 0;
	}
	scratch->size = sizeof(*event) + count * sizeof(event->pieces[0]);
	/* A lost record counts nothing: samples that need it are counted as having no stack. */
	probe_emit(firing, scratch, 0);
	return 0;
}

static __always_inline int probe_stack(const struct probe_firing *firing)
{
	struct scratch *scratch;
	struct event_frames *event;
	uint64_t stack, frames, count;
	uint32_t how;

	stack = firing->values[0];
	frames = firing->values[1];
	count = firing->values[2];
	how = firing->values[3];
	if (!stack || !frames || !count || count > GCPROF_FRAMES_MAX || how < GCPROF_STACK_WHOLE ||
	    how > GCPROF_STACK_MANAGED)
		return probe_refuse();
	scratch = probe_scratch();
	if (!scratch)
		return 0;
	event = (struct event_frames *)scratch->data;
	probe_header(firing, &event->header, EVENT_frames, 0);
	event->stack = stack;
	event->how = how;
	count = known_count(count, GCPROF_FRAMES_MAX);
	event->count = count;
	if (bpf_probe_read_user(event->frames, count * sizeof(event->frames[0]),
				(const void *)frames)) {
		loss_count(LOSS_PROBE_MEMORY);
		scratch_drop(scratch);
		return 0;
	}
	scratch->size = sizeof(*event) + count * sizeof(event->frames[0]);
	firing->state->whole = how == GCPROF_STACK_WHOLE ? stack : 0;
	/* A lost record counts nothing: samples that need it are counted as having no stack. */
	probe_emit(firing, scratch, 0);
	return 0;
}

static __always_inline int probe_fate(const struct probe_firing *firing)
{
	struct scratch *scratch;
	struct event_fate *event;
	uint64_t entries, count;

	entries = firing->values[0];
	count = firing->values[1];
	if (!entries || !count || count > GCPROF_FATE_MAX)
		return probe_refuse();
	scratch = probe_scratch();
	if (!scratch) {
		/* That counted one event. */
		loss_add(LOSS_SCRATCH_BUSY, count - 1);
		return 0;
	}
	event = (struct event_fate *)scratch->data;
	probe_header(firing, &event->header, EVENT_fate, 0);
	count = known_count(count, GCPROF_FATE_MAX);
	event->count = count;
	event->reserved = 0;
	if (bpf_probe_read_user(event->entries, count * sizeof(event->entries[0]),
				(const void *)entries)) {
		loss_count(LOSS_PROBE_MEMORY);
		scratch_drop(scratch);
		return 0;
	}
	scratch->size = sizeof(*event) + count * sizeof(event->entries[0]);
	probe_emit(firing, scratch, count);
	return 0;
}

static __always_inline int probe_gc_begin(const struct probe_firing *firing)
{
	struct task_state *state = firing->state;
	struct event_gc_begin *event;
	uint64_t heap, cycle, began;
	uint32_t kind, reason, name;

	heap = firing->values[0];
	cycle = firing->values[1];
	kind = firing->values[2];
	reason = firing->values[3];
	name = firing->values[6];
	if (!heap || !is_gc_kind(kind) || reason >= GCPROF_GC_NAMES_END ||
	    name >= GCPROF_GC_NAMES_END)
		return probe_refuse();
	began = firing->values[5];
	if (began > firing->now || firing->now - began > LATE_MAX_NS)
		began = 0;
	process_gc_begin(state, probe_heap(firing, heap), began ? began : firing->now, began != 0);
	if (!ceiling_keeps(CEILING_GC, firing->now, LOSS_GC_CEILING))
		return 0;
	event = EMIT_RESERVE(ring_gc, event_gc_begin, LOSS_GC_RING);
	if (!event)
		return 0;
	probe_header(firing, &event->header, EVENT_gc_begin, sizeof(*event));
	if (began)
		event->header.time = began;
	event->heap = heap;
	event->cycle = cycle;
	event->kind = kind;
	event->reason = reason;
	event->stop = firing->values[4];
	event->name = name;
	emit_submit(event, &ring_gc);
	return 0;
}

static __always_inline int probe_gc_end(const struct probe_firing *firing)
{
	struct task_state *state = firing->state;
	struct event_gc_end *event;
	uint64_t heap, cycle, stats;
	uint32_t kind;

	heap = firing->values[0];
	cycle = firing->values[1];
	kind = firing->values[2];
	stats = firing->values[3];
	if (!heap || !is_gc_kind(kind))
		return probe_refuse();
	process_gc_end(state, probe_heap(firing, heap), firing->now);
	if (!ceiling_keeps(CEILING_GC, firing->now, LOSS_GC_CEILING))
		return 0;
	event = EMIT_RESERVE(ring_gc, event_gc_end, LOSS_GC_RING);
	if (!event)
		return 0;
	probe_header(firing, &event->header, EVENT_gc_end, sizeof(*event));
	event->heap = heap;
	event->cycle = cycle;
	event->kind = kind;
	event->has_stats = 0;
	event->late = state->gc_late;
	event->rss_bytes = rss_bytes();
	event->minor_faults = state->gc_faults.minor;
	event->major_faults = state->gc_faults.major;
	event->heap_before = event->heap_after = event->heap_size = event->reason = 0;
	event->unreachable = event->recording_ns = 0;
	if (stats) {
		/* A failed read leaves zeroes. */
		if (bpf_probe_read_user(&event->stats, sizeof(event->stats), (const void *)stats))
			loss_count(LOSS_PROBE_MEMORY);
		else
			event->has_stats = 1;
	} else {
		__builtin_memset(&event->stats, 0, sizeof(event->stats));
	}
	emit_submit(event, &ring_gc);
	return 0;
}

/* The recorder checks the sums; it has more time. */
static __always_inline int probe_gc_summary(const struct probe_firing *firing)
{
	struct scratch *scratch;
	struct event_gc_summary *event;
	uint64_t heap, sums, count, begin;

	heap = firing->values[0];
	sums = firing->values[1];
	count = firing->values[2];
	begin = firing->values[3];
	if (!heap || !sums || !count || count > GCPROF_GC_SUMS_MAX || begin > firing->now)
		return probe_refuse();
	if (!ceiling_keeps(CEILING_GC, firing->now, LOSS_GC_CEILING))
		return 0;
	scratch = probe_scratch();
	if (!scratch)
		return 0;
	event = (struct event_gc_summary *)scratch->data;
	probe_header(firing, &event->header, EVENT_gc_summary, 0);
	event->heap = heap;
	event->begin = begin;
	event->cycles = firing->values[4];
	event->reserved = 0;
	count = known_count(count, GCPROF_GC_SUMS_MAX);
	event->count = count;
	if (bpf_probe_read_user(event->sums, count * sizeof(event->sums[0]), (const void *)sums)) {
		loss_count(LOSS_PROBE_MEMORY);
		scratch_drop(scratch);
		return 0;
	}
	scratch->size = sizeof(*event) + count * sizeof(event->sums[0]);
	scratch_emit(scratch, &ring_gc, LOSS_GC_RING);
	return 0;
}

static __always_inline int probe_phase(const struct probe_firing *firing)
{
	struct event_phase *event;
	uint64_t heap;
	uint32_t phase;

	heap = firing->values[0];
	phase = firing->values[1];
	if (!heap || phase < GCPROF_PHASE_SCANNING || phase > GCPROF_PHASE_FINALIZING)
		return probe_refuse();
	if (!ceiling_keeps(CEILING_GC, firing->now, LOSS_GC_CEILING))
		return 0;
	event = EMIT_RESERVE(ring_gc, event_phase, LOSS_GC_RING);
	if (!event)
		return 0;
	probe_header(firing, &event->header, EVENT_phase, sizeof(*event));
	event->heap = heap;
	event->phase = phase;
	event->reserved = 0;
	emit_submit(event, &ring_gc);
	return 0;
}

static __always_inline int probe_type(const struct probe_firing *firing)
{
	struct scratch *scratch;

	if (!firing->values[0] || !firing->values[1])
		return probe_refuse();
	scratch = name_scratch(firing, GCPROF_NAME_TYPE, 0, firing->values[1], 0);
	if (scratch)
		probe_emit(firing, scratch, 1);
	return 0;
}

static __always_inline int probe_code(const struct probe_firing *firing)
{
	struct scratch *scratch;

	if (!firing->values[0] || firing->values[0] > 0xffffffff || !firing->values[1])
		return probe_refuse();
	scratch = name_scratch(firing, GCPROF_NAME_CODE, firing->values[3], firing->values[1],
			       firing->values[2]);
	if (scratch)
		probe_emit(firing, scratch, 1);
	return 0;
}

static __always_inline int probe_provider(const struct probe_firing *firing)
{
	struct scratch *scratch;

	if (!firing->values[0])
		return probe_refuse();
	scratch = name_scratch(firing, GCPROF_NAME_PROVIDER, firing->values[2], firing->values[0],
			       firing->values[1]);
	if (scratch)
		probe_emit(firing, scratch, 1);
	return 0;
}

static __always_inline int probe_period(const struct probe_firing *firing)
{
	struct event_period *event;
	uint64_t old_period, new_period;
	uint32_t reason;

	old_period = firing->values[0];
	new_period = firing->values[1];
	reason = firing->values[2];
	if (old_period >= SIZE_SANE || new_period >= SIZE_SANE)
		return probe_refuse();
	event = alloc_reserve(firing, sizeof(*event));
	if (!event)
		return 0;
	probe_header(firing, &event->header, EVENT_period, sizeof(*event));
	event->old_period = old_period;
	event->new_period = new_period;
	event->reason = reason;
	event->reserved = 0;
	emit_submit(event, &ring_alloc);
	return 0;
}

static __always_inline int probe_thread(const struct probe_firing *firing)
{
	struct task_state *state = firing->state;
	struct event_mutator *record;
	uint64_t heap, anchor;
	uint32_t event;

	heap = firing->values[0];
	anchor = firing->values[1];
	event = firing->values[2];
	if (!heap || event < GCPROF_THREAD_ATTACH || event > GCPROF_THREAD_ANNOUNCE)
		return probe_refuse();
	if (event != GCPROF_THREAD_DETACH && anchor) {
		state->anchor = anchor;
		state->provider = firing->place->provider;
	} else if (state->provider == firing->place->provider) {
		state->anchor = 0;
	}
	if (!ceiling_keeps(CEILING_GC, firing->now, LOSS_GC_CEILING))
		return 0;
	record = EMIT_RESERVE(ring_gc, event_mutator, LOSS_GC_RING);
	if (!record)
		return 0;
	probe_header(firing, &record->header, EVENT_mutator, sizeof(*record));
	record->heap = heap;
	record->event = event;
	record->reserved = 0;
	emit_submit(record, &ring_gc);
	return 0;
}

static __always_inline int probe_dispatch(struct pt_regs *ctx)
{
	struct probe_firing firing = {};
	int probe = probe_read(&firing, ctx);

	switch (probe) {
	case PROBE_NONE:
		return 0;
	case PROBE_PLACE:
		return place_fired(&firing);
#define PROBE(name, tier, since, doc) \
	case PROBE_##name:            \
		return probe_##name(&firing);
#define ARG(probe, name, type, unit, doc)
#define END_PROBE(name, count)
#include "../gc/provider/probes.def"
#undef PROBE
#undef ARG
#undef END_PROBE
	}
	return probe_refuse();
}

static __always_inline void probe_run(struct pt_regs *ctx)
{
	if (config.measured)
		cost_begin(COST_PROBE, COST_SELDOM);
	probe_dispatch(ctx);
	if (config.measured)
		cost_end(COST_PROBE);
}

SEC("uprobe")
int probe_fired(struct pt_regs *ctx)
{
	preempt_own_stack(ctx);
	return PREEMPT_OFF(probe_run(ctx));
}
