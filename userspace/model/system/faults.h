/* SPDX-License-Identifier: BSD-2-Clause */
/* faults.h: page faults, by stack and by the thread's phase. */
#ifndef GCPROF_MODEL_FAULTS_H
#define GCPROF_MODEL_FAULTS_H

#include "../event.h"

struct world;

/* 0, -EBADMSG, -ENOMEM. */
int faults_record(struct world *world, const struct event *event);

/*
 * A thread's faults after its last fault record, as a record without stack and address. It counts
 * none if faults were not recorded, if a filter is in use, or before the thread's usage record
 * was read.
 */
struct record_fault faults_unrecorded(const struct world *world, const struct record_usage *usage);

/* Adds these faults to the sums. */
void faults_usage(struct world *world, const struct record_usage *usage);

#endif
