/* SPDX-License-Identifier: BSD-2-Clause */
/* file_debug.c: debug files that only the processes of a container see. */
#include "file_table.h"

#include <linux/magic.h>
#include <string.h>
#include <unistd.h>

static void opened(void *context, const struct opener_result *result)
{
	struct entry *entry = context;
	bool is_theirs = result->file.filesystem != FUSE_SUPER_MAGIC &&
			 (!result->file.uid || result->file.uid == entry->file.user);

	entry->waits_for_debug = false;
	if (!result->err && is_theirs)
		entry->file.debug_fd = result->fd;
	else if (result->fd >= 0)
		close(result->fd);
}

static void look(struct entry *entry, struct opener *opener, const struct opener_who *who)
{
	const struct file *file = &entry->file;
	struct debug_wanted wanted = {.kind = DEBUG_IN_ROOT,
				      .id_size = (uint32_t)file->facts.build_id_size};

	if (file->facts.build_id_size <= 0 ||
	    (who->user && who->user != file->user && who->user != geteuid()))
		return;
	entry->asked_debug = true;
	memcpy(wanted.id, file->facts.build_id, wanted.id_size);
	entry->waits_for_debug = !opener_debug(opener, who, file->fd, &wanted, opened, entry);
}

void file_debug_meet(struct entry *entry, struct opener *opener, const struct opener_who *who)
{
	if (entry->file.state == FILE_KNOWN && !entry->asked_debug)
		look(entry, opener, who);
	else if (!entry->who.pid || (entry->who.user && !who->user))
		entry->who = *who;
}

void file_debug_known(struct entry *entry, struct opener *opener)
{
	if (entry->who.pid)
		look(entry, opener, &entry->who);
}
