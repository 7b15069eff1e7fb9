/* SPDX-License-Identifier: BSD-2-Clause */
/* os.h: all use of the operating system by the collector. */
#ifndef GCPROF_OS_H
#define GCPROF_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Sizes are multiples of OS_PAGE, the only page size that the collector assumes. */
#define OS_PAGE ((size_t)4096)

/* Size of a cache line. */
#define OS_CACHE_LINE ((size_t)64)

/* Maps fresh zeroed memory; the system supplies pages when they are touched. NULL: refused. */
void *os_map(size_t size);

/* The same, aligned to `alignment`, a power of two of at least OS_PAGE. */
void *os_map_aligned(size_t size, size_t alignment);

/* Unmaps a whole mapping of os_map*(). NULL is allowed. */
void os_unmap(void *memory, size_t size);

/* Grows a mapping, which may move; its content is kept, the new part is zero. NULL: refused, and
 * the old mapping is unchanged. `memory` may be NULL with an `old_size` of 0. */
void *os_grow(void *memory, size_t old_size, size_t new_size);

/* Zeroed memory for free(), on its own cache lines. NULL: out of memory. */
void *os_alloc_lines(size_t size);

/* Hints: back memory with huge pages; drop its content, after which it reads as zero. */
void os_prefer_huge(void *memory, size_t size);
void os_release(void *memory, size_t size);

/* Resident bytes, in whole pages: a hint, since other pages may have been swapped out. */
size_t os_resident(const void *memory, size_t size);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t os_now(void);

/* The time on that clock `ns` nanoseconds from now. */
void os_deadline(struct timespec *out, uint64_t ns);

/* Sleeps until os_wake_all() if *word == value; may return early. */
void os_wait(const uint32_t *word, uint32_t value);
void os_wake_all(const uint32_t *word);

/* Number of processors on which the calling thread may run, at least 1. */
uint32_t os_processors(void);

/* Pause in a spin loop. */
static inline void os_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

/* False if the process no longer has a thread with this id. */
bool os_thread_lives(pid_t tid);

/* Prints one line on stderr that says why the program cannot continue, and aborts. */
_Noreturn void os_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* os_fatal() for refused memory. */
_Noreturn void os_out_of_memory(size_t size, const char *purpose);

#ifndef GC_CHECK
#define GC_CHECK 0
#endif

/* Cheap enough for every build: the program stops before the heap is corrupted. */
#define GC_ASSERT(condition, sentence)                             \
	do {                                                       \
		if (__builtin_expect(!(condition), 0))             \
			os_fatal("%s (%s)", sentence, #condition); \
	} while (0)

#endif
