/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.c: reports samples in batches, where unbatched reports would cost too much. */
/*
 * Firing a probe costs about a microsecond, and walking a stack two more. A sample
 * with a known stack needs neither: it waits here, with its time stamp, until its
 * batch is full or another event forces a report.
 *
 * A stack is known if all its pieces are (pieces.c), no matter in which stacks
 * they were reported. A batch begins with its stacks, built from pieces; most
 * stacks share most of their pieces with the previous one. A stack with an unknown
 * piece fires `pieces` and `sample`, at which it is walked. Waiting samples are
 * reported first, so a batch contains only pieces that were reported before its
 * first sample.
 *
 * A piece is reported again after some time and after many uses, so a consumer
 * that lost a sample recovers. In the beginning this happens often, because a
 * profiler may not be able to walk stacks yet.
 *
 * Where hardly any stack is known, batching gains nothing and pauses for a while.
 */
#include "batch.h"
#include "control.h"
#include "data.h"
#include "pieces.h"
#include "rate.h"
#include "system.h"

#include <string.h>

enum {
	WAYS = 4, /* keys in a cache line */
	SETS = 16384,
	USES_MAX = 8192, /* uses of a key before its piece is reported again */
	SETTLED_MS =
		250, /* length of the early phase, after sampling starts or keys are forgotten */
	AGAIN_EARLY = 16,   /* ms until a piece is reported again: in the early phase, */
	AGAIN_LATE = 16384, /* and later */
	CREDIT_HIT = 8,     /* the search pays if at least one stack in nine is known */
	CREDIT_START = 256,
	CREDIT_MAX = 1024,
	SKIPPED = 4096, /* samples without a search if it does not */
};

enum { STACK_WORDS = sizeof(struct gcprof_stack) / sizeof(uint64_t) };

/* A reported piece. */
struct known {
	uint64_t key;  /* 0: none */
	uint32_t due;  /* when to report it again, ms */
	uint32_t uses; /* uses left until then */
};

struct gc_batch {
	struct gcprof_thread *thread;
	uint64_t latest;     /* time of the latest sample, waiting or not */
	uint32_t consumers;  /* number of consumers at the last check */
	uint64_t generation; /* of the control block, likewise */
	uint32_t count;
	uint32_t began;   /* ms: time of the first reported piece */
	int32_t credit;   /* grows with known stacks, falls with others */
	uint32_t skipped; /* samples still to skip after the credit was used up */
	size_t same;      /* outermost pieces shared with the batch's last stack */
	uint64_t last;    /* key of that stack; 0: the batch has none yet */
	size_t n_words;
	struct pieces pieces;
	struct gcprof_sample entries[GCPROF_SAMPLES_MAX];
	uint64_t words[GCPROF_STACK_WORDS_MAX];
	struct known known[SETS][WAYS] __attribute__((aligned(4096))); /* page size */
};

static struct gc_batch *batch_of(struct gcprof_thread *thread)
{
	struct gc_batch *batch = thread->batch;

	if (batch)
		return batch;
	/* Pages are mapped on use: most programs have few stacks. */
	batch = system_map(sizeof(*batch));
	if (!batch)
		return NULL;
	batch->thread = thread;
	thread->batch = batch;
	return batch;
}

void batch_free(struct gcprof_thread *thread)
{
	system_unmap(thread->batch, sizeof(*thread->batch));
	thread->batch = NULL;
}

/* The clock of keys, which may wrap after 49 days. */
static uint32_t milliseconds(uint64_t ns)
{
	return (uint32_t)(ns / MS);
}

static void forget(struct gc_batch *batch)
{
	system_release(batch->known, sizeof(batch->known));
	batch->began = milliseconds(system_now());
	batch->credit = CREDIT_START;
	batch->skipped = 0;
}

static void batch_clear(struct gc_batch *batch)
{
	batch->count = 0;
	batch->n_words = 0;
	batch->last = 0;
	batch->same = 0;
}

void batch_flush(struct gcprof_thread *thread)
{
	struct gc_batch *batch = thread->batch;

	if (!batch || !batch->count)
		return;
	probe_samples(&(struct probe_samples){
		.entries = batch->entries,
		.count = batch->count,
		.stacks = batch->words,
		.words = batch->n_words,
	});
	batch_clear(batch);
}

uint32_t batch_waiting(const struct gcprof_thread *thread)
{
	return thread->batch ? thread->batch->count : 0;
}

bool batch_typed(struct gcprof_thread *thread, uint64_t sample, uint64_t type)
{
	struct gc_batch *batch = thread->batch;

	for (uint32_t i = batch ? batch->count : 0; i--;) {
		if (batch->entries[i].sample != sample)
			continue;
		batch->entries[i].type = type;
		return true;
	}
	return false;
}

