/* SPDX-License-Identifier: BSD-2-Clause */
/* journal.c: tells short collections together where one by one would cost too much. */
/*
 * A collection that finds nothing alive takes two microseconds, and a program
 * that allocates gigabytes a second makes thousands of them each second. Firing
 * gc_begin and gc_end takes longer than that. So there is a ceiling: so many a
 * second are told one by one, and all that take long. What goes beyond waits
 * here with its times, figures, phases and fates, and `collections` tells up to 64 of them
 * at once. A recorder sees the same as from probes that fire at these times, but
 * for what only the kernel knows: resident set and page faults.
 *
 * What must be known while it happens is how long the process has collected: a
 * recorder compares that at the begin and the end of a system call. It finds it
 * in `gcprof_pauses` (frame.h), whose address it knows from the first firing;
 * nothing waits before that one. The word counts for one collection at a time: a
 * heap that collects while another one does has its own told at once.
 */
#include "internal.h"

#if !GCPROF_NO_SAMPLING

#define MS       UINT64_C(1000000)
#define LONG_NS  (1 * MS)    /* one does not wait if the last of its kind took so long */
#define BURST_NS (1000 * MS) /* of the ceiling: what may have been saved up */

struct gc_journal {
	struct gc_thread *thread;
	struct gc_journal *next; /* of the same thread, in other heaps */
	uint32_t listeners;      /* when we last looked */
	uint32_t arrivals;       /* the same */
	bool known;              /* something was told: they know where the pauses are */
	bool open;               /* entry number `count` is under way */
	uint32_t count, n_fates;
	struct gcprof_collection entries[GCPROF_COLLECTIONS_MAX];
	struct gcprof_fate fates[GCPROF_FATE_MAX];
};

static struct gcprof_pauses pauses;

/* Those of the calling thread, for exit. */
static _Thread_local struct gc_journal *mine;

static struct gc_journal *journal_of(struct gc_thread *thread)
{
	struct gc_journal *journal = thread->sampler.journal;

	if (journal)
		return journal;
	journal = os_map(sizeof(*journal));
	if (!journal)
		return NULL;
	journal->thread = thread;
	journal->next = mine;
	mine = journal;
	thread->sampler.journal = journal;
	return journal;
}

void journal_free(struct gc_thread *thread)
{
	struct gc_journal *journal = thread->sampler.journal;

	for (struct gc_journal **link = &mine; *link; link = &(*link)->next) {
		if (*link == journal) {
			*link = journal->next;
			break;
		}
	}
	os_unmap(journal, sizeof(*journal));
	thread->sampler.journal = NULL;
}

static uint32_t count_phases(uint32_t phases)
{
	uint32_t n = 0;

	for (; phases; phases >>= GCPROF_PHASE_BITS)
		n++;
	return n;
}

/* Of all that are over. */
static uint32_t waiting_phases(const struct gc_journal *journal)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < journal->count; i++)
		n += count_phases(journal->entries[i].phases);
	return n;
}

/* The collection under way, if there is one, stays. */
static void tell(struct gc_journal *journal)
{
	const struct gcprof_collection *open = &journal->entries[journal->count];
	uint32_t kept = journal->open ? open->fates : 0, told = journal->n_fates - kept;

	probe_collections(&(struct probe_collections){
		.entries = journal->entries,
		.count = journal->count,
		.fates = journal->fates,
		.n_fates = told,
		.pauses = &pauses,
		.phases = waiting_phases(journal),
	});
	if (journal->open)
		journal->entries[0] = *open;
	memmove(journal->fates, journal->fates + told, kept * sizeof(journal->fates[0]));
	journal->n_fates = kept;
	journal->count = 0;
	journal->known = true;
}

void journal_flush(struct gc_thread *thread)
{
	struct gc_journal *journal = thread->sampler.journal;

	batch_flush(thread);
	if (journal && journal->count)
		tell(journal);
}

