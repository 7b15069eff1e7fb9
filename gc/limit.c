/* SPDX-License-Identifier: BSD-2-Clause */
/* limit.c: the only writer of a thread's allocation limit. */
/*
 * The limit is the lowest of three reasons to leave the fast path: the end of the
 * buffer's zeroed part, the next sample, and a request to stop or to read the
 * sampler's settings [limit]. No other file writes it. Code that changes one of
 * the reasons calls limit_update() and need not know the others.
 */
#include "limit.h"

/* Bytes that may be allocated up to the next hit. */
static int64_t bytes_left(const struct gc_thread *thread)
{
	return GCPROF_NO_SAMPLING ? INT64_MAX : gcprof_bytes_left(thread->sampler);
}

char *limit_wanted(const struct gc_thread *thread)
{
	int64_t left = bytes_left(thread);

	/* An allocation that contains byte number `left` must take the slow path: it ends at or
	 * after that byte, that is, beyond the one before it. */
	if (left - 1 < thread->zeroed - thread->segment)
		return thread->segment + (left - 1);
	return thread->zeroed;
}

/*
 * Called by the thread itself. A requester sets `stop` (or `news`) and then the
 * limit; this thread sets the limit and then reads `stop`. If the processor
 * reorders these two, which only a barrier could prevent, and the request falls
 * between them, it is lost until the next update. A barrier would have to wait for
 * the stores that zero each piece of the buffer. So a thread that waits for a stop
 * repeats its request after a while; `news` can wait for the next piece.
 */
void limit_update(struct gc_thread *thread)
{
	char **limit = &thread->head.limit;

	__atomic_store_n(limit, limit_wanted(thread), __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (threads_stop_wanted(thread->heap) || __atomic_load_n(&thread->news, __ATOMIC_SEQ_CST))
		__atomic_store_n(limit, NULL, __ATOMIC_RELEASE);
}

void limit_request(struct gc_thread *thread)
{
	__atomic_store_n(&thread->head.limit, NULL, __ATOMIC_SEQ_CST);
}

/* `free` must not become NULL: a limit of 0 has to be below it, or a thread without a buffer would
 * miss requests at its safepoints. */
void limit_drop_buffer(struct gc_thread *thread)
{
	char *base = thread->heap->nursery.base;

	thread->head.free = base;
	thread->segment = base;
	thread->zeroed = base;
	thread->end = base;
	__atomic_store_n(&thread->head.limit, base, __ATOMIC_SEQ_CST);
}
