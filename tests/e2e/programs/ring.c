// SPDX-License-Identifier: BSD-2-Clause
/* ring.c: reads that the kernel's own threads do for the process (io_uring); prints their CPU time,
 * ns. */
/* ring poll: a thread that polls the queue; ring async: threads that do what may block. */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	ENTRIES = 8,
	READS = 300,
	BYTES = 1 << 22,
};

static char buffer[BYTES];

static void *map_ring(int ring, size_t size, off_t offset)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, offset);
}

static uint64_t used_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

int main(int argc, char **argv)
{
	int poll = argc > 1 && strcmp(argv[1], "poll") == 0, file = memfd_create("read", 0);
	struct io_uring_params p = {.flags = poll ? IORING_SETUP_SQPOLL : 0, .sq_thread_idle = 100};
	int ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &p);
	struct io_uring_sqe *entries;
	struct rusage used;
	unsigned *tail, *done, *seen;
	char *sq, *cq;

	if (ring < 0 || file < 0 || write(file, buffer, BYTES) != BYTES)
		return 77;
	sq = map_ring(ring, p.sq_off.array + ENTRIES * sizeof(unsigned), IORING_OFF_SQ_RING);
	cq = map_ring(ring, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	entries = map_ring(ring, ENTRIES * sizeof(*entries), IORING_OFF_SQES);
	tail = (void *)(sq + p.sq_off.tail);
	done = (void *)(cq + p.cq_off.tail);
	seen = (void *)(cq + p.cq_off.head);
	for (int i = 0; i < READS; i++) {
		entries[0] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
						   .flags = poll ? 0 : IOSQE_ASYNC,
						   .fd = file,
						   .addr = (uintptr_t)buffer,
						   .len = BYTES};
		((unsigned *)(void *)(sq + p.sq_off.array))[*tail & (ENTRIES - 1)] = 0;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		syscall(SYS_io_uring_enter, ring, poll ? 0 : 1, 1,
			IORING_ENTER_GETEVENTS | (poll ? IORING_ENTER_SQ_WAKEUP : 0), NULL, 0);
		while (__atomic_load_n(done, __ATOMIC_ACQUIRE) == *seen)
			usleep(100);
		__atomic_store_n(seen, *seen + 1, __ATOMIC_RELEASE);
	}
	getrusage(RUSAGE_SELF, &used);
	printf("cpu_ns=%llu\n",
	       (unsigned long long)(used_ns(&used.ru_utime) + used_ns(&used.ru_stime)));
	return 0;
}
