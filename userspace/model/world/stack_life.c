/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_life.c: outcomes of the objects that each stack allocated, in compact form. */
#include "stack_life.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"

int stack_lives_init(struct stack_lives *lives)
{
	*lives = (struct stack_lives){.count = 1, .n_ages = 1, .n_olds = 1, .n_charges = 1};
	return big_reserve(&lives->items, &lives->capacity, 0, sizeof(*lives->items));
}

void stack_lives_free(struct stack_lives *lives)
{
	big_free(lives->items, lives->capacity, sizeof(*lives->items));
	big_free(lives->ages, lives->ages_capacity, sizeof(*lives->ages));
	free(lives->olds);
	big_free(lives->charges, lives->charges_capacity, sizeof(*lives->charges));
}

uint32_t stack_lives_add(struct stack_lives *lives)
{
	if (lives->count >= UINT32_MAX ||
	    big_reserve(&lives->items, &lives->capacity, lives->count, sizeof(*lives->items)) < 0)
		return 0;
	return (uint32_t)lives->count++;
}

void stack_life_birth(struct stack_lives *lives, uint32_t number, uint32_t type, uint64_t size,
		      double probability)
{
	struct stack_life *life = &lives->items[number];

	if (!life->samples)
		life->type = type;
	life->mixed |= life->type != type;
	if (life->samples < INT32_MAX)
		life->samples++;
	tally_add(&life->bytes, (double)size, probability);
}

/* The bytes of an age class, created if needed; NULL: no memory. */
static struct stack_age *find_age(struct stack_lives *lives, uint32_t number, unsigned class)
{
	struct stack_age *age;

	for (uint32_t i = lives->items[number].ages; i; i = lives->ages[i].next)
		if (lives->ages[i].class == class)
			return &lives->ages[i];
	if (lives->n_ages >= STACK_AGES_MAX || big_reserve(&lives->ages, &lives->ages_capacity,
							   lives->n_ages, sizeof(*lives->ages)) < 0)
		return NULL;
	age = &lives->ages[lives->n_ages];
	age->class = class & 31;
	age->next = lives->items[number].ages & (STACK_AGES_MAX - 1);
	lives->items[number].ages = (uint32_t)lives->n_ages++;
	return age;
}

int stack_life_death(struct stack_lives *lives, uint32_t number, uint64_t age, double bytes)
{
	struct stack_age *at = find_age(lives, number, age_class(age));

	if (!at)
		return -ENOMEM;
	at->bytes += (float)bytes;
	return 0;
}

struct stack_old *stack_life_old(struct stack_lives *lives, uint32_t number)
{
	struct stack_life *life = &lives->items[number];

	if (!life->old) {
		if (lives->n_olds >= UINT32_MAX ||
		    array_reserve(&lives->olds, &lives->olds_capacity, lives->n_olds,
				  sizeof(*lives->olds)) < 0)
			return NULL;
		life->old = (uint32_t)lives->n_olds++;
	}
	return &lives->olds[life->old];
}

int stack_life_charge(struct stack_lives *lives, uint32_t number, uint32_t process,
		      enum charge_part part, double ns)
{
	uint32_t *first = &lives->items[number].charge, at = *first;

	while (at && lives->charges[at].process != process)
		at = lives->charges[at].next;
	if (!at) {
		if (lives->n_charges >= UINT32_MAX ||
		    big_reserve(&lives->charges, &lives->charges_capacity, lives->n_charges,
				sizeof(*lives->charges)) < 0)
			return -ENOMEM;
		at = (uint32_t)lives->n_charges++;
		lives->charges[at] = (struct stack_charge){.next = *first, .process = process};
		*first = at;
	}
	lives->charges[at].parts[part] += (float)ns;
	return 0;
}

static void join_olds(struct stack_lives *lives, struct stack_life *to, const struct stack_life *of)
{
	struct stack_old *into = &lives->olds[to->old];
	const struct stack_old *from = &lives->olds[of->old];

	if (!of->old)
		return;
	if (!to->old) {
		to->old = of->old;
		return;
	}
	into->promoted_bytes += from->promoted_bytes;
	into->premature_bytes += from->premature_bytes;
	into->old_bytes += from->old_bytes;
}

void stack_life_join(struct stack_lives *lives, uint32_t into, uint32_t from)
{
	struct stack_life *to = &lives->items[into];
	struct stack_life of = lives->items[from];
	uint32_t last = of.ages, *at;

	if (!to->samples)
		to->type = of.type;
	to->mixed |= of.mixed || (of.samples && of.type != to->type);
	to->samples += of.samples < INT32_MAX - to->samples ? of.samples : INT32_MAX - to->samples;
	tally_merge(&to->bytes, &of.bytes);
	share_merge(&to->survived, &of.survived);
	to->gc_ns += of.gc_ns;
	join_olds(lives, to, &of);
	/* A process or class may now occur twice in its chain, which does not change the sums. */
	for (at = &to->charge; *at; at = &lives->charges[*at].next)
		;
	*at = of.charge;
	while (last && lives->ages[last].next)
		last = lives->ages[last].next;
	if (last) {
		lives->ages[last].next = to->ages & (STACK_AGES_MAX - 1);
		to->ages = of.ages;
	}
	lives->items[from] = (struct stack_life){0};
}

void stack_life_merge(struct life *into, const struct stack_lives *lives, uint32_t number)
{
	const struct stack_life *life = &lives->items[number];

	if (!into->samples)
		into->type = life->type;
	into->mixed |= life->mixed || (life->samples && life->type != into->type);
	into->samples += life->samples;
	tally_merge(&into->bytes, &life->bytes);
	share_merge(&into->survived, &life->survived);
	for (uint32_t i = life->ages; i; i = lives->ages[i].next)
		into->ages[lives->ages[i].class] += lives->ages[i].bytes;
	if (!life->old)
		return;
	into->promoted_bytes += lives->olds[life->old].promoted_bytes;
	into->premature_bytes += lives->olds[life->old].premature_bytes;
	into->old_bytes += lives->olds[life->old].old_bytes;
}

double stack_life_live(const struct stack_lives *lives, uint32_t number)
{
	struct life life = {0};

	stack_life_merge(&life, lives, number);
	return life_live_bytes(&life);
}
