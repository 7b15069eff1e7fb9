/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: the table of names, which recorders read. */
#ifndef GCPROF_PROVIDER_NAMES_H
#define GCPROF_PROVIDER_NAMES_H

#include <stdint.h>

struct gcprof_gc_name;

/* Announces a provider, once per name; NULL: it has none. Strings are copied. */
void names_provider(const char *name, const char *version, uint32_t refused);

/* Announces kinds and reasons of collections, once per name. Strings are copied. -ENOMEM. */
int names_gc(const struct gcprof_gc_name *names, uint32_t n);

/* The enum gcprof_gc_kind of collections with this name, below GCPROF_GC_NAMES_END. */
uint32_t names_gc_kind(uint32_t number);

/* Held during a fork, so that the child finds no incomplete name. */
void names_lock(void);
void names_unlock(void);

#endif
