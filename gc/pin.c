/* SPDX-License-Identifier: BSD-2-Clause */
/* pin.c: pinned objects, and identity hashes. */
/*
 * Nothing in the old generation ever moves. So pinning an object promotes it, by a
 * minor collection if it is in the nursery, and keeps it alive. The nursery has no
 * gaps, so pins do not affect allocation or the sampler.
 */
#include "collect.h"
#include "limit.h"
#include "nursery.h"

int gc_pin(struct gc_thread *thread, void **slot)
{
	struct gc_heap *heap = thread->heap;

	if (!*slot)
		return gcprof_error_set(-EINVAL, "gc_pin: there is no object");
	if (nursery_has(&heap->nursery, *slot)) {
		nursery_account(thread);
		collect_run(thread, COLLECT_MINOR, GCPROF_REASON_EXPLICIT, COLLECT_ALWAYS);
		limit_update(thread);
	}
	if (nursery_has(&heap->nursery, *slot))
		return gcprof_error_set(-EINVAL,
					"gc_pin: the reference is not in a frame, root or object");
	heap_lock(heap);
	worklist_push(&heap->pins, *slot);
	pthread_mutex_unlock(&heap->lock);
	return 0;
}

void gc_unpin(struct gc_thread *thread, void *object)
{
	struct gc_heap *heap = thread->heap;

	heap_lock(heap);
	worklist_remove(&heap->pins, object);
	pthread_mutex_unlock(&heap->lock);
}

/* Mixes consecutive numbers so that all bits vary. A bijection: only 0 gives 0. */
static uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= UINT32_C(0x7feb352d);
	x ^= x >> 15;
	x *= UINT32_C(0x846ca68b);
	return x ^ x >> 16;
}

/* The hash is in the header, which moves with the object. */
uint32_t gc_identity_hash(struct gc_thread *thread, void *object)
{
	struct gc_header *header = object;
	uint32_t known = __atomic_load_n(&header->aux, __ATOMIC_RELAXED), fresh;

	if (known)
		return known;
	do
		fresh = mix(__atomic_add_fetch(&thread->heap->last_hash, 1, __ATOMIC_RELAXED));
	while (!fresh);
	/* Another thread may have set it first. */
	if (__atomic_compare_exchange_n(&header->aux, &known, fresh, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		return fresh;
	return known;
}
