/* SPDX-License-Identifier: BSD-2-Clause */
/* session.h: the BPF object: loaded, attached, switched off. */
#ifndef GCPROF_SESSION_H
#define GCPROF_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "../../bpf/events.h"
#include "attach.h"
#include "options.h"
#include "unwind_maps.h"

struct session;

/* Of the streams that have a ring, in this order. */
enum session_ring { RING_ALLOC, RING_GC, RING_CPU, RING_SYSCALL, RING_PROCESS, RINGS };

struct stream_state {
	bool attached;
	char why_not[256]; /* a sentence, if not */
};

/* Loads the BPF object for these options. Nothing is attached yet. */
int session_open(const struct record_options *options, struct session **out,
		 struct problem *problem);

/* Follows the (stopped) process behind `pidfd` from its next exec on. */
int session_follow(struct session *session, int pidfd, struct problem *problem);

/*
 * Attaches everything but probes. A stream that cannot be attached says so in
 * its state; negative errno only if the program could not even be followed.
 */
int session_attach(struct session *session, const struct record_options *options,
		   struct problem *problem);

/* Probes are attached file by file through this; owned by the session. */
struct attach *session_probes(struct session *session);

/* Brings the states of the alloc and gc streams up to date; true if one changed. */
bool session_probes_attached(struct session *session, const char *why_not);

const struct stream_state *session_stream(const struct session *session, enum stream stream);

/* Map descriptors, owned by the session. */
int session_ring_fd(const struct session *session, enum session_ring ring);
int session_totals_fd(const struct session *session);
int session_processes_fd(const struct session *session);
struct unwind_fds session_unwind_fds(const struct session *session);

/* Sums the kernel's counters over all CPUs. */
int session_losses(const struct session *session, uint64_t counts[LOSS_KERNEL_MAX]);

/* From now on the kernel side records nothing, at once and for everybody. */
void session_stop(struct session *session);

/* Detaches and frees. NULL is allowed. */
void session_free(struct session *session);

#endif
