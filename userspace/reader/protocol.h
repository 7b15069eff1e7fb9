/* SPDX-License-Identifier: BSD-2-Clause */
/* protocol.h: the messages between the recorder and its worker processes. */
/*
 * Messages pass through a SOCK_SEQPACKET socket, which preserves their boundaries, with descriptors
 * (SCM_RIGHTS). A worker that has started sends an empty reply. The recorder sends one request at
 * a time: a struct worker_request, then the request's own bytes. The worker answers with any number
 * of messages, each a struct worker_reply and bytes; WORKER_LAST marks the end of the answer. A
 * reply with WORKER_ASKS is a question in between: the recorder answers it with a message and, if
 * it has the file, a descriptor.
 *
 * The recorder trusts no answer of the reader, which has parsed untrusted files.
 */
#ifndef GCPROF_READER_PROTOCOL_H
#define GCPROF_READER_PROTOCOL_H

#include <stdint.h>

/* The name of the process, by which main() selects its role. */
#define WORKER_READER   "gcprof-reader"
#define WORKER_OPENER   "gcprof-opener"
#define WORKER_ATTACHER "gcprof-attacher"
#define WORKER_ROWS     "gcprof-rows"
#define WORKER_USER     "gcprof-user"

/* Its whole environment: the user that a reader becomes, and its nice value. */
#define WORKER_UID  "GCPROF_UID"
#define WORKER_NICE "GCPROF_NICE"

#define WORKER_SOCKET      0          /* the worker's descriptor */
#define WORKER_MESSAGE_MAX (60 << 10) /* bytes per message */
#define WORKER_FDS_MAX     8          /* descriptors per message */

enum worker_request_kind {
	READ_FACTS = 1, /* an ELF file: struct file_facts, then its probe sites */
	READ_ROWS,      /* an ELF file: its unwind rows, see reader.h */
	READ_NAMES,     /* places in a file: their names, see names.h */
	READ_CODE,      /* perf maps or jitdump files and addresses: names */
	READ_TYPES,     /* numbers of types of a file's runtime: names */
	READ_REMOTE,    /* memory (remote_memory.h) of a program and frames: names in it */
	READ_BYTECODE,  /* interpreted functions as reported: names */
	READ_STACK,     /* a stack dump: its frames, see reader.h */
	READ_HEAP,      /* memory of a program: its own heap profile, see reader.h */
	READ_TABLE,     /* memory of a program: its name table, see reader.h */
	READ_PROFILE,   /* a profile: its rows, see ../fleet/rows.h */
};

struct worker_request {
	uint32_t kind;
	uint32_t size; /* of the following bytes */
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
