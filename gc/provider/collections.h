/* SPDX-License-Identifier: BSD-2-Clause */
/* collections.h: reports collections individually or as sums. */
#ifndef GCPROF_PROVIDER_COLLECTIONS_H
#define GCPROF_PROVIDER_COLLECTIONS_H

struct gcprof_provider;

/* In the child of a fork: drops the sums, which belong to the parent. */
void collections_forked(struct gcprof_provider *provider);

#endif
