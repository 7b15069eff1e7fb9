/* SPDX-License-Identifier: BSD-2-Clause */
/* limit.c: the only writer of a thread's allocation limit. */
/*
 * The limit is the tightest of three reasons to leave the fast path: the zeroed
 * part of the buffer ends, the next sample is due, or the thread is to
 * stop, or to read the sampler's settings [limit].
 * Nothing else writes it, so whatever changes one of the reasons calls
 * limit_update() and need not know of the others.
 */
#include "limit.h"

/* How far allocation may go before it hits a sample. */
static int64_t bytes_left(const struct gc_thread *thread)
{
	return GCPROF_NO_SAMPLING ? INT64_MAX : gcprof_bytes_left(thread->sampler);
}

char *limit_wanted(const struct gc_thread *thread)
{
	int64_t left = bytes_left(thread);

	/* An allocation that contains the byte number `left` must be seen: it ends at or
	 * behind that byte, that is, past the one before it. */
	if (left - 1 < thread->zeroed - thread->segment)
		return thread->segment + (left - 1);
	return thread->zeroed;
}

/*
 * Called by the thread itself. A request sets `stop` (or `news`) and then the limit;
 * we set the limit and then read `stop`. If the processor does our two in the
 * other order, which only a barrier could prevent, and the request falls between
 * them, then it is lost until the next update. A barrier would have to wait for the
 * stores that zero the buffer, at each piece of it. So who waits for a stop asks
 * again after a while; news can wait for the next piece.
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

/* `free` must not become NULL: a limit of 0 has to stay below it, or a thread without a buffer
 * would miss requests in its safepoints. */
void limit_drop_buffer(struct gc_thread *thread)
{
	char *base = thread->heap->nursery.base;

	thread->head.free = base;
	thread->segment = base;
	thread->zeroed = base;
	thread->end = base;
	__atomic_store_n(&thread->head.limit, base, __ATOMIC_SEQ_CST);
}
