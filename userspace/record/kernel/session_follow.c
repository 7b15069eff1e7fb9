/* SPDX-License-Identifier: BSD-2-Clause */
/* session_follow.c: adds the tables of followed objects; see bpf/fates.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "session.h"
#include "session_parts.h"

int session_follow(struct session *session, uint32_t process)
{
	struct fate_table *table = calloc(1, sizeof(*table));
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "fate_map", sizeof(uint32_t), sizeof(*table), 1,
				NULL);
	const uint32_t zero = 0;
	int err = !table ? -ENOMEM : fd < 0 ? -errno : 0;

	if (!err) {
		table->limit = FATE_OBJECTS_MAX;
		table->over = table->known = 1;
		err = bpf_map_update_elem(fd, &zero, table, BPF_ANY);
	}
	if (!err)
		err = bpf_map_update_elem(session_table_fd(session, TABLE_FATES), &process, &fd,
					  BPF_ANY);
	if (!err)
		session->skeleton->bss->fates_known = 1;
	if (fd >= 0)
		close(fd);
	free(table);
	return err;
}
