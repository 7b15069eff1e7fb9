/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.c: hands samples over by the batch where one by one would cost too much. */
/*
 * Firing a probe costs about a microsecond and walking a stack two more, so a
 * sample whose stack was told before needs neither: it waits here, with the time
 * at which it was taken, until its batch is full or something comes between.
 * The first sample with a stack fires the `sample` probe as ever, and names the
 * stack's key; those that follow name the key only.
 *
 * A stack is told again after a while and after many uses, so whoever lost a
 * sample comes right by itself; and often in the beginning, when a profiler may
 * not know yet how to walk stacks.
 *
 * Where hardly any stack comes twice all this is in vain, so it is left off for
 * some time.
 */
#include "internal.h"

#if !GCPROF_NO_SAMPLING

enum {
	WAYS = 4, /* keys in a cache line */
	SETS = 16384,
	USES_MAX = 8192,  /* of a key before its stack is told again */
	SETTLED_MS = 250, /* the beginning, of listening or of a library */
	AGAIN_EARLY = 16, /* ms until a stack is told again: in the beginning */
	AGAIN_LATE = 16384,
	CREDIT_HIT = 8, /* less than one stack in nine told before is not worth the search */
	CREDIT_START = 256,
	CREDIT_MAX = 1024,
	SKIPPED = 4096, /* samples, if it is not */
};

#define MS          UINT64_C(1000000)
#define QUIET_NS    (1 * MS)  /* samples that come more rarely do not wait */
#define WAITING_MAX (10 * MS) /* a sample does not wait longer, if the thread comes by */

/* A stack that was told. */
struct known {
	uint64_t key;  /* 0: none */
	uint32_t due;  /* when to tell it again, ms */
	uint32_t uses; /* left until then */
};

struct gc_batch {
	struct gc_thread *thread;
	struct gc_batch *next; /* of the same thread, in other heaps */
	uint64_t latest;       /* sample's time, whether it waits or not */
	uint32_t listeners;    /* when we last looked */
	uint32_t arrivals;     /* the same */
	uint32_t count;
	uint32_t began;   /* ms: no stack had been told before */
	int32_t credit;   /* grows with stacks that were told before, falls with others */
	uint32_t skipped; /* samples that are not looked at, since the credit was used up */
	struct fingerprint fingerprint;
	struct gcprof_sample entries[GCPROF_SAMPLES_MAX];
	struct known known[SETS][WAYS] __attribute__((aligned(4096))); /* OS_PAGE */
};

/* Those of the calling thread, for exit. */
static _Thread_local struct gc_batch *mine;

static struct gc_batch *batch_of(struct gc_thread *thread)
{
	struct gc_batch *batch = thread->sampler.batch;

	if (batch)
		return batch;
	/* Pages are taken as they are used: most programs have few stacks. */
	batch = os_map(sizeof(*batch));
	if (!batch)
		return NULL;
	batch->thread = thread;
	batch->next = mine;
	mine = batch;
	thread->sampler.batch = batch;
	return batch;
}

void batch_free(struct gc_thread *thread)
{
	struct gc_batch *batch = thread->sampler.batch;

	for (struct gc_batch **link = &mine; *link; link = &(*link)->next) {
		if (*link == batch) {
			*link = batch->next;
			break;
		}
	}
	os_unmap(batch, sizeof(*batch));
	thread->sampler.batch = NULL;
}

/* The clock of keys: it may wrap, after 49 days. */
static uint32_t milliseconds(uint64_t ns)
{
	return (uint32_t)(ns / MS);
}

static void forget(struct gc_batch *batch)
{
	os_release(batch->known, sizeof(batch->known));
	batch->began = milliseconds(os_now());
	batch->credit = CREDIT_START;
	batch->skipped = 0;
}

void batch_flush(struct gc_thread *thread)
{
	struct gc_batch *batch = thread->sampler.batch;

	if (!batch || !batch->count)
		return;
	probe_samples(&(struct probe_samples){batch->entries, batch->count});
	batch->count = 0;
}

uint32_t batch_waiting(const struct gc_thread *thread)
{
	return thread->sampler.batch ? thread->sampler.batch->count : 0;
}

void batch_poll(struct gc_thread *thread)
{
	const struct gc_batch *batch = thread->sampler.batch;

	if (batch && batch->count && os_now() - batch->entries[0].time > WAITING_MAX)
		batch_flush(thread);
}

void batch_end(struct gc_thread *thread)
{
	batch_flush(thread);
	if (thread->sampler.batch)
		forget(thread->sampler.batch);
}

void batch_forked(struct gc_thread *thread)
{
	struct gc_batch *batch = thread->sampler.batch;

	if (!batch)
		return;
	batch->count = 0;
	forget(batch);
}

/* Everybody who listens to `sample` must understand batches, or would miss samples. */
static bool is_understood(struct gc_batch *batch)
{
	uint32_t listeners = probe_samples_listeners();

	if (listeners != batch->listeners || sampler_arrivals() != batch->arrivals) {
		batch_flush(batch->thread);
		forget(batch);
		batch->listeners = listeners;
		batch->arrivals = sampler_arrivals();
	}
	return listeners && listeners >= probe_sample_listeners();
}

/* Where the key is, or should be: instead of the one that is due first. */
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

static bool is_told(struct known *known, uint64_t key, uint32_t now)
{
	if (known->key != key || !known->uses || (int32_t)(now - known->due) >= 0)
		return false;
	known->uses--;
	return true;
}

/* Counts one more stack that was told before or was not. */
static void settle_credit(struct gc_batch *batch, bool told)
{
	batch->credit += told ? CREDIT_HIT : -1;
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

static uint32_t told_until(const struct gc_batch *batch, uint32_t now)
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
	if (batch->count == GCPROF_SAMPLES_MAX ||
	    batch->latest - batch->entries[0].time > WAITING_MAX)
		batch_flush(batch->thread);
}

/* Samples that come quickly, one after the other, are the ones to be cheap. */
static bool is_quick(struct gc_batch *batch)
{
	uint64_t before = batch->latest;

	batch->latest = os_now();
	return batch->latest - before <= QUIET_NS;
}

bool batch_take(struct gc_thread *thread, struct probe_sample *sample)
{
	struct gc_batch *batch;
	struct known *known;
	uint64_t key;
	uint32_t now;
	bool told;

	if (thread->heap->options.unbatched)
		return false;
	batch = batch_of(thread);
	if (!batch || !is_understood(batch) || !is_quick(batch) || is_skipped(batch))
		return false;
	key = fingerprint_take(&batch->fingerprint, sample->anchor);
	if (!key)
		return false;
	now = milliseconds(batch->latest);
	known = find(batch, key);
	told = is_told(known, key, now);
	settle_credit(batch, told);
	if (told) {
		append(batch, sample, key);
		return true;
	}
	/* Fingerprints that were taken before a file was loaded may not see its code: only one
	 * that is of all files may become known. */
	if (fingerprint_refresh(&batch->fingerprint)) {
		forget(batch);
		return false;
	}
	*known = (struct known){key, told_until(batch, now), USES_MAX};
	sample->stack = key;
	return false;
}

/* The process ends: what the last thread has is handed over. Other threads' is lost, unless they
 * were detached or block. */
__attribute__((destructor)) static void flush_mine(void)
{
	for (struct gc_batch *batch = mine; batch; batch = batch->next)
		batch_flush(batch->thread);
}

#endif
