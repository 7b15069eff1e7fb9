/* SPDX-License-Identifier: BSD-2-Clause */
/* trial.h: tries each part of a recording for a moment, on gcprof itself only. */
#ifndef GCPROF_TRIAL_H
#define GCPROF_TRIAL_H

#include <stdbool.h>

#include "../../../bpf/events.h"
#include "../../util/problem.h"
#include "session.h"

/* What came of it. */
struct trial {
	bool loaded;            /* the BPF object, with its rings and task storage */
	bool followed;          /* processes: without that there is no recording */
	bool together;          /* all probes of a file are attached with one link */
	struct problem problem; /* why not, for either */
	struct problem maps;    /* why mappings are not reported; empty: they are */
	struct stream_state streams[STREAM_END];
};

/*
 * Loads the BPF object, attaches everything, also to a probe that this program
 * has for the purpose, and takes all away again. Records nothing. The streams'
 * states say what worked.
 */
void trial_run(struct trial *out);

#endif
