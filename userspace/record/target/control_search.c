// SPDX-License-Identifier: BSD-2-Clause
/* control_search.c: finds the blocks of running programs, by what is known of their files. */
#include "control_search.h"

#include "../machine/clock.h"
#include "../world/snapshot.h"

/* A search in one process. */
struct search {
	struct files *files;
	enum control_block block;
	control_found *found;
	void *context;
	uint64_t last; /* address: a file may be mapped in several pieces */
};

static void meet_file(void *context, struct event_mmap *event, const char *path)
{
	struct search *search = context;

	if (event->inode)
		files_meet(search->files, event, path);
}

static void search_mapping(void *context, struct event_mmap *event, const char *path)
{
	struct search *search = context;
	const struct file *file =
		files_find(search->files, event->major, event->minor, event->inode);
	uint64_t address;

	(void)path;
	if (!event->inode || !file || file->state != FILE_KNOWN ||
	    !file->facts.blocks[search->block] ||
	    !facts_locate(&file->facts, event->address, event->offset,
			  file->facts.blocks[search->block], &address) ||
	    address == search->last)
		return;
	search->last = address;
	search->found(search->context, event, address);
}

int control_search(struct files *files, uint32_t proc_pid, uint64_t until, enum control_block block,
		   control_found *found, void *context)
{
	struct search search = {files, block, found, context, 0};
	uint64_t now = clock_now();
	int err;

	if (until) {
		err = snapshot_mappings(proc_pid, 0, meet_file, &search);
		if (err)
			return err;
		files_settle(files, until > now ? until - now : 0);
	}
	return snapshot_mappings(proc_pid, 0, search_mapping, &search);
}
