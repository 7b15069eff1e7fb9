/* SPDX-License-Identifier: BSD-2-Clause */
/* probe_links.c: which files with probes are attached to which processes. */
#include "probe_links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/map.h"
#include "../machine/clock.h"
#include "../world/file.h"
#include "../../util/turns.h"

struct probe_links {
	uint32_t used, search;   /* where a free one is searched next */
	struct map *of;          /* process to its first link, plus one */
	struct map *users;       /* to the number of their links */
	volatile uint16_t *held; /* by file; NULL: they are not counted */
	struct turns waiting;
	struct turn turns[PROBE_LINKS_MAX]; /* of links that wait */
	uint64_t taken;                     /* the last one, ns */
	size_t n_ending;
	uint32_t ending[PROBE_LINKS_MAX]; /* to be removed */
	uint32_t later[PROBE_LINKS_MAX];  /* see probe_links_next() */
	struct probe_link all[PROBE_LINKS_MAX];
};

int probe_links_create(struct probe_links **out)
{
	struct probe_links *links = calloc(1, sizeof(*links));

	if (!links)
		return -ENOMEM;
	links->of = map_create(sizeof(uint32_t));
	links->users = map_create(sizeof(uint64_t));
	if (!links->of || !links->users) {
		probe_links_free(links);
		return -ENOMEM;
	}
	*out = links;
	return 0;
}

void probe_links_free(struct probe_links *links)
{
	if (!links)
		return;
	map_free(links->of);
	map_free(links->users);
	turns_free(&links->waiting);
	free(links);
}

void probe_links_count(struct probe_links *links, volatile uint16_t *held)
{
	links->held = held;
}

bool probe_links_any(const struct probe_links *links)
{
	return links->used;
}

struct probe_link *probe_links_at(struct probe_links *links, uint32_t number)
{
	return &links->all[number];
}

uint32_t probe_links_of(const struct probe_links *links, uint32_t process)
{
	const uint64_t *first = map_get(links->of, &process);

	return first ? (uint32_t)*first - 1 : LINKS_NONE;
}

uint32_t probe_links_after(const struct probe_links *links, uint32_t number)
{
	uint32_t next = links->all[number].next;

	return next ? next - 1 : LINKS_NONE;
}

uint32_t probe_links_find(const struct probe_links *links, uint32_t process, uint32_t first)
{
	uint32_t i = probe_links_of(links, process);

	while (i != LINKS_NONE &&
	       (links->all[i].first != first || links->all[i].state == LINK_ENDS))
		i = probe_links_after(links, i);
	return i;
}

int probe_links_add(struct probe_links *links, const struct probe_link *link)
{
	uint64_t user = link->user, *used = map_put(links->users, &user, NULL), *head;
	struct probe_link *new;

	if (!used)
		return -ENOMEM;
	if (links->used == PROBE_LINKS_MAX || (user && *used >= PROBE_LINKS_MAX / 4))
		return -EUSERS;
	head = map_put(links->of, &link->process, NULL);
	if (!head)
		return -ENOMEM;
	while (links->all[links->search].state != LINK_FREE)
		links->search = (links->search + 1) % PROBE_LINKS_MAX;
	if (turns_put(&links->waiting, &links->turns[links->search], (uint32_t)user))
		return -ENOMEM;
	new = &links->all[links->search];
	*new = *link;
	new->state = LINK_WAITS;
	new->next = (uint32_t)*head;
	if (new->file)
		new->file->attaching++;
	*head = links->search + 1;
	links->used++;
	++*used;
	return 0;
}

static void let_go(struct probe_link *link)
{
	if (link->file)
		link->file->attaching--;
	link->file = NULL;
}

static void take_out(struct probe_links *links, uint32_t number)
{
	const struct probe_link *link = &links->all[number];
	uint64_t *head = map_get(links->of, &link->process);

	for (uint32_t i = probe_links_of(links, link->process); i != LINKS_NONE;
	     i = probe_links_after(links, i))
		if (links->all[i].next == number + 1)
			links->all[i].next = link->next;
	if (head && *head == number + 1)
		*head = link->next;
	if (head && !*head)
		map_remove(links->of, &link->process);
}

static void release(struct probe_links *links, uint32_t number)
{
	struct probe_link *link = &links->all[number];
	uint64_t *used = map_get(links->users, &link->user);

	take_out(links, number);
	let_go(link);
	if (used && !--*used)
		map_remove(links->users, &link->user);
	if (link->since && links->held)
		links->held[link->first]--;
	*link = (struct probe_link){.state = LINK_FREE};
	links->used--;
}

/* Waits again; without memory, it is given up. */
static void put_back(struct probe_links *links, uint32_t number)
{
	if (turns_put(&links->waiting, &links->turns[number], (uint32_t)links->all[number].user))
		release(links, number);
}

uint32_t probe_links_next(struct probe_links *links, uint64_t now)
{
	uint32_t later = LINKS_NONE, found = LINKS_NONE;
	const struct turn *turn;

	/* Those that may not be tried yet are a list meanwhile. */
	while (found == LINKS_NONE && (turn = turns_take(&links->waiting))) {
		uint32_t number = (uint32_t)(turn - links->turns);

		if (links->all[number].state == LINK_ENDS) {
			release(links, number);
		} else if (links->all[number].try_at <= now) {
			found = number;
		} else {
			links->later[number] = later;
			later = number;
		}
	}
	while (later != LINKS_NONE) {
		uint32_t next = links->later[later];

		put_back(links, later);
		later = next;
	}
	links->taken = now;
	return found;
}

bool probe_links_wait(const struct probe_links *links)
{
	return links->waiting.waiting;
}

/* What was taken took its user's time. */
static void charge(struct probe_links *links, uint32_t number)
{
	turns_charge(&links->waiting, (uint32_t)links->all[number].user,
		     clock_now() - links->taken);
}

void probe_links_retry(struct probe_links *links, uint32_t number, uint64_t ns)
{
	charge(links, number);
	links->all[number].try_at = ns;
	links->all[number].tries++;
	put_back(links, number);
}

void probe_links_hold(struct probe_links *links, uint32_t number, uint64_t now)
{
	struct probe_link *link = &links->all[number];

	charge(links, number);
	let_go(link);
	link->since = now;
	if (links->held)
		links->held[link->first]++;
	if (link->state == LINK_ENDS)
		links->ending[links->n_ending++] = number;
	else
		link->state = LINK_HOLDS;
}

void probe_links_fail(struct probe_links *links, uint32_t number)
{
	charge(links, number);
	release(links, number);
}

void probe_links_lose(struct probe_links *links, uint32_t number)
{
	charge(links, number);
	let_go(&links->all[number]);
	links->all[number].state = LINK_LOST;
}

void probe_links_end(struct probe_links *links, uint32_t number)
{
	struct probe_link *link = &links->all[number];

	if (link->state == LINK_LOST) {
		release(links, number);
		return;
	}
	if (link->state == LINK_HOLDS)
		links->ending[links->n_ending++] = number;
	link->state = LINK_ENDS;
	let_go(link);
}

const uint32_t *probe_links_ending(const struct probe_links *links, size_t *n)
{
	*n = links->n_ending;
	return links->ending;
}

void probe_links_removed(struct probe_links *links, size_t n)
{
	for (size_t i = 0; i < n; i++)
		release(links, links->ending[i]);
	links->n_ending -= n;
	memmove(links->ending, links->ending + n, links->n_ending * sizeof(*links->ending));
}
