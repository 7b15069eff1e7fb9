/* SPDX-License-Identifier: BSD-2-Clause */
/* iterate.h: runs a BPF iterator. */
#ifndef GCPROF_ITERATE_H
#define GCPROF_ITERATE_H

struct bpf_link;

/* Runs it once over all threads of this pid namespace. A negative errno. */
int iterate_once(const struct bpf_link *iterator);

#endif
