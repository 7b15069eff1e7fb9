/* SPDX-License-Identifier: BSD-2-Clause */
/* syscall_totals.h: exact totals of system calls; part of contract 2. */
#ifndef GCPROF_SYSCALL_TOTALS_H
#define GCPROF_SYSCALL_TOTALS_H

#ifndef __bpf__
#include <stdint.h>
#endif

/* Replaces the number of futex() on an interpreter's lock: see lock.h. */
#define SYSCALL_LOCK 511

/* Stands for all numbers that no call has: a program may try any. */
#define SYSCALL_UNKNOWN 510
#define SYSCALL_NUMBERS 512 /* all are below; a power of two */

/* Exact totals, in the map `syscall_totals`, read by the recorder. */
struct syscall_key {
	uint32_t process; /* index */
	uint32_t number;  /* bit 31: a 32-bit call */
};

/* Log-linear: four buckets per power of two of nanoseconds. See syscall_bucket(). */
#define SYSCALL_BUCKETS 160

struct syscall_total {
	uint64_t count;
	uint64_t errors;
	uint64_t total_ns;
	uint64_t max_ns;
	uint64_t gc_count; /* calls that overlapped a collection of the same process */
	uint64_t gc_ns;    /* total of these overlaps */
	uint64_t waits;    /* times that the thread was off the CPU, blocked */
	uint64_t wait_ns;
	uint64_t wait_max; /* the longest, ns */
	uint32_t histogram[SYSCALL_BUCKETS];
	uint32_t owner; /* share_owner() of the user who made the first call */
	uint32_t reserved;
};

#define TOTALS_MAX   65536     /* entries of syscall_totals */
#define TOTALS_WHOLE (1 << 20) /* the same for whole machines and cgroups */

/* CPU time of a process so far, in the map `call_cpus`: see call_cpu.h. */
struct call_cpu {
	uint64_t untraced_ns; /* while system calls were not traced */
	uint64_t traced_ns;
	uint32_t owner, reserved; /* as in struct syscall_total */
};

/* The bucket of a duration; its lower bound is syscall_bucket_floor(bucket). */
static inline uint32_t syscall_bucket(uint64_t ns)
{
	uint32_t log = 0;
	uint64_t n = ns;

	if (ns < 4)
		return (uint32_t)ns;
	/* Without branches: the verifier would follow each path. */
	for (uint32_t step = 32; step; step >>= 1) {
		uint64_t more = n >> step;

		__asm__ volatile("" : "+r"(more)); /* keeps the compiler from creating a branch */
		more = step & (0 - ((0 - more) >> 63));
		n >>= more;
		log += (uint32_t)more;
	}
	log = (log - 1) * 4 + ((ns >> (log - 2)) & 3);
	return log < SYSCALL_BUCKETS ? log : SYSCALL_BUCKETS - 1;
}

static inline uint64_t syscall_bucket_floor(uint32_t bucket)
{
	uint32_t log = bucket / 4 + 1;

	if (bucket < 4)
		return bucket;
	return (UINT64_C(4) + bucket % 4) << (log - 2);
}

#ifndef __bpf__
_Static_assert(sizeof(struct syscall_total) == 80 + 4 * SYSCALL_BUCKETS, "contract 2");
#endif

#endif
