/* SPDX-License-Identifier: BSD-2-Clause */
/* addresses.h: which objects at which addresses are samples. */
#ifndef GCPROF_PROVIDER_ADDRESSES_H
#define GCPROF_PROVIDER_ADDRESSES_H

struct gcprof_provider;

/* Forgets all of them. */
void addresses_free(struct gcprof_provider *provider);

#endif
