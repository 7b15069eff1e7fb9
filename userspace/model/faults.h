/* SPDX-License-Identifier: BSD-2-Clause */
/* faults.h: page faults, by stack and by what their threads were doing. */
#ifndef GCPROF_MODEL_FAULTS_H
#define GCPROF_MODEL_FAULTS_H

#include "../profile/record.h"

struct pass;
struct thread;

/* 0, -EBADMSG, -ENOMEM. */
int faults_record(struct pass *pass, const struct record_fault *record);

/* The thread has ended, its counts are known: those that no record told have no stack. */
void faults_rest(struct pass *pass, const struct thread *thread);

#endif
