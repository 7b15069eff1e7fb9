/* SPDX-License-Identifier: BSD-2-Clause */
/* code_owners.h: what /proc says about processes that generate code, read while they run. */
#ifndef GCPROF_CODE_OWNERS_H
#define GCPROF_CODE_OWNERS_H

#include "../opener/code_owner.h"
#include "../opener/opener.h"

struct code_owners;

int code_owners_create(struct opener *opener, struct code_owners **out); /* borrowed; -ENOMEM */
void code_owners_free(struct code_owners *owners);                       /* NULL is allowed */

/* The process with this pid generates code: reads about it. `process`: 0 if not known yet. */
void code_owners_meet(struct code_owners *owners, uint64_t process, uint32_t pid);

/* The same; NULL if it had ended, or its user has too many. Valid until it is forgotten. */
const struct code_owner *code_owners_find(struct code_owners *owners, uint64_t process,
					  uint32_t pid);

/* NULL: unknown. */
const struct code_owner *code_owners_get(const struct code_owners *owners, uint64_t process);

/* False: it was unknown. */
bool code_owners_forget(struct code_owners *owners, uint64_t process);

#endif
