/* SPDX-License-Identifier: BSD-2-Clause */
/* subuids.h: numbers of users that belong to another user, who pays for what they take. */
/*
 * A user to whom /etc/subuid gives numbers can start processes and own files as 65,536 others. Each
 * would have a share of every table. Read once, at the first call; not thread-safe.
 */
#ifndef GCPROF_SUBUIDS_H
#define GCPROF_SUBUIDS_H

#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/shares.h"

/* The first USER_RANGES that belong to users other than root. */
const struct user_range *subuids(size_t *n);

/* Who pays for a user. */
uint32_t subuid_payer(uint32_t user);

/* For tests: takes ranges from the lines NAME:FIRST:COUNT of a file. Returns their number. */
size_t subuids_parse(const char *path, struct user_range out[USER_RANGES]);

#endif
