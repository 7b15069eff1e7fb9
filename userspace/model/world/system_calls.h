/* SPDX-License-Identifier: BSD-2-Clause */
/* system_calls.h: what is known of system calls by their names. */
#ifndef GCPROF_SYSTEM_CALLS_H
#define GCPROF_SYSTEM_CALLS_H

#include "../rows.h"

/* What makes a thread wait in a call. */
enum call_class {
	CALL_OTHER,
	CALL_IDLE,  /* for work or time */
	CALL_DISK,  /* until data are on the disk */
	CALL_PEER,  /* for a server */
	CALL_PIPE,  /* for another process */
	CALL_CHILD, /* for a process that it started */
	CALL_FUTEX,
	CALL_FILE_LOCK,
	CALL_FAULT, /* for a page from the disk */
	CALL_CLASSES
};

/* What a call does with a descriptor, or with processes. */
enum call_deed {
	DEED_NONE,
	DEED_CONNECT,
	DEED_ACCEPT,
	DEED_START,
	DEED_OPEN,
	DEED_READ,
	DEED_WRITE,
	DEED_WAIT
};

/* What a wait in it is for is decided by the kind of its file first, or by the stack. */
enum { PLAIN = 0, BY_FILE = 1, BY_STACK = 2 };

/* A row of system_calls.def. */
struct system_call {
	const char *name;
	enum time_part part;
	unsigned decides; /* bits: BY_FILE, BY_STACK */
	enum call_class class;
	enum call_deed deed;
};

/* Never NULL: of other calls, or without a name, nothing is known. */
const struct system_call *system_call_find(const char *name);

#endif
