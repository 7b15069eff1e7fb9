/* SPDX-License-Identifier: BSD-2-Clause */
/* writer.h: writes a profile: interns definitions, encodes records, closes chunks. */
/*
 * Not thread-safe: one thread writes. After the first failure of the sink every
 * call returns that error and writes nothing more, so that callers may look at
 * the result of profile_writer_flush() alone.
 */
#ifndef GCPROF_WRITER_H
#define GCPROF_WRITER_H

#include "record.h"
#include "sink.h"

struct profile_writer;
struct carry;

/* Takes over the sink, also when it fails. Writes the header. */
int profile_writer_create(struct sink *sink, struct profile_writer **out);

/*
 * To be called before the first record: the recording may go on in other files. Then
 * profile_writer_put() returns -ENOENT, without an effect, for a record of a thread or process that
 * ended two files ago.
 */
int profile_writer_carry(struct profile_writer *writer);

/*
 * Ends the file, whose last record was put, and goes on in another one, which begins at that time:
 * a profile by itself (carry.h), or without profile_writer_carry() one that refers to those before.
 * Takes over the sink, also when it fails.
 */
int profile_writer_next(struct profile_writer *writer, struct sink *sink, uint64_t time);

/* From now on `watch` sees each record before it is put, with the ids of the recording; an error of
 * it is one of the writer's. */
typedef int writer_watch(void *context, const struct record *record);
void profile_writer_watch(struct profile_writer *writer, writer_watch *watch, void *context);

/*
 * Makes a profile by itself of files that refer to those before. `carry` has all that came before,
 * and is taken over; then each record of the files that is read is copied. No other function that
 * puts records may be called. As profile_writer_put().
 */
int profile_writer_resume(struct profile_writer *writer, struct carry *carry, uint64_t time,
			  uint64_t part);
int profile_writer_copy(struct profile_writer *writer, const struct record *record);

/* From now on a chunk ends when profile_writer_flush() is called, and no sooner. */
void profile_writer_whole(struct profile_writer *writer);

/* Appends a record. Definitions with ids are better made by the functions below. */
int profile_writer_put(struct profile_writer *writer, const struct record *record);

/*
 * The thread used so many ns of CPU time since this was last called for it; negative ones correct
 * others. With `ticks`, the `cpu` record that is put next says that they were found there. From
 * this come the `cpu_time` records of the chunk.
 */
int profile_writer_ran(struct profile_writer *writer, uint64_t thread, int64_t ns, uint64_t ticks);

/*
 * Interning: each returns the id of the thing, and writes its definition when it
 * meets it for the first time. 0 only when memory is exhausted, which the next
 * flush reports.
 */
uint64_t profile_writer_string(struct profile_writer *writer, const char *text, size_t size);
uint64_t profile_writer_module(struct profile_writer *writer, const char *path,
			       const void *build_id, size_t build_id_size);
/* Code that a process makes at run time. */
uint64_t profile_writer_generated(struct profile_writer *writer, uint64_t process);
uint64_t profile_writer_native(struct profile_writer *writer, uint64_t module, uint64_t offset);
/* Frames are distinguished by their address, which the profile does not get. */
uint64_t profile_writer_kernel(struct profile_writer *writer, uint64_t address);
uint64_t profile_writer_managed(struct profile_writer *writer, uint64_t process, uint64_t code,
				uint64_t line);
uint64_t profile_writer_stack(struct profile_writer *writer, uint64_t parent, uint64_t frame);

/* Calls `visit` for every native and kernel frame so far, with what defined it: of a kernel
 * frame its address, too. */
typedef void frame_visit(void *context, uint64_t frame, const struct record *definition);
void profile_writer_each_frame(struct profile_writer *writer, frame_visit *visit, void *context);

/* Compresses and writes what has gathered. The chunk is then safe in the sink. */
int profile_writer_flush(struct profile_writer *writer);

/* Bytes handed to the sink so far. */
uint64_t profile_writer_size(const struct profile_writer *writer);

/* Flushes, closes the sink and frees. NULL is allowed. */
int profile_writer_close(struct profile_writer *writer);

#endif
