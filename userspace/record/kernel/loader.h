/* SPDX-License-Identifier: BSD-2-Clause */
/* loader.h: loads the BPF object, its programs on two CPUs at once. */
#ifndef GCPROF_LOADER_H
#define GCPROF_LOADER_H

#include <stdbool.h>

#include "../machine/options.h"

struct gcprof_bpf;

enum { LOADER_PARTS = 2 };

struct loaded {
	/* The maps; its `progs` are the loaded ones, each owned by a part. */
	struct gcprof_bpf *skeleton;
	struct gcprof_bpf *parts[LOADER_PARTS];
};

/* See setup_object(). 0, or a negative errno; loader_free() is needed in any case. */
int loader_load(const struct record_options *options, bool multi, int n_cpus, struct loaded *out);
void loader_free(struct loaded *loaded);

#endif
