/* SPDX-License-Identifier: BSD-2-Clause */
/* os.h: everything the collector asks of the operating system. */
#ifndef GCPROF_OS_H
#define GCPROF_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Sizes are multiples of OS_PAGE, which is all that the collector knows of pages. */
#define OS_PAGE ((size_t)4096)

/* What a cache fetches at once. */
#define OS_CACHE_LINE ((size_t)64)

/* Fresh zeroed memory, given by the system page by page as it is touched. NULL: refused. */
void *os_map(size_t size);

/* The same, aligned to `alignment`, a power of two of at least OS_PAGE. */
void *os_map_aligned(size_t size, size_t alignment);

/* Gives back what os_map* returned, whole. NULL is allowed. */
void os_unmap(void *memory, size_t size);

/* Makes a mapping larger; it may move, its content stays, the new part is zero. NULL: refused
 * and the old mapping is as it was. `memory` may be NULL with an `old_size` of 0. */
void *os_grow(void *memory, size_t old_size, size_t new_size);

/* Zeroed memory from malloc() on cache lines of its own. NULL: there is none. */
void *os_alloc_lines(size_t size);

/* Hints: back it with large pages; drop the content (it reads as zero afterwards). */
void os_prefer_huge(void *memory, size_t size);
void os_release(void *memory, size_t size);

/* How many bytes of whole pages are in memory now: a hint, other pages may have been swapped out.
 */
size_t os_resident(const void *memory, size_t size);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t os_now(void);

/* A time on that clock, so many nanoseconds from now. */
void os_deadline(struct timespec *out, uint64_t ns);

/* Sleeps until os_wake_all(), if the word has that value; may return before. */
void os_wait(const uint32_t *word, uint32_t value);
void os_wake_all(const uint32_t *word);

/* On how many processors the calling thread may run, at least 1. */
uint32_t os_processors(void);

/* Between two readings of what another processor will write. */
static inline void os_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

/* False if no thread of the process has this id any more. */
bool os_thread_lives(pid_t tid);

/* Says on stderr, as one line, why the program cannot go on, and aborts. */
_Noreturn void os_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* os_fatal() for memory that the system refused. */
_Noreturn void os_out_of_memory(size_t size, const char *purpose);

#ifndef GC_CHECK
#define GC_CHECK 0
#endif

/* Cheap enough to stay in every build: the collector stops rather than corrupt the heap. */
#define GC_ASSERT(condition, sentence)                             \
	do {                                                       \
		if (__builtin_expect(!(condition), 0))             \
			os_fatal("%s (%s)", sentence, #condition); \
	} while (0)

#endif
