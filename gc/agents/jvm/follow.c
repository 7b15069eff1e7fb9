/* SPDX-License-Identifier: BSD-2-Clause */
/* follow.c: follows sampled objects of a Java virtual machine until they die. */
/*
 * A weak reference to each object tells when the collector has found it dead. Whether a live object
 * has survived a collection is decided by a *canary*: an unused object with only a weak reference.
 * Every collection covers the objects that existed when one of its pauses began. So objects
 * allocated between the same two pauses are covered by the same collections. The first of them
 * allocates a canary; when the canary is dead, the live ones have survived. This works for any
 * collector: pauses that collect nothing young, and concurrent marking, leave canaries alive.
 *
 * Allocating threads only append to a list. One thread sweeps after pauses: young objects each
 * time, old ones as long as that takes at most a part of its time.
 */
#include "jvm.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum {
	CANARIES = 64, /* alive at once; a power of two */
	OLD_PART = 64, /* 1 / OLD_PART of the time may be spent on old objects */
};

struct followed {
	jvm_object object; /* weak */
	uint64_t sample;
	uint32_t canary;
	uint32_t born; /* collections before it */
};

struct list {
	struct followed *items;
	uint32_t count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the next ones */
static struct list fresh;
static uint32_t total; /* objects in all lists */
static uint64_t canary_pauses;
static uint32_t canaries_begin, canaries_end; /* range of canaries that may be alive */
static jvm_object canaries[CANARIES];         /* weak */
static jvm_object object_class;               /* global; NULL: nothing is followed */

static uint64_t pauses; /* so far; atomic */

/* Used by the sweeping thread only. */
static struct list young, old;
static uint32_t collections;
static uint64_t old_next; /* time from which old objects may be swept again, ns */
static bool old_waits;    /* old objects were not swept after the last pause */
static struct gcprof_fate fates[GCPROF_FATE_MAX];
static uint32_t n_fates;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool list_create(struct list *list, size_t most)
{
	list->count = 0;
	list->items = malloc(most * sizeof(*list->items));
	return list->items;
}

static void list_free(struct jni *jni, struct list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		jni->functions->delete_weak(jni, list->items[i].object);
	free(list->items);
	*list = (struct list){0};
}

int follow_begin(struct jni *jni)
{
	jvm_object class = jni->functions->find_class(jni, "java/lang/Object");
	bool done = class && list_create(&fresh, FOLLOWED_MAX) &&
		    list_create(&young, FOLLOWED_MAX) && list_create(&old, FOLLOWED_MAX);

	collections = 0;
	old_next = 0;
	pthread_mutex_lock(&lock);
	canaries_begin = canaries_end = total = 0;
	object_class = done ? jni->functions->new_global(jni, class) : NULL;
	done = object_class;
	pthread_mutex_unlock(&lock);
	if (class)
		jni->functions->delete_local(jni, class);
	else
		jni->functions->exception_clear(jni);
	if (!done)
		follow_end(jni);
	return done ? 0 : -ENOMEM;
}

void follow_end(struct jni *jni)
{
	pthread_mutex_lock(&lock);
	for (; canaries_begin != canaries_end; canaries_begin++)
		jni->functions->delete_weak(jni, canaries[canaries_begin % CANARIES]);
	if (object_class)
		jni->functions->delete_global(jni, object_class);
	object_class = NULL;
	list_free(jni, &fresh);
	pthread_mutex_unlock(&lock);
	list_free(jni, &young);
	list_free(jni, &old);
}

/* --- threads that allocate ---------------------------------------------------------- */

void follow_pause(void)
{
	__atomic_add_fetch(&pauses, 1, __ATOMIC_RELAXED);
}

/* Makes sure that there is a canary since the last pause. With the lock: HotSpot takes no samples
 * while a thread reports one, so this function is not reentered. */
static bool has_canary(struct jni *jni)
{
	uint64_t now = __atomic_load_n(&pauses, __ATOMIC_RELAXED);
	jvm_object canary, weak;

	if (canaries_end != canaries_begin && canary_pauses == now)
		return true;
	if (canaries_end - canaries_begin == CANARIES)
		return false;
	canary = jni->functions->alloc_object(jni, object_class);
	weak = canary ? jni->functions->new_weak(jni, canary) : NULL;
	if (!weak) {
		jni->functions->exception_clear(jni);
		return false;
	}
	jni->functions->delete_local(jni, canary);
	canaries[canaries_end++ % CANARIES] = weak;
	/* After a pause in the meantime, the next sample gets another canary. */
	canary_pauses = now;
	return true;
}

void follow_object(struct jni *jni, jvm_object object)
{
	struct followed followed = {.object = NULL};

	if (jni->functions->exception_check(jni))
		return;
	pthread_mutex_lock(&lock);
	if (object_class && total < FOLLOWED_MAX && has_canary(jni))
		followed.object = jni->functions->new_weak(jni, object);
	if (followed.object) {
		followed.sample = gcprof_followed();
		followed.canary = canaries_end - 1;
		fresh.items[fresh.count++] = followed;
		total++;
	} else if (jni->functions->exception_check(jni)) {
		jni->functions->exception_clear(jni);
	}
	pthread_mutex_unlock(&lock);
}

/* --- the thread that sweeps --------------------------------------------------------- */

static void flush(struct gcprof_thread *thread)
{
	if (n_fates)
		gcprof_outcomes(thread, fates, n_fates);
	n_fates = 0;
}

static void report(struct gcprof_thread *thread, const struct followed *followed, uint32_t outcome,
		   uint32_t survived)
{
	fates[n_fates++] = (struct gcprof_fate){
		.sample = followed->sample, .outcome = outcome, .collections = survived};
	if (n_fates == GCPROF_FATE_MAX)
		flush(thread);
}

static bool is_dead(struct jni *jni, jvm_object weak)
{
	return jni->functions->is_same(jni, weak, NULL);
}

/* Moves objects since the last sweep to the young ones, and drops dead canaries. Returns the number
 * of the first canary that may be alive. */
static uint32_t take_fresh(struct jni *jni)
{
	uint32_t begin;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < fresh.count; i++) {
		fresh.items[i].born = collections;
		young.items[young.count++] = fresh.items[i];
	}
	fresh.count = 0;
	begin = canaries_begin;
	while (canaries_begin != canaries_end && is_dead(jni, canaries[canaries_begin % CANARIES]))
		jni->functions->delete_weak(jni, canaries[canaries_begin++ % CANARIES]);
	collections += begin != canaries_begin;
	begin = canaries_begin;
	pthread_mutex_unlock(&lock);
	return begin;
}