static bool has_waited(const struct gc_batch *batch, uint64_t now)
{
	return now - batch->entries[0].time > rate_waiting_max(batch->thread->provider);
}

void batch_check(struct gcprof_thread *thread, uint64_t now)
{
	const struct gc_batch *batch = thread->batch;

	if (batch && batch->count && has_waited(batch, now))
		batch_flush(thread);
}

void batch_end(struct gcprof_thread *thread)
{
	batch_flush(thread);
	if (thread->batch)
		forget(thread->batch);
}

void batch_forked(struct gcprof_thread *thread)
{
	struct gc_batch *batch = thread->batch;

	if (!batch)
		return;
	batch_clear(batch);
	forget(batch);
}

/* Whether all consumers of `sample` understand batches; otherwise some would miss samples. */
static bool is_understood(struct gc_batch *batch)
{
	uint32_t consumers = probe_samples_consumers();

	if (consumers > probe_pieces_consumers())
		consumers = probe_pieces_consumers();
	if (consumers != batch->consumers || control_generation() != batch->generation) {
		batch_flush(batch->thread);
		forget(batch);
		batch->consumers = consumers;
		batch->generation = control_generation();
	}
	return consumers && consumers >= probe_sample_consumers();
}

/* The key's entry, or the one to replace: the one due first. */
static struct known *find(struct gc_batch *batch, uint64_t key)
{
	struct known *set = batch->known[key % SETS], *place = set;

	for (int way = 0; way < WAYS; way++) {
		if (set[way].key == key)
			return &set[way];
		if ((int32_t)(set[way].due - place->due) < 0)
			place = &set[way];
	}
	return place;
}

static bool is_known_key(struct known *known, uint64_t key, uint32_t now)
{
	if (known->key != key || !known->uses || (int32_t)(now - known->due) >= 0)
		return false;
	known->uses--;
	return true;
}

/* Updates the credit for a known or unknown stack. */
static void update_credit(struct gc_batch *batch, bool known)
{
	batch->credit += known ? CREDIT_HIT : -1;
	if (batch->credit > CREDIT_MAX)
		batch->credit = CREDIT_MAX;
	if (batch->credit > 0)
		return;
	batch->credit = CREDIT_START;
	batch->skipped = SKIPPED;
}

static bool is_skipped(struct gc_batch *batch)
{
	if (!batch->skipped)
		return false;
	batch->skipped--;
	return true;
}

static uint32_t known_until(const struct gc_batch *batch, uint32_t now)
{
	return now + (now - batch->began < SETTLED_MS ? AGAIN_EARLY : AGAIN_LATE);
}

static void append(struct gc_batch *batch, const struct probe_sample *sample, uint64_t key)
{
	batch->entries[batch->count++] = (struct gcprof_sample){
		.sample = sample->sample,
		.time = batch->latest,
		.type = sample->type,
		.size = sample->size,
		.period = sample->period,
		.stack = key,
		.kind = sample->kind,
	};
	if (batch->count == GCPROF_SAMPLES_MAX || has_waited(batch, batch->latest))
		batch_flush(batch->thread);
}

/* Whether samples come in quick succession. Only those need to be cheap; others would form batches
 * of one. */
static bool is_quick(struct gc_batch *batch)
{
	uint64_t before = batch->latest;

	batch->latest = system_now();
	return batch->latest - before <= rate_waiting_max(batch->thread->provider);
}

/* Whether the pieces from index `from` on are known. */
static bool are_known(struct gc_batch *batch, size_t from, uint32_t now)
{
	for (size_t i = from; i < batch->pieces.n; i++) {
		uint64_t key = batch->pieces.piece[i].piece;

		if (!is_known_key(find(batch, key), key, now))
			return false;
	}
	return true;
}

/* Adds a stack of known pieces to the batch. */
static void define(struct gc_batch *batch, uint64_t key)
{
	const struct pieces *pieces = &batch->pieces;
	uint64_t *word = batch->words + batch->n_words;
	struct gcprof_stack stack = {key, (uint32_t)batch->same,
				     (uint32_t)(pieces->n - batch->same)};

	memcpy(word, &stack, sizeof(stack));
	word += STACK_WORDS;
	for (size_t i = batch->same; i < pieces->n; i++)
		*word++ = pieces->piece[i].piece;
	batch->n_words = (size_t)(word - batch->words);
	batch->same = pieces->n;
	batch->last = key;
}

