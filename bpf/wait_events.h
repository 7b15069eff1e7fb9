/* SPDX-License-Identifier: BSD-2-Clause */
/* wait_events.h: contract 2: why threads are off the CPU; part of events.h. */
#ifndef GCPROF_WAIT_EVENTS_H
#define GCPROF_WAIT_EVENTS_H

/* Stored in profiles: never reused. */
enum wait_reason {
	WAIT_CALL,      /* blocked in a system call */
	WAIT_FAULT,     /* blocked outside of a call: usually a page fault */
	WAIT_PREEMPTED, /* runnable, but without a CPU */
	WAIT_STOPPED,   /* by a signal or a debugger */
	WAIT_REASONS
};

/* The file that a call waits for, by its first argument. Stored in profiles: never reused. */
enum wait_file {
	WAIT_NO_FILE,   /* unknown, or the argument is no file */
	WAIT_DISK_FILE, /* a file, folder or block device */
	WAIT_PIPE,
	WAIT_SOCKET,     /* it is not known who opened the connection */
	WAIT_SERVER,     /* a socket that connected to its peer */
	WAIT_CLIENT,     /* a socket whose peer connected to it */
	WAIT_DEVICE,     /* a terminal, for example */
	WAIT_OTHER_FILE, /* eventfd, timerfd and so on */
	WAIT_FILES
};

enum wait_flag {
	WAIT_IN_CALL = 1,  /* `number` is that of the system call */
	WAIT_COMPAT = 2,   /* of the 32-bit table */
	WAIT_LEFT = 4,     /* its stack is in the `leave` record of its begin */
	WAIT_AT_ONCE = 16, /* reported when it ends, not at the end of its call */
	WAIT_OPEN = 8,     /* not over when the recording or the thread ended */
};

#endif
