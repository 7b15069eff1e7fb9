/* SPDX-License-Identifier: BSD-2-Clause */
/* os.c: the only file of the collector that makes system calls. */
#include "os.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void *os_map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void *os_map_aligned(size_t size, size_t alignment)
{
	size_t head, whole;
	char *memory;

	if (__builtin_add_overflow(size, alignment, &whole))
		return NULL;
	memory = os_map(whole);
	if (!memory)
		return NULL;
	head = -(uintptr_t)memory & (alignment - 1);
	if (head)
		munmap(memory, head);
	if (alignment > head)
		munmap(memory + head + size, alignment - head);
	return memory + head;
}

void os_unmap(void *memory, size_t size)
{
	if (memory)
		munmap(memory, size);
}

void *os_alloc_lines(size_t size)
{
	size_t whole = (size + OS_CACHE_LINE - 1) / OS_CACHE_LINE * OS_CACHE_LINE;
	void *memory = aligned_alloc(OS_CACHE_LINE, whole);

	return memory ? memset(memory, 0, whole) : NULL;
}

#ifdef __SANITIZE_THREAD__

/* The thread sanitizer misses mremap(): the next thread to map the old address seems to race. */
void *os_grow(void *memory, size_t old_size, size_t new_size)
{
	void *larger = os_map(new_size);

	if (!memory || !larger)
		return larger;
	memcpy(larger, memory, old_size);
	os_unmap(memory, old_size);
	return larger;
}

#else

void *os_grow(void *memory, size_t old_size, size_t new_size)
{
	if (!memory)
		return os_map(new_size);
	memory = mremap(memory, old_size, new_size, MREMAP_MAYMOVE);
	return memory == MAP_FAILED ? NULL : memory;
}

#endif

void os_prefer_huge(void *memory, size_t size)
{
	madvise(memory, size, MADV_HUGEPAGE);
}

size_t os_resident(const void *memory, size_t size)
{
	unsigned char pages[1024];
	size_t resident = 0, piece;

	for (size_t at = 0; at < size; at += piece) {
		piece = size - at < sizeof(pages) * OS_PAGE ? size - at : sizeof(pages) * OS_PAGE;
		if (mincore((char *)(uintptr_t)memory + at, piece, pages))
			return size;
		for (size_t i = 0; i * OS_PAGE < piece; i++)
			resident += (pages[i] & 1) * OS_PAGE;
	}
	return resident;
}

void os_release(void *memory, size_t size)
{
	madvise(memory, size, MADV_DONTNEED);
}

uint64_t os_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void os_deadline(struct timespec *out, uint64_t ns)
{
	uint64_t then = os_now() + ns;

	out->tv_sec = (time_t)(then / 1000000000);
	out->tv_nsec = (long)(then % 1000000000);
}

void os_wait(const uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL);
}

void os_wake_all(const uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX);
}

uint32_t os_processors(void)
{
	cpu_set_t set;

	/* Fails with more processors than the set holds, which are enough. */
	if (sched_getaffinity(0, sizeof(set), &set))
		return CPU_SETSIZE;
	return (uint32_t)CPU_COUNT(&set);
}

bool os_thread_lives(pid_t tid)
{
	return !tgkill(getpid(), tid, 0) || errno != ESRCH;
}

void os_fatal(const char *format, ...)
{
	va_list arguments;

	fputs("gcprof-gc: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	abort();
}

void os_out_of_memory(size_t size, const char *purpose)
{
	os_fatal("out of memory: the system refused %zu bytes for %s", size, purpose);
}
