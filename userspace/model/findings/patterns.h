/* SPDX-License-Identifier: BSD-2-Clause */
/* patterns.h: functions whose callers lose time in a known way, and the program's own ones. */
#ifndef GCPROF_PATTERNS_H
#define GCPROF_PATTERNS_H

#include <stdbool.h>

struct model_function;

enum pattern_class {
	PATTERN_NONE,
	PATTERN_IDLE,     /* waits for work */
	PATTERN_LOCK,     /* takes a lock, or waits for it */
	PATTERN_TAKE,     /* takes or releases a lock that may be free: others wait in LOCK */
	PATTERN_GIL,      /* takes CPython's lock of the interpreter */
	PATTERN_SPIN,     /* gives up the CPU, to try again */
	PATTERN_REPEATED, /* prepares what could be kept */
	PATTERN_SLOW_WAY, /* of which there is a faster one */
	PATTERN_MATCHING, /* matches regular expressions */
	PATTERN_WRITES,   /* writes a value as text ... */
	PATTERN_READS,    /* ... and makes one of it */
	PATTERN_HANDOVER, /* lets goroutines stop and start */
	PATTERN_QUERY,    /* asks a database */
	PATTERN_PEER,     /* reads from a connection */
	PATTERN_COPYING,
	PATTERN_ERRORS, /* makes or throws an exception */
	PATTERN_FAULTS, /* page faults */
	PATTERN_CLASSES
};

struct pattern {
	enum pattern_class class;
	const char *function, *file, *remedy;
};

/* The pattern of a function; NULL: none. */
const struct pattern *pattern_of(const struct model_function *function);

/* Who wrote a function: in Java its package says so; in Go, Python and Node.js its source file. */
enum owner {
	OWNER_SYSTEM,  /* a runtime's, its library's or the system's */
	OWNER_PACKAGE, /* of a package that was installed */
	OWNER_PROGRAM, /* the program's own */
};

enum owner owner_of(const struct model_function *function);

/* Does it only begin a program, as main() and Python's <module> do? */
bool is_entry(const struct model_function *function);

#endif
