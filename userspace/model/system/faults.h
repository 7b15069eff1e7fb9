/* SPDX-License-Identifier: BSD-2-Clause */
/* faults.h: page faults, by stack and by what their threads were doing. */
#ifndef GCPROF_MODEL_FAULTS_H
#define GCPROF_MODEL_FAULTS_H

#include "../event.h"

struct world;

/* 0, -EBADMSG, -ENOMEM. */
int faults_record(struct world *world, const struct event *event);

/*
 * A thread's faults behind its last one with a record, as a record that has neither stack nor
 * address. It stands for none where faults were not recorded or a filter selects among them, and
 * before the thread's usage was taken.
 */
struct record_fault faults_unrecorded(const struct world *world, const struct record_usage *usage);

/* Adds these to the sums. */
void faults_usage(struct world *world, const struct record_usage *usage);

#endif
