/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.h: private to firefox*.c: what is kept of events until all names are known. */
#ifndef GCPROF_FIREFOX_ROWS_H
#define GCPROF_FIREFOX_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../model/event.h"

/*
 * Many streams share one unlinked file. A stream keeps at most one block in memory. Not
 * thread-safe.
 */
struct spool;

int spool_create(struct spool **out);
void spool_free(struct spool *spool); /* NULL is allowed */

enum { SPOOL_BLOCK = 16 << 10 };

/* Rows of one size in order of arrival. All zero is an empty stream. */
struct spool_stream {
	uint64_t rows;
	uint64_t *blocks; /* their positions in the file */
	size_t n_blocks, blocks_capacity;
	char *tail; /* rows of the incomplete last block */
	size_t tail_size, tail_capacity;
};

/* Appends a row; all rows of a stream have the same size. 0 or a negative errno. */
int spool_append(struct spool *spool, struct spool_stream *stream, const void *row, size_t size);
void spool_stream_free(struct spool_stream *stream);

struct spool_cursor {
	const struct spool_stream *stream;
	size_t row_size;
	size_t block; /* the next block to read */
	size_t at, end;
	char data[SPOOL_BLOCK];
};

void spool_rewind(struct spool_cursor *cursor, const struct spool_stream *stream, size_t row_size);

/* The next row; NULL at the end or if the file cannot be read, which spool_error() reports. */
const void *spool_next(struct spool *spool, struct spool_cursor *cursor);
int spool_error(const struct spool *spool);

/* The text of source files for the Firefox export. */

struct sources {
	char **texts; /* by path; NULL: left out */
	uint32_t count;
	uint64_t embedded; /* texts that are not NULL, */
	uint64_t size;     /* and the bytes of their JSON strings at most */
};

struct sources_wanted {
	uint64_t realtime; /* unchanged since then, ns since 1970 */
	uint64_t room;     /* for their JSON strings, bytes */
	uid_t user;        /* who may have named them; (uid_t)-1: unknown */
};

/*
 * Reads those of the files that are source code, and that everybody or their owner, who must be
 * `user`, may read. *sources must be zero; free it also after an error. 0 or -ENOMEM.
 */
int firefox_sources_read(struct sources *sources, const char *const *paths, uint32_t count,
			 const struct sources_wanted *wanted);
void firefox_sources_free(struct sources *sources);

/* Rows in the spool. Times are CLOCK_MONOTONIC ns. */
struct cpu_row {
	uint64_t time;
	uint64_t stack, ns; /* stack of the profile, 0: none; CPU time that it stands for */
};

/* Time off the CPU. */
struct wait_row {
	uint64_t end, duration;
	uint64_t held_ns; /* of shorter waits before it */
	uint32_t wait;    /* number of its struct wait */
};

/* An allocation, or the death of an object; listed for the thread and for the process. */
struct alloc_row {
	uint64_t time;
	double bytes;    /* that the sample stands for */
	uint64_t object; /* number of the allocation sample, from 1 */
	uint32_t combo;  /* of an allocation: its struct combo */
	uint32_t death;  /* enum death; 0: an allocation */
};

/* A page fault, and the faults before it that have no record. */
struct fault_row {
	uint64_t time;
	uint64_t stack; /* of the profile; 0: none */
	uint64_t count;
};

enum death { DEATH_NONE, DEATH_YOUNG, DEATH_OLD, DEATH_FREED, DEATH_UNKNOWN };

struct call_row {
	uint64_t end, duration;
	uint64_t number; /* bit 31: a 32-bit call */
	int64_t result;
	uint64_t args[3], path; /* the path is the number of a string; 0: none */
	uint64_t gc_ns;
	uint32_t stack, flags, stands, fiber;
};

/* A collection with the data known at its end. */
struct gc_mark {
	struct closed_gc closed;
	struct record_gc_end end;
	uint64_t process;
	uint32_t next, next_of_process; /* of the same thread or process; 0: none */
	uint32_t causes;                /* index of its struct causes_found, 0: unknown */
};

/* Any other, rare event. */
struct mark {
	enum { MARK_PHASE = 1, MARK_LOSS, MARK_PERIOD, MARK_CYCLE, MARK_PAUSED, MARK_SUMS } kind;
	uint32_t next;   /* of the same thread; 0: none */
	uint64_t thread; /* 0: the first thread */
	uint64_t start, end;
	uint64_t values[8];
	uint32_t causes; /* of a cycle: as in struct gc_mark */
};

/* A process counts allocations since its last collection of each kind. */
enum cause_kind { CAUSE_MINOR, CAUSE_MAJOR, CAUSE_CYCLE, CAUSE_KINDS };

enum { CAUSES_SHOWN = 3, CAUSES_TEXT = 1024 };

/* The allocations that count most in a collection, and their shares; the largest first. */
struct causes_found {
	struct {
		uint32_t combo;
		float share;
	} items[CAUSES_SHOWN];
	uint32_t count;
};

/* What is known about a heap and its process at a moment. Sizes in bytes; 0: unknown. */
struct level {
	uint64_t process, heap;
	uint64_t time; /* ns since the start of the recording */
	bool exact;    /* with `arenas`, `large` and `allocated` */
	uint64_t used, committed, arenas, large;
	uint64_t allocated; /* since the heap's creation */
	uint64_t rss;
};

/* A sampled object that is not known to be dead. */
struct live_object {
	double bytes;
	uint64_t number; /* of its sample; 0: it is dead */
	uint32_t thread, next_free, combo;
	bool manual; /* lives until the program frees it */
};

/* A stack that allocates and the allocated type. */
struct combo {
	uint32_t stack, type;
};

/* A stack that waits and the reason. */
struct wait {
	uint32_t stack, reason;
};

#endif
