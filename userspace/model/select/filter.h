/* SPDX-License-Identifier: BSD-2-Clause */
/* filter.h: what part of a profile is asked for, as a user writes it. */
/*
 *	TERM = KEY "=" VALUE | KEY "!=" VALUE
 *
 *	function, module, type, thread, process	names; * stands for any characters, | separates
 *					alternatives. Threads and processes may be given by
 *					number, a module by its path or the end of it
 *	fiber				the id of a goroutine or the like, alternatives as above
 *	phase				mutator, gc, minor, major (what the event's own thread
 *					or call was held up by), scanning, marking, sweeping,
 *					finalizing (what the major collector was at)
 *	during				syscall:NAME, or syscall for any; wait: time off the CPU
 *	reason				of a wait: call, fault, preempted, stopped
 *	time				FROM..TO since the start, as 1.5s..2s, ..300ms, 10s..
 *
 * An event is selected if all terms hold. Of an event that has no such property (a
 * timer sample has no type) "=" never holds and "!=" always does.
 */
#ifndef GCPROF_FILTER_H
#define GCPROF_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum filter_key {
	FILTER_FUNCTION,
	FILTER_MODULE,
	FILTER_TYPE,
	FILTER_THREAD,
	FILTER_PROCESS,
	FILTER_FIBER,
	FILTER_PHASE,
	FILTER_DURING,
	FILTER_REASON,
	FILTER_TIME,
	FILTER_KEYS
};

struct filter_term {
	enum filter_key key;
	bool negated;
	const char *text;  /* the whole term, borrowed */
	const char *value; /* behind the sign */
	uint64_t from, to; /* of time: ns since the start, to not included */
	const char *calls; /* of during: names of system calls, empty: any; NULL: waits */
};

enum { FILTER_TERMS_MAX = 16 };

struct filter {
	struct filter_term terms[FILTER_TERMS_MAX];
	size_t count;
};

/*
 * Adds a term; `text` must live as long as the filter. -EINVAL with a sentence in
 * `fault` that says what is wrong; -E2BIG if there are too many terms.
 */
int filter_add(struct filter *filter, const char *text, char *fault, size_t size);

/* Does one of the alternatives match the whole name? */
bool filter_matches(const char *alternatives, const char *name);

#endif
