/* SPDX-License-Identifier: BSD-2-Clause */
/* filter.h: the filter language, which selects a part of a profile. */
/*
 *	TERM = KEY "=" VALUE | KEY "!=" VALUE
 *
 *	function, module, type, thread, process
 *		names; * matches any characters, | separates alternatives. Threads and
 *		processes also by number, modules by their path or the end of it
 *	fiber	id of a fiber (a goroutine, for example); alternatives as above
 *	phase	mutator, gc, minor, major: the phase of the event's own thread or call;
 *		scanning, marking, sweeping, finalizing: that of the major collector
 *	during	syscall:NAME, or syscall for any; wait: time off the CPU
 *	reason	of a wait: call, fault, preempted, stopped
 *	time	FROM..TO since the start, such as 1.5s..2s, ..300ms, 10s..
 *
 * An event is selected if all terms hold. If an event lacks the property (a timer sample has no
 * type), "=" never holds and "!=" always does.
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
	const char *value; /* after the operator */
	uint64_t from, to; /* time: ns since the start, `to` excluded */
	const char *calls; /* during: names of system calls, empty: any; NULL: waits */
};

enum { FILTER_TERMS_MAX = 16 };

struct filter {
	struct filter_term terms[FILTER_TERMS_MAX];
	size_t count;
};

/*
 * Adds a term; `text` must outlive the filter. -EINVAL with an explanation in `fault`; -E2BIG if
 * there are too many terms.
 */
int filter_add(struct filter *filter, const char *text, char *fault, size_t size);

/* Does one of the alternatives match the whole name? */
bool filter_matches(const char *alternatives, const char *name);

#endif
