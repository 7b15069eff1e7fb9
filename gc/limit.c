/* SPDX-License-Identifier: BSD-2-Clause */
/* limit.c: the only writer of a thread's allocation limit. */
/*
 * The limit is the tightest of three reasons to leave the fast path: the zeroed
 * part of the buffer ends, the next sample is due, or somebody wants the thread
 * to stop, or to look at the sampler's settings [limit].
 * Nobody else writes it, so whatever changes one of the reasons calls
 * limit_update() and need not know of the others.
 */
#include "internal.h"

/* Where the limit belongs when nobody wants the thread to stop. */
char *limit_wanted(const struct gc_thread *thread)
{
	int64_t left = sampler_bytes_left(&thread->sampler);

	/* An allocation that contains the byte number `left` must be seen: it ends at or
	 * behind that byte, that is, past the one before it. */
	if (left - 1 < thread->zeroed - thread->segment)
		return thread->segment + (left - 1);
	return thread->zeroed;
}

/* Called by the thread itself. */
void limit_update(struct gc_thread *thread)
{
	char **limit = &thread->head.limit;

	/* A request sets `stop` (or `news`) and then the limit; we set the limit and then look at
	 * `stop`. In whatever order the two meet, the limit ends up as 0. */
	__atomic_store_n(limit, limit_wanted(thread), __ATOMIC_SEQ_CST);
	if (threads_stop_wanted(thread->heap) || __atomic_load_n(&thread->news, __ATOMIC_SEQ_CST))
		__atomic_store_n(limit, NULL, __ATOMIC_SEQ_CST);
}

/* Makes the thread leave its fast path at the next allocation or safepoint. Any thread. */
void limit_request(struct gc_thread *thread)
{
	__atomic_store_n(&thread->head.limit, NULL, __ATOMIC_SEQ_CST);
}

/*
 * Takes the thread's buffer away; the world is stopped or it is the thread
 * itself. `free` must not become NULL: a limit of 0 has to stay below it, or a
 * thread without a buffer would miss requests in its safepoints.
 */
void limit_drop_buffer(struct gc_thread *thread)
{
	char *base = thread->heap->nursery.base;

	thread->head.free = base;
	thread->segment = base;
	thread->zeroed = base;
	thread->end = base;
	__atomic_store_n(&thread->head.limit, base, __ATOMIC_SEQ_CST);
}