/* Adds the stack to the batch if it is known. */
static bool is_known(struct gc_batch *batch, uint64_t key, size_t kept)
{
	const struct pieces *pieces = &batch->pieces;
	uint32_t now = milliseconds(batch->latest);

	if (batch->same > kept)
		batch->same = kept;
	if (batch->last && batch->same == pieces->n && key == batch->last)
		return true;
	if (!are_known(batch, batch->same, now))
		return false;
	if (batch->n_words + STACK_WORDS + pieces->n - batch->same > GCPROF_STACK_WORDS_MAX) {
		/* The next batch is self-contained, so it needs the outer pieces as well. */
		batch_flush(batch->thread);
		if (!are_known(batch, 0, now))
			return false;
	}
	define(batch, key);
	return true;
}

/* Reports the pieces of an unknown stack; the next sample reports the stack. */
static void announce(struct gc_batch *batch, uint64_t key)
{
	const struct pieces *pieces = &batch->pieces;
	uint32_t until = known_until(batch, milliseconds(batch->latest));

	batch_flush(batch->thread);
	for (size_t i = 0; i < pieces->n; i++) {
		uint64_t piece = pieces->piece[i].piece;

		*find(batch, piece) = (struct known){piece, until, USES_MAX};
	}
	probe_pieces(
		&(struct probe_pieces){.stack = key, .pieces = pieces->piece, .count = pieces->n});
}

static uint64_t hash_frames(const struct gcprof_frame *frames, uint32_t n, uint32_t how)
{
	const uint64_t factor = UINT64_C(0xff51afd7ed558ccd);
	uint64_t hash = how * factor; /* not `how`: that could cancel out in the first line */

	for (uint32_t i = 0; i < n; i++) {
		hash ^= (uint64_t)frames[i].code << 32 | frames[i].line;
		hash *= factor;
		hash ^= hash >> 29;
	}
	return hash ? hash : 1;
}

/*
 * For a thread that walks its own frames, which are reported once, like the pieces of a stack.
 * `batch` is NULL if the sample cannot wait. False: it must be reported unbatched.
 */
static bool take_walked(struct gcprof_thread *thread, struct gc_batch *batch,
			struct probe_sample *sample)
{
	struct gcprof_frame frames[GCPROF_FRAMES_MAX];
	uint32_t n = thread->walk(thread->walk_context, frames, GCPROF_FRAMES_MAX);
	uint32_t now = batch ? milliseconds(batch->latest) : 0;
	uint64_t key;

	if (!n || n > GCPROF_FRAMES_MAX)
		return false;
	sample->stack = key = hash_frames(frames, n, thread->walk_how);
	if (!batch || !is_known_key(find(batch, key), key, now)) {
		batch_flush(thread);
		probe_stack(&(struct probe_stack){key, frames, n, thread->walk_how});
		if (batch) {
			*find(batch, key) = (struct known){key, known_until(batch, now), USES_MAX};
			/* The sample must not be older than the stack that it refers to. */
			batch->latest = system_now();
		}
	}
	if (!batch || thread->walk_how != GCPROF_STACK_WHOLE)
		return false;
	append(batch, sample, key);
	return true;
}

void gcprof_thread_walk(struct gcprof_thread *thread, gcprof_walk *walk, void *context,
			uint32_t how)
{
	thread->walk = walk;
	thread->walk_context = context;
	thread->walk_how = how;
}

/* The batch, or NULL if the sample cannot wait. */
static struct gc_batch *ready_batch(struct gcprof_thread *thread)
{
	struct gc_batch *batch = thread->provider->options.no_batching ? NULL : batch_of(thread);

	return batch && is_understood(batch) && is_quick(batch) ? batch : NULL;
}

bool batch_take(struct gcprof_thread *thread, struct probe_sample *sample)
{
	struct gc_batch *batch = ready_batch(thread);
	size_t kept;
	uint64_t key;
	bool known;

	if (thread->walk)
		return take_walked(thread, batch, sample);
	if (!batch || is_skipped(batch))
		return false;
	key = pieces_take(&batch->pieces, thread->anchor, &kept);
	if (!key) {
		batch->same = 0;
		return false;
	}
	known = is_known(batch, key, kept);
	update_credit(batch, known);
	if (known) {
		append(batch, sample, key);
		return true;
	}
	/* Stacks read before a file was loaded may contain its code: only pieces that take all
	 * files into account may become known. */
	if (fingerprint_refresh(&batch->pieces.fingerprint)) {
		batch_flush(thread);
		forget(batch);
		return false;
	}
	announce(batch, key);
	sample->stack = key;
	return false;
}
