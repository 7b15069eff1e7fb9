/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_rules.h: the rules of advice.h that concern the recording. */
#ifndef GCPROF_ADVICE_RULES_H
#define GCPROF_ADVICE_RULES_H

#include <stdio.h>

#include "../model/model.h"

/* Where a rule writes its sentences; the remedy may stay empty. */
struct words {
	FILE *evidence, *remedy;
};

/* Why a stack is incomplete, as a clause: losses.c. */
const char *stack_reason_text(enum stack_reason reason);

/* Each writes something and returns true if the model shows it. */
bool find_lost(const struct model *model, struct words *words);
bool find_unfinished_stacks(const struct model *model, struct words *words);
bool find_guessed_stacks(const struct model *model, struct words *words);
bool find_few_samples(const struct model *model, struct words *words);
bool find_unnamed(const struct model *model, struct words *words);
bool find_stripped(const struct model *model, struct words *words);

#endif