/* Reports and drops dead objects. `alive` is the first canary that may be alive: objects with a
 * later one stay in the list, survivors move to the old ones. */
static uint32_t sweep(struct jni *jni, struct gcprof_thread *thread, struct list *list,
		      uint32_t alive)
{
	uint32_t kept = 0, dead = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct followed *followed = &list->items[i];

		if (is_dead(jni, followed->object)) {
			report(thread, followed, list == &old ? GCPROF_DIED_OLD : GCPROF_DIED_YOUNG,
			       list == &old ? collections - followed->born : 0);
			jni->functions->delete_weak(jni, followed->object);
			dead++;
		} else if (list == &young && (int32_t)(followed->canary - alive) < 0) {
			report(thread, followed, GCPROF_PROMOTED, 1);
			old.items[old.count++] = *followed;
		} else {
			list->items[kept++] = *followed;
		}
	}
	list->count = kept;
	return dead;
}

void follow_sweep(struct jni *jni, struct gcprof_thread *thread, bool paused)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC), used = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint32_t alive, dead = 0;

	old_waits |= paused;
	if (!paused && (!old_waits || began < old_next))
		return;
	alive = take_fresh(jni);
	/* Old ones first, because the sweep of young ones adds objects that it has just found
	 * alive. */
	if (began >= old_next) {
		dead = sweep(jni, thread, &old, alive);
		/* Excludes time spent waiting for a processor, which may be a hundred times as
		 * much. */
		used = clock_ns(CLOCK_THREAD_CPUTIME_ID) - used;
		old_next = clock_ns(CLOCK_MONOTONIC) + used * OLD_PART;
		old_waits = false;
	}
	dead += sweep(jni, thread, &young, alive);
	flush(thread);
	pthread_mutex_lock(&lock);
	total -= dead;
	pthread_mutex_unlock(&lock);
}
