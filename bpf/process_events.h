/* SPDX-License-Identifier: BSD-2-Clause */
/* process_events.h: records of processes and threads; part of events.h. */
#ifndef GCPROF_PROCESS_EVENTS_H
#define GCPROF_PROCESS_EVENTS_H

struct event_usage {
	struct event_header header;
	uint64_t minor_faults, major_faults; /* page faults while the thread was recorded */
	uint32_t flags;                      /* enum usage_flag */
	uint32_t reserved;
	uint64_t waits[WAIT_REASONS]; /* exact counts, however many have records */
	uint64_t wait_ns[WAIT_REASONS];
	uint64_t wait_max[WAIT_REASONS]; /* the longest, ns */
	uint64_t queued;                 /* ns for which it was runnable without a CPU */
};

enum fork_kind { FORK_THREAD = 1, FORK_PROCESS = 2 };

struct event_fork {
	struct event_header header; /* of the parent */
	uint32_t child_pid;
	uint32_t child_tid;
	uint32_t child_process; /* index; the parent's own for a new thread */
	uint32_t kind;          /* enum fork_kind */
	uint32_t child_ns_pid, child_ns_tid;
	uint32_t child_proc_pid;
	uint32_t user; /* of the child, as in event_task */
};

struct event_task {
	struct event_header header; /* of the thread itself */
	uint32_t ns_pid, ns_tid;
	uint32_t proc_pid;
	uint32_t kernel; /* 1: a kernel thread */
	uint32_t user;   /* real user id, in the initial user namespace */
	uint32_t reserved;
	char name[16]; /* padded with zeroes */
};

struct event_exec {
	struct event_header header; /* time: the old program is gone, the new one not yet mapped */
	uint32_t old_tid;           /* the thread that called exec; it is now the group leader */
	uint32_t name_size;
	uint32_t user, reserved; /* as in event_task */
				 /* tail: the path as given to exec, padded to 8 bytes */
};

struct event_exit {
	struct event_header header;
	uint32_t status; /* as in wait(2) */
	uint32_t last;   /* 1: last thread of the process */
};

/* The header has the victim, though another thread wanted the memory. */
struct event_oom {
	struct event_header header;
};

struct event_replaced {
	struct event_header header;
	uint64_t start, end; /* of what was replaced */
};

struct event_comm {
	struct event_header header;
	char name[16]; /* padded with zeroes */
};

struct event_title {
	struct event_header header;
	uint32_t size;        /* bytes of the command line, at most as many as `text` holds */
	uint32_t overwritten; /* 1: the process wrote a title over it, which ends with a zero */
	char text[248];       /* the arguments, each ended by a zero; or the title */
};

struct event_mmap {
	struct event_header header; /* tid: the process's proc_pid, see above */
	uint64_t address;
	uint64_t length;
	uint64_t offset; /* in the file */
	uint64_t inode;  /* 0: no file */
	uint32_t major, minor;
	uint32_t protection; /* PROT_* */
	uint32_t name_size;
	/* tail: the path, or [vdso], //anon ..., padded to 8 bytes */
};

#endif
