/* SPDX-License-Identifier: BSD-2-Clause */
/* opener.h: opens files that others chose, in a process that may hang in the recorder's place. */
/*
 * Opening a file can block forever, because its file system (FUSE, NFS) may not answer; so can
 * access to a program's memory (userfaultfd). Openers do both: processes with the recorder's rights
 * that parse nothing. Requests wait in queues, in which users take turns. Each ends with a call of
 * its `done`, from opener_turn(), opener_settle(), a function that waits, or opener_free().
 *
 * A request that takes too long (2 s; less while there are many) ends with -ETIME. The hanging
 * process is left behind, and opener_trouble() has a sentence. The file system (or, if unknown, the
 * process whose file it was) is not tried again: its requests end with -ETIME at once.
 *
 * A struct opener belongs to one thread.
 */
#ifndef GCPROF_OPENER_H
#define GCPROF_OPENER_H

#include <stdbool.h>
#include <stdint.h>

#include "opener_requests.h"
#include "../../../bpf/events.h"

struct opener;
struct undo;

/* A file as the kernel identifies it in a mapping. */
struct module_place {
	const char *path; /* ended by a zero */
	uint64_t inode;   /* 0: no file */
	uint64_t start, end;
	uint32_t major, minor;
	uint32_t pid;  /* as in /proc here */
	uint32_t user; /* of that process */
};

/* The process for which something is opened. */
struct opener_who {
	uint32_t pid; /* as in /proc here; 0: unknown */
	uint32_t user;
};

/* The file of the event; `path` is borrowed. */
static inline struct opener_mapping opener_mapping_of(const struct event_mmap *event)
{
	return (struct opener_mapping){.start = event->address,
				       .offset = event->offset,
				       .inode = event->inode,
				       .major = event->major,
				       .minor = event->minor};
}

static inline struct module_place module_place_of(const struct event_mmap *event, const char *path)
{
	return (struct module_place){
		.path = path,
		.inode = event->inode,
		.start = event->address,
		.end = event->address + event->length,
		.major = event->major,
		.minor = event->minor,
		.pid = event->header.tid,
	};
}

/* The process itself, when main() is called as WORKER_OPENER. Returns its exit status. */
int opener_main(void);

/*
 * With `wakes`, for the main loop, worker_wakeups() becomes readable when opener_turn() has work.
 * Starts no process before the first request. -ENOMEM.
 */
int opener_create(bool wakes, struct opener **out);

/* The list of what is to be undone if this process dies; as long as the opener. */
struct undo *opener_undo_list(struct opener *opener);

/* Starts the processes before the first request. */
void opener_prepare(struct opener *opener);

/* Ends pending requests with -ECANCELED. NULL is allowed. */
void opener_free(struct opener *opener);

/* Whose process has a pid in /proc: users take turns, and each may let but some openers hang. */
typedef uint32_t opener_user_of(void *context, uint32_t pid);
void opener_know_users(struct opener *opener, opener_user_of *user_of, void *context);

/* Drops the `done` calls of requests with this context. */
void opener_cancel(struct opener *opener, const void *context);

/* The outcome of a request; valid during the call. */
struct opener_result {
	/*
	 * 0; -ENOENT, -EACCES, ...: as open(); -ESTALE: another file is there; -EINVAL: not a
	 * regular file; -EWOULDBLOCK: a process holds a lease on it; -ETIME: see above; -EPIPE: the
	 * process died; -EMFILE: too many hang, or no descriptors left; -ECANCELED.
	 */
	int err;
	uint32_t pid; /* as in the request */
	int fd;       /* read-only, O_CLOEXEC, owned by the callee; -1: error or none */
	union {
		struct opener_file file;   /* of all other requests */
		struct opener_block block; /* of opener_memory() and opener_hash() */
	};
};

/* May make new requests. Must not free the opener or wait for it. */
typedef void opener_done(void *context, const struct opener_result *result);

/*
 * Opens the file of a mapping, if it is still that very file: through the process that mapped it,
 * or by its path. Opens regular files only. `place` is borrowed for this call only. A negative
 * errno if `done` will not be called: -ENOMEM; -ENOBUFS: too many wait; -ENAMETOOLONG.
 */
int opener_open(struct opener *opener, const struct module_place *place, opener_done *done,
		void *context);

/*
 * Opens a possible separate debug file of the open file `program`, which is not needed afterwards.
 * `who`: a process that maps it, for DEBUG_IN_ROOT. The file's identity is not checked.
 */
int opener_debug(struct opener *opener, const struct opener_who *who, int program,
		 const struct debug_wanted *wanted, opener_done *done, void *context);

/* Hashes the content of an open file, which is not needed afterwards. -EFBIG: it is too large. */
int opener_hash(struct opener *opener, const struct opener_who *who, int file,
		const struct opener_hash *wanted, opener_done *done, void *context);

/* Opens the /tmp of a process (O_PATH), if it sees another one than we do (code_owner.h). */
int opener_temporary(struct opener *opener, uint32_t pid, opener_done *done, void *context);

/*
 * Starts a process that reads a program's memory for readers (../../reader/remote_memory.h), if the
 * file is still mapped there; -ESTALE: it is not. The descriptor is its socket; the process ends
 * when the last one is closed. It reads the memory of the current program only. `file` of the
 * result is zero except for the user who started the program.
 */
int opener_space(struct opener *opener, const struct opener_space *wanted, opener_done *done,
		 void *context);

#define COPY_PREFIX "//copy of "

/* Writes a process's executable mappings to a file, as text like /proc/PID/maps. Code in no file
 * that has replaced some of a file's is named COPY_PREFIX and that file. */
int opener_maps(struct opener *opener, uint32_t pid, opener_done *done, void *context);

/* Writes arguments and environment of a process's program to a file. The result has the inode of
 * the program. */
int opener_words(struct opener *opener, uint32_t pid, opener_done *done, void *context);

/* Opens the perf map of a process, if it certainly is its own; `owner` is borrowed for this
 * call. */
int opener_map(struct opener *opener, const struct code_owner *owner, opener_done *done,
	       void *context);

/*
 * Changes a control block or a variable in a program's memory, if its file is still mapped there.
 * -ESRCH: the process ended; -ESTALE: it executed another program, or something else is mapped
 * there; -ENOENT: there is no such block; -EACCES, -EIO: it cannot be accessed.
 */
int opener_memory(struct opener *opener, const struct opener_memory *wanted, opener_done *done,
		  void *context);

/*
 * Opens a regular file as a user, in a process with only that user's rights, and waits. One opener
 * always serves the same user. The descriptor or a negative errno.
 */
int opener_open_user(struct opener *opener, const char *path, const struct invoker *user,
		     struct opener_file *out);

/* Takes answers and sends the next requests. At most a few ms. */
void opener_turn(struct opener *opener);

/* Could opener_turn() send requests that came since? Nothing wakes the main loop for these. */
bool opener_is_idle(const struct opener *opener);

/* Handles pending requests, but for no longer than `ns` and the limit of one request. False: some
 * wait. */
bool opener_settle(struct opener *opener, uint64_t ns);

/* Number of pending requests. */
size_t opener_waiting(const struct opener *opener);

/* A message for the user, each once; NULL: none. Valid until the next call. */
const char *opener_trouble(struct opener *opener);

#endif
