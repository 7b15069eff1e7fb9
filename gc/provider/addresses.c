/* SPDX-License-Identifier: BSD-2-Clause */
/* addresses.c: finds the sample of an object by its address, when the object is freed. */
/*
 * Nearly all freed objects are not samples. gcprof_freed() finds that out without
 * the lock, from an empty list. That is no race: a thread that frees an object has
 * it from the thread that registered it. Two addresses in one list cost time only,
 * so the table does not grow: it has as many lists as there are samples in 32 GiB of
 * live objects, at the default period.
 *
 * Memory is mapped, not allocated, since the client may be the allocator.
 */
#include "batch.h"
#include "data.h"
#include "system.h"

#include <errno.h>

enum { LIST_BITS = 16, LISTS = 1 << LIST_BITS, CHUNK_PLACES = 2047 };

/* An object that is a sample. */
struct place {
	struct place *next;
	uint64_t address, sample;
	uint64_t born; /* bytes allocated until then */
};

struct chunk {
	struct chunk *next;
	struct place places[CHUNK_PLACES];
};

struct addresses {
	struct chunk *chunks;
	struct place *unused;
	struct place *lists[LISTS]; /* by address; atomic */
};

static struct addresses *addresses_of(const struct gcprof_provider *provider)
{
	return __atomic_load_n(&provider->addresses, __ATOMIC_ACQUIRE);
}

static struct place **list_of(struct addresses *addresses, uint64_t address)
{
	return &addresses->lists[address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LIST_BITS)];
}

static bool add_chunk(struct addresses *addresses)
{
	struct chunk *chunk = system_map(sizeof(*chunk));

	if (!chunk)
		return false;
	chunk->next = addresses->chunks;
	addresses->chunks = chunk;
	for (size_t i = 0; i < CHUNK_PLACES; i++) {
		chunk->places[i].next = addresses->unused;
		addresses->unused = &chunk->places[i];
	}
	return true;
}

/* The link to the place of this address, or the end of the list. */
static struct place **find(struct place **link, uint64_t address)
{
	while (*link && (*link)->address != address)
		link = &(*link)->next;
	return link;
}

/* The place of this address, new if there is none; NULL: no memory. */
static struct place *put(struct addresses *addresses, uint64_t address)
{
	struct place **list = list_of(addresses, address), *place = *find(list, address);

	if (place)
		return place;
	if (!addresses->unused && !add_chunk(addresses))
		return NULL;
	place = addresses->unused;
	addresses->unused = place->next;
	place->address = address;
	place->next = *list;
	__atomic_store_n(list, place, __ATOMIC_RELAXED);
	return place;
}

static bool take(struct addresses *addresses, uint64_t address, struct place *out)
{
	struct place **link = find(list_of(addresses, address), address), *place = *link;

	if (!place)
		return false;
	*out = *place;
	__atomic_store_n(link, place->next, __ATOMIC_RELAXED);
	place->next = addresses->unused;
	addresses->unused = place;
	return true;
}

int gcprof_placed(struct gcprof_thread *thread, uint64_t sample, const void *object,
		  uint64_t allocated)
{
	struct gcprof_provider *provider = thread->provider;
	struct place *place = NULL;

	pthread_mutex_lock(&provider->lock);
	if (!provider->addresses)
		__atomic_store_n(&provider->addresses, system_map(sizeof(struct addresses)),
				 __ATOMIC_RELEASE);
	if (provider->addresses)
		place = put(provider->addresses, (uintptr_t)object);
	if (place) {
		place->sample = sample;
		place->born = allocated;
	}
	pthread_mutex_unlock(&provider->lock);
	/* Another thread may report the end at once. */
	batch_flush(thread);
	return place ? 0 : gcprof_error_set(-ENOMEM, "gcprof_placed: out of memory");
}

void gcprof_freed(struct gcprof_thread *thread, const void *object, uint64_t allocated)
{
	struct gcprof_provider *provider = thread->provider;
	struct addresses *addresses = addresses_of(provider);
	struct gcprof_fate fate = {.outcome = GCPROF_FREED};
	struct place place;
	bool found;

	if (!addresses || !__atomic_load_n(list_of(addresses, (uintptr_t)object), __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&provider->lock);
	found = take(addresses, (uintptr_t)object, &place);
	pthread_mutex_unlock(&provider->lock);
	if (!found)
		return;
	fate.sample = place.sample;
	fate.age = allocated > place.born ? allocated - place.born : 0;
	gcprof_outcomes(thread, &fate, 1);
}

void addresses_free(struct gcprof_provider *provider)
{
	struct addresses *addresses = provider->addresses;

	while (addresses && addresses->chunks) {
		struct chunk *chunk = addresses->chunks;

		addresses->chunks = chunk->next;
		system_unmap(chunk, sizeof(*chunk));
	}
	system_unmap(addresses, sizeof(*addresses));
	provider->addresses = NULL;
}
