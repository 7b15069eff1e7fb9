/* SPDX-License-Identifier: BSD-2-Clause */
/* wait_events.h: contract 2, why threads are off their CPUs; part of events.h. */
#ifndef GCPROF_WAIT_EVENTS_H
#define GCPROF_WAIT_EVENTS_H

/* Stored in profiles: never reused. */
enum wait_reason {
	WAIT_CALL,      /* in a system call, until something happened */
	WAIT_FAULT,     /* outside of one: for a page, as a rule */
	WAIT_PREEMPTED, /* it could have run: others had the CPU */
	WAIT_STOPPED,   /* by a signal or a debugger */
	WAIT_REASONS
};

enum wait_flag {
	WAIT_IN_CALL = 1,  /* `number` is that of the system call */
	WAIT_COMPAT = 2,   /* which is a 32-bit one */
	WAIT_LEFT = 4,     /* its stack is in the `leave` record of its begin */
	WAIT_AT_ONCE = 16, /* to be reported when it is over, not at the end of its call */
	WAIT_OPEN = 8,     /* it was not over when the recording, or the thread, ended */
};

#endif
