/* SPDX-License-Identifier: BSD-2-Clause */
/* turns.c: a queue in which users take turns: next is the one who was served least. */
#include "turns.h"

#include <errno.h>

struct turns_user {
	uint32_t user;
	uint64_t cost; /* of serving this user so far, from the least of those who waited then */
	struct turn *first, *last;
};

static struct turns_user *turns_find(const struct turns *turns, uint32_t user)
{
	for (size_t i = 0; i < array_count(&turns->users); i++)
		if (turns->users.all[i].user == user)
			return &turns->users.all[i];
	return NULL;
}

/* The user who waits and was served least. */
static struct turns_user *least(const struct turns *turns)
{
	struct turns_user *all = turns->users.all, *found = NULL;

	for (size_t i = 0; i < array_count(&turns->users); i++)
		if (all[i].first && (!found || all[i].cost < found->cost))
			found = &all[i];
	return found;
}

/* Forgets who wait for nothing and have no more behind them than those who wait. */
static void turns_forget(struct turns *turns)
{
	const struct turns_user *served = least(turns);
	struct turns_user *all = turns->users.all;
	size_t kept = 0;
	uint64_t cost = served ? served->cost : UINT64_MAX;

	for (size_t i = 0; i < array_count(&turns->users); i++)
		if (all[i].first || all[i].cost > cost)
			all[kept++] = all[i];
	turns->users.buffer.size = kept * sizeof(*all);
}

int turns_put(struct turns *turns, struct turn *turn, uint32_t user)
{
	const struct turns_user *served = least(turns);
	struct turns_user *at = turns_find(turns, user);
	const struct turns_user fresh = {.user = user, .cost = served ? served->cost : 0};

	if (!at && array_append(&turns->users, &fresh))
		return -ENOMEM;
	at = turns_find(turns, user);
	/* Who has waited for nothing has saved nothing up. */
	if (!at->first && at->cost < fresh.cost)
		at->cost = fresh.cost;
	turn->next = NULL;
	turn->user = user;
	*(at->first ? &at->last->next : &at->first) = turn;
	at->last = turn;
	turns->waiting++;
	return 0;
}

struct turn *turns_first(const struct turns *turns)
{
	const struct turns_user *next = least(turns);

	return next ? next->first : NULL;
}

struct turn *turns_take(struct turns *turns)
{
	struct turns_user *next = least(turns);
	struct turn *turn = next ? next->first : NULL;

	if (!turn)
		return NULL;
	next->first = turn->next;
	turns->waiting--;
	return turn;
}

void turns_charge(struct turns *turns, uint32_t user, uint64_t cost)
{
	struct turns_user *at = turns_find(turns, user);

	if (at)
		at->cost += cost;
	turns_forget(turns);
}

struct turn *turns_next(const struct turns *turns, const struct turn *last)
{
	const struct turns_user *all = turns->users.all;
	size_t n = array_count(&turns->users), i = 0;

	if (last && last->next)
		return last->next;
	while (last && i < n && all[i].user != last->user)
		i++;
	for (i += last != NULL; i < n; i++)
		if (all[i].first)
			return all[i].first;
	return NULL;
}

void turns_free(struct turns *turns)
{
	buffer_free(&turns->users.buffer);
}
