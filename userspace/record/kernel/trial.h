/* SPDX-License-Identifier: BSD-2-Clause */
/* trial.h: tries each part of a recording briefly, on gcprof itself only. */
#ifndef GCPROF_TRIAL_H
#define GCPROF_TRIAL_H

#include <stdbool.h>

#include "../../../bpf/events.h"
#include "../../util/problem.h"
#include "session.h"

/* The outcome. */
struct trial {
	bool loaded;            /* the BPF object, with its rings and task storage */
	bool followed;          /* processes can be traced; recording requires it */
	bool together;          /* all probes of a file share one link */
	struct problem problem; /* why not, for either */
	struct problem maps;    /* why mappings are not reported; empty: they are */
	struct stream_state streams[STREAM_END];
};

/*
 * Loads the BPF object, attaches everything, including a probe of this program made for the
 * purpose, and removes it all again. Records nothing. The states of the streams say what worked.
 */
void trial_run(struct trial *out);

#endif
