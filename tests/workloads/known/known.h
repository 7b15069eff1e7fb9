/* SPDX-License-Identifier: BSD-2-Clause */
/* known.h: what the files of `known` share: kinds of objects, functions, counts. */
#ifndef GCPROF_KNOWN_H
#define GCPROF_KNOWN_H

#include <getopt.h>
#include <pthread.h>

#include "gc.h"
#include "../workload.h"

enum {
	N_KINDS = 7,
	MAX_THREADS = 64,
	NURSERY_BYTES = 4 << 20,
	LARGE_BYTES = 128 << 10,
	/* Of one type in one turn: a quarter of the nursery, whatever its buffers waste. */
	BATCH_BYTES = 1 << 20,
};

/* Every kind of object begins like this; what follows is payload. */
struct node {
	struct gc_header header;
	struct node *next; /* the survivor before this one */
};

/* The functions whose work is known; the names in the profile and in the output. */
enum function {
	ALLOC_SMALL,
	ALLOC_MEDIUM,
	ALLOC_LARGE,
	BURN_A,
	BURN_B,
	BURN_C,
	DO_SYSCALLS,
	N_FUNCTIONS,
};

enum call {
	CALL_GETPPID,
	CALL_READ,
	CALL_WRITE,
	CALL_OPENAT,
	CALL_CLOSE,
	CALL_NANOSLEEP,
	N_CALLS,
};

struct worker;
typedef void alloc_function(struct worker *worker, uint32_t kind, uint64_t count,
			    struct node **list);

struct kind {
	const char *name;
	uint32_t size;        /* of one object, header included, a multiple of 8 */
	uint64_t total_bytes; /* all threads, at scale 1 */
	uint32_t keep_every;  /* one object in so many survives; 0: none */
	alloc_function *alloc;
};

extern const struct kind kinds[N_KINDS];

/* One mutator. Its counts are read by others after it was joined. */
struct worker {
	struct known *known;
	struct gc_thread *thread;
	pthread_t pthread;
	uint32_t index;
	uint64_t objects[N_KINDS];
	uint64_t survivors[N_KINDS];
	uint64_t alloc_bytes[N_FUNCTIONS];
	uint64_t cpu_ns[N_FUNCTIONS];
	uint64_t calls[N_CALLS];
	uint64_t call_errors[N_CALLS];
	uint64_t slept_ns; /* asked for */
};

struct known {
	uint32_t threads;
	uint64_t scale;
	uint64_t burn_ns; /* all threads together */
	uint64_t calls;   /* multiplies them */
	struct gc_heap *heap;
	gc_type types[N_KINDS];
	struct worker *workers;
	pthread_mutex_t lock; /* held by the thread whose turn it is, while it allocates */
	pthread_cond_t turned;
	uint32_t turn;
	uint64_t minor;
};

/* allocate.c: only on the thread whose turn it is; *list is a root. */
alloc_function alloc_small;
alloc_function alloc_medium;
alloc_function alloc_large;
enum function function_of(alloc_function *alloc);

/* burn.c: this thread's part of known->burn_ns, in burn_a, burn_b and burn_c. */
void burn_all(struct worker *worker);

/* calls.c: this thread's system calls; ends the program if one goes wrong. */
void call_kernel(struct worker *worker);

/* truth.c: one line of JSON on stdout, by exactly one write(2), which it counts. */
void truth_print(const struct known *known);

#endif
