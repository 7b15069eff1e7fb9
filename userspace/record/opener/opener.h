/* SPDX-License-Identifier: BSD-2-Clause */
/* opener.h: opens files that others chose, in a process that may hang instead of the recorder. */
/*
 * Opening a file can block for ever: its file system (FUSE, NFS) may not answer. So can
 * touching the memory of a program (userfaultfd). So openers do it, processes with the
 * recorder's rights that read nothing else. Requests wait in
 * queues and are worked off one after the other; each ends with a call of its `done`, from
 * opener_turn(), opener_settle(), a function that waits, or opener_free().
 *
 * A request that takes too long (2 s; less, while there are many of them) ends with -ETIME,
 * the process that hangs is left behind, opener_trouble() has a sentence, and the file
 * system (or, where that is not known, the process whose file it was) is not tried again:
 * its requests end with -ETIME at once.
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

/* A file as the kernel names it when it is mapped. */
struct module_place {
	const char *path; /* ended by a zero */
	uint64_t inode;   /* 0: no file */
	uint64_t start, end;
	uint32_t major, minor;
	uint32_t pid; /* as /proc calls it here */
};

/* The file of the event; `path` is borrowed. */
struct opener_mapping opener_mapping_of(const struct event_mmap *event);
struct module_place module_place_of(const struct event_mmap *event, const char *path);

/* What the process does when main() is called as WORKER_OPENER: its exit status. */
int opener_main(void);

/*
 * `wakes`: worker_wakeups() is readable when opener_turn() has something to do; for the main
 * loop. No process is started before the first request. -ENOMEM.
 */
int opener_create(bool wakes, struct opener **out);

/* Starts the processes before there is a request. */
void opener_prepare(struct opener *opener);

/* Ends what waits with -ECANCELED. NULL is allowed. */
void opener_free(struct opener *opener);

/* `done` will not be called any more for requests with this context. */
void opener_cancel(struct opener *opener, const void *context);

/* The end of a request; valid during the call. */
struct opener_result {
	/*
	 * 0; -ENOENT, -EACCES, ...: as open() says; -ESTALE: another file is there; -EINVAL: no
	 * regular file; -EWOULDBLOCK: a process has a lease on it; -ETIME: see above; -EPIPE:
	 * the process died; -EMFILE: too many hang, or there are no descriptors; -ECANCELED.
	 */
	int err;
	uint32_t pid; /* of the request */
	int fd; /* for reading, O_CLOEXEC; -1 with an error, or if there is none. Now the callee's.
		 */
	union {
		struct opener_file file;   /* of all others */
		struct opener_block block; /* of opener_memory() */
	};
};

/* May make new requests. Must not free the opener or wait for it. */
typedef void opener_done(void *context, const struct opener_result *result);

/*
 * Opens the file of a mapping, if it is the very file: through the process that
 * mapped it, or by its path. Nothing but regular files is ever
 * opened. `place` is borrowed for this call only. A negative errno (-ENOMEM, -ENOBUFS: too
 * many wait, -ENAMETOOLONG) if `done` will not be called.
 */
int opener_open(struct opener *opener, const struct module_place *place, opener_done *done,
		void *context);

/*
 * Opens what may be a separate debug file of the program behind `program`, which is not
 * needed any more afterwards. `pid`: a process that has it mapped, for DEBUG_IN_ROOT; 0: unknown.
 * What the file is was not checked.
 */
int opener_debug(struct opener *opener, uint32_t pid, int program,
		 const struct debug_wanted *wanted, opener_done *done, void *context);

/* Opens the /tmp of a process that sees another one (code_owner.h), while it is there: O_PATH. */
int opener_temporary(struct opener *opener, uint32_t pid, opener_done *done, void *context);

/* Starts a process that reads the memory of a process for readers (../../reader/remote_memory.h),
 * if the file is still mapped there; -ESTALE: it is not. The descriptor is its socket; when the
 * last one is closed it ends. It is the memory of the program that runs now. `file` of the result
 * is zero but for the user who has started it. */
int opener_space(struct opener *opener, const struct opener_space *wanted, opener_done *done,
		 void *context);

/* Has what a process has mapped executable put into a file, as text like /proc/PID/maps. */
int opener_maps(struct opener *opener, uint32_t pid, opener_done *done, void *context);

/* Opens the perf map of a process, if it is certainly its own; `owner` is borrowed for this call.
 */
int opener_map(struct opener *opener, const struct code_owner *owner, opener_done *done,
	       void *context);

/*
 * Changes a control block or a variable in the memory of a program, if its file is still mapped
 * there. -ESRCH: the process is gone; -ESTALE: it executed another program, or something else is
 * mapped there; -ENOENT: there is no such block; -EACCES, -EIO: it cannot be reached.
 */
int opener_memory(struct opener *opener, const struct opener_memory *wanted, opener_done *done,
		  void *context);

/*
 * Opens a regular file as a user would, by a process that is this user and nothing more, and
 * waits. Always the same user for one opener. The descriptor or a negative errno.
 */
int opener_open_user(struct opener *opener, const char *path, const struct invoker *user,
		     struct opener_file *out);

/* Takes what has come and goes on with the next. At most a few ms. */
void opener_turn(struct opener *opener);

/* Works off what there is, but not for longer than `ns` and one request's limit. False: some wait.
 */
bool opener_settle(struct opener *opener, uint64_t ns);

/* How many requests have not ended. */
size_t opener_waiting(const struct opener *opener);

/* What the user should know, once each; NULL: nothing. Valid until the next call. */
const char *opener_trouble(struct opener *opener);

#endif
