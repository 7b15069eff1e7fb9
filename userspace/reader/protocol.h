/* SPDX-License-Identifier: BSD-2-Clause */
/* protocol.h: the messages between the recorder and its worker processes. */
/*
 * Over a SOCK_SEQPACKET socket, which keeps messages apart; descriptors travel with
 * them (SCM_RIGHTS). The recorder sends one request at a time: a struct
 * worker_request, then the request's own bytes. The worker answers with any number
 * of messages, each a struct worker_reply and bytes; the one with WORKER_LAST is the
 * end of the answer. A reply with WORKER_ASKS is a question in between: the recorder
 * answers it with a message and, if it has the file, a descriptor.
 *
 * The recorder trusts no answer of the reader, which has read files that are not
 * trusted.
 */
#ifndef GCPROF_READER_PROTOCOL_H
#define GCPROF_READER_PROTOCOL_H

#include <stdint.h>

/* What a process is started as: the name by which main() knows what to be. */
#define WORKER_READER   "gcprof-reader"
#define WORKER_OPENER   "gcprof-opener"
#define WORKER_ATTACHER "gcprof-attacher"
#define WORKER_ROWS     "gcprof-rows"

#define WORKER_NICE "GCPROF_NICE" /* its only environment: how nice it is to be */

#define WORKER_SOCKET      0          /* the worker's descriptor */
#define WORKER_MESSAGE_MAX (60 << 10) /* bytes of one message */
#define WORKER_FDS_MAX     8          /* descriptors of one message */

enum worker_request_kind {
	READ_FACTS = 1, /* an ELF file: struct file_facts, then its probe sites */
	READ_ROWS,      /* an ELF file: its unwind rows, see rows.h */
	READ_NAMES,     /* places in a file: their names, see names.h */
	READ_KERNEL,    /* /proc/kallsyms and addresses: likewise */
	READ_CODE,      /* perf maps or jitdump files and addresses: likewise */
	READ_TYPES,     /* numbers of types of a file's runtime: likewise */
	READ_JAVA,     /* memory (remote_memory.h) of a Java virtual machine and frames: likewise */
	READ_BYTECODE, /* interpreted functions as they were reported: likewise */
	READ_STACK,    /* a stack dump: its frames, see dumps.h */
	READ_HEAP,     /* memory of a program: its own heap profile, see heap_profile.h */
	READ_TABLE,    /* memory of a program: its name table, see name_table.h */
	READ_PROFILE,  /* a profile: its rows, see ../fleet/rows.h */
};

struct worker_request {
	uint32_t kind;
	uint32_t size; /* of what follows */
};

enum worker_reply_flags {
	WORKER_LAST = 1,
	WORKER_ASKS = 2,
};

struct worker_reply {
	uint32_t flags;
	int32_t err; /* with WORKER_LAST: 0 or a negative errno */
};

#endif
