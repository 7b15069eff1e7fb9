/* SPDX-License-Identifier: BSD-2-Clause */
/* attach_processes.c: what happens to processes that files are attached to, and files without any.
 */
#include "attach.h"

#include "../machine/clock.h"
#include "attach_parts.h"

#define UNUSED_NS UINT64_C(1000000000) /* since it was mapped last: its places may be freed */

int attach_add_link(struct attach *attach, const struct probe_target *target, uint32_t first,
		    struct file *file)
{
	const struct probe_link link = {
		.first = first,
		.process = target->process,
		.pid = target->pid,
		.user = target->user,
		.from = target->from,
		.mapped = target->from == UINT64_MAX ? UINT64_MAX : clock_now(),
		.file = file,
	};

	return probe_links_add(attach->links, &link);
}

int attach_forked(struct attach *attach, uint32_t parent, const struct probe_target *child)
{
	int err = 0;

	for (uint32_t i = probe_links_of(attach->links, parent); i != LINKS_NONE && err >= 0;
	     i = probe_links_after(attach->links, i)) {
		const struct probe_link *link = link_at(attach, i);

		if (link->state == LINK_ENDS)
			continue;
		err = attach_add_link(attach, child, link->first, NULL);
	}
	return err;
}

void attach_exec(struct attach *attach, uint32_t process, uint64_t time)
{
	uint32_t next;

	for (uint32_t i = probe_links_of(attach->links, process); i != LINKS_NONE; i = next) {
		next = probe_links_after(attach->links, i);
		if (link_at(attach, i)->state != LINK_ENDS && link_at(attach, i)->mapped < time)
			probe_links_end(attach->links, i);
	}
}

uint64_t attach_ended(struct attach *attach, uint32_t process)
{
	uint64_t from = UINT64_MAX;
	uint32_t next;

	for (uint32_t i = probe_links_of(attach->links, process); i != LINKS_NONE; i = next) {
		next = probe_links_after(attach->links, i);
		if (link_at(attach, i)->state == LINK_ENDS)
			continue;
		if (link_at(attach, i)->state == LINK_WAITS && link_at(attach, i)->from < from)
			from = link_at(attach, i)->from;
		probe_links_end(attach->links, i);
	}
	return from;
}

void attach_thread_ended(struct attach *attach, const struct probe_target *target, uint32_t thread)
{
	uint32_t next;

	for (uint32_t i = probe_links_of(attach->links, target->process); i != LINKS_NONE;
	     i = next) {
		uint32_t first = link_at(attach, i)->first;

		next = probe_links_after(attach->links, i);
		if (link_at(attach, i)->state != LINK_HOLDS || link_at(attach, i)->thread != thread)
			continue;
		probe_links_end(attach->links, i);
		(void)attach_add_link(attach, target, first, NULL);
	}
}

/* Ends the links of a file. */
static void leave(struct attach *attach, uint32_t first)
{
	probe_places_silence(attach->places, first);
	probe_places_at(attach->places, first)->leaves = true;
	for (uint32_t i = 0; i < PROBE_LINKS_MAX; i++) {
		enum link_state state = link_at(attach, i)->state;

		if ((state == LINK_WAITS || state == LINK_HOLDS || state == LINK_LOST) &&
		    link_at(attach, i)->first == first)
			probe_links_end(attach->links, i);
	}
}

size_t attach_make_room(struct attach *attach, const struct map *used)
{
	uint64_t now = clock_now();

	for (uint32_t i = 0; i < PROBE_PLACES_MAX; i++) {
		const struct probed *file = probe_places_at(attach->places, i);

		if (!file->count || now - file->latest < UNUSED_NS || map_get(used, &file->id) ||
		    probe_links_find(attach->links, 0, i) != LINKS_NONE)
			continue;
		leave(attach, i);
		attach->leaving[attach->n_leaving++] = i;
	}
	return attach->n_leaving;
}