/* A thread that others want the CPU of takes a millisecond for a short one, too. */
static bool is_long(const struct gc_heap *heap, uint64_t ns)
{
	return ns >= LONG_NS * rate_thrift(heap);
}

static bool has_waited(const struct gc_journal *journal, uint64_t now)
{
	return now - journal->entries[0].begin > rate_waiting_max(journal->thread->heap);
}

void journal_look(struct gc_thread *thread, uint64_t now)
{
	const struct gc_journal *journal = thread->sampler.journal;

	if (journal && journal->count && has_waited(journal, now))
		journal_flush(thread);
}

uint64_t journal_due(struct gc_thread *thread)
{
	const struct gc_journal *journal = thread->sampler.journal;
	uint64_t now, then;

	if (!journal || !journal->count)
		return 0;
	now = os_now();
	then = journal->entries[0].begin + rate_waiting_max(thread->heap);
	if (now < then)
		return then - now;
	journal_flush(thread);
	return 0;
}

uint32_t journal_waiting(const struct gc_thread *thread)
{
	return thread->sampler.journal ? thread->sampler.journal->count : 0;
}

/* Starts counting a collection; false: there is one of another heap. */
static bool pauses_begin(const struct gc_thread *self, uint64_t now)
{
	uint64_t total = __atomic_load_n(&pauses.clock, __ATOMIC_RELAXED);

	if (total & 1 || !__atomic_compare_exchange_n(&pauses.clock, &total, total - 2 * now + 1,
						      false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&pauses.anchor, (uintptr_t)&self->head.anchor, __ATOMIC_RELAXED);
	return true;
}

static void pauses_end(uint64_t now)
{
	uint64_t running = __atomic_load_n(&pauses.clock, __ATOMIC_RELAXED);

	__atomic_store_n(&pauses.anchor, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&pauses.clock, running - 1 + 2 * now, __ATOMIC_RELEASE);
}

void journal_forked(struct gc_thread *thread)
{
	struct gc_journal *journal = thread->sampler.journal;

	/* A thread that is gone had begun to collect. */
	if (pauses.clock & 1)
		pauses_end(os_now());
	if (!journal)
		return;
	journal->count = 0;
	journal->n_fates = 0;
	journal->known = false;
}

/* Everybody who listens to collections or fates must understand this, or would miss some. */
static bool is_understood(struct gc_journal *journal)
{
	uint32_t listeners = probe_collections_listeners();

	if (listeners != journal->listeners || sampler_arrivals() != journal->arrivals) {
		journal_flush(journal->thread);
		journal->known = false;
		journal->listeners = listeners;
		journal->arrivals = sampler_arrivals();
	}
	return listeners && listeners >= probe_gc_begin_listeners() &&
	       listeners >= probe_gc_end_listeners() && listeners >= probe_fate_listeners() &&
	       listeners >= probe_phase_listeners();
}

/* By default a collection may be told by itself for so many samples. */
enum { SAMPLES_EACH = 20 };

/* So many may a second. A recorder that asks for fewer samples wants to be disturbed less. */
static uint64_t get_ceiling(const struct gc_heap *heap)
{
	uint64_t samples = __atomic_load_n(&heap->sampler.ceiling, __ATOMIC_RELAXED);
	uint64_t ceiling = heap->options.gc_ceiling;

	if (samples >= heap->options.ceiling || samples / SAMPLES_EACH >= ceiling)
		return ceiling;
	return samples / SAMPLES_EACH + 1;
}

/*
 * May one more be told by itself? A bucket of tokens, kept as the time from which on
 * the next may; that lags behind by what was saved up.
 */
static bool is_below_ceiling(struct gc_heap *heap, uint64_t now)
{
	struct gc_journal_past *past = &heap->sampler.past;

	if (past->next > now)
		return false;
	if (past->next + BURST_NS < now)
		past->next = now - BURST_NS;
	past->next += 1000 * MS / get_ceiling(heap);
	return true;
}

/*
 * Does somebody want each to be told by itself? Whoever asked for that and was killed did not take
 * it back: it does not count any more once nobody listens. Nobody listens yet, either, between
 * asking and attaching; so what counted must have been there while somebody did.
 */
static bool is_wanted_singly(struct gc_journal_past *past)
{
	uint32_t asked = __atomic_load_n(&gcprof_singly.count, __ATOMIC_RELAXED);
	bool heard = probe_gc_begin_listeners() != 0;

	if (!heard && past->singly && asked == past->singly &&
	    __atomic_compare_exchange_n(&gcprof_singly.count, &asked, 0, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		asked = 0;
	past->singly = heard ? asked : 0;
	return asked != 0;
}

/* Is the collection one of those that are told later? */
static bool waits(struct gc_heap *heap, const struct gcprof_collection *collection)
{
	struct gc_journal_past *past = &heap->sampler.past;

	if (is_wanted_singly(past) || !probe_collections_listeners() || heap->options.unbatched ||
	    heap->options.gc_ceiling == UINT64_MAX)
		return false;
	if (collection->kind == GCPROF_GC_FULL || is_long(heap, past->took[collection->kind]))
		return false;
	/* What follows another in the same stop goes with it. */
	if (collection->cycle != collection->stop)
		return past->waited;
	return !is_below_ceiling(heap, collection->begin);
}

bool journal_begin(struct gc_thread *self, const struct gcprof_collection *collection)
{
	struct gc_heap *heap = self->heap;
	struct gc_journal *journal = NULL;

	if (waits(heap, collection))
		journal = journal_of(self);
	if (!journal || !is_understood(journal) || !pauses_begin(self, collection->begin)) {
		journal_flush(self);
		return false;
	}
	journal->entries[journal->count] = *collection;
	journal->open = true;
	return true;
}

void journal_end(struct gc_thread *self, uint64_t end, const struct gcprof_gc_stats *stats)
{
	struct gc_journal *journal = self->sampler.journal;
	struct gcprof_collection *entry = &journal->entries[journal->count];

	pauses_end(end);
	entry->end = end;
	entry->stats = *stats;
	journal->open = false;
	journal->count++;
	if (!journal->known || journal->count == GCPROF_COLLECTIONS_MAX ||
	    is_long(self->heap, end - entry->begin) || has_waited(journal, end))
		journal_flush(self);
}

bool journal_fates(struct gc_thread *self, const struct gcprof_fate *fates, uint32_t count)
{
	struct gc_journal *journal = self->sampler.journal;
	struct gcprof_collection *entry;

	if (!journal || !journal->open)
		return false;
	if (count > GCPROF_FATE_MAX - journal->n_fates) {
		/* Those that are told at once lie within the collection, and behind their samples.
		 */
		journal_flush(self);
		if (count > GCPROF_FATE_MAX - journal->n_fates)
			return false;
	}
	entry = &journal->entries[journal->count];
	memcpy(journal->fates + journal->n_fates, fates, count * sizeof(*fates));
	journal->n_fates += count;
	entry->fates += count;
	return true;
}

bool journal_phase(struct gc_thread *self, uint32_t phase)
{
	struct gc_journal *journal = self->sampler.journal;
	struct gcprof_collection *entry;
	uint32_t n;

	if (!journal || !journal->open)
		return false;
	entry = &journal->entries[journal->count];
	n = count_phases(entry->phases);
	if (n == GCPROF_PHASES_MAX)
		return false;
	entry->phases |= phase << n * GCPROF_PHASE_BITS;
	return true;
}

/* The process ends: what the last thread has is handed over. */
static __attribute__((destructor)) void flush_mine(void)
{
	for (struct gc_journal *journal = mine; journal; journal = journal->next)
		journal_flush(journal->thread);
}

#endif
