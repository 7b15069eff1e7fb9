/* SPDX-License-Identifier: BSD-2-Clause */
/* others.c: is somebody else recording with gcprof? */
#include "others.h"

#include <bpf/bpf.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "probe_fired" /* of bpf/gc.bpf.c: loaded by every recorder */

static bool is_recorders(uint32_t id)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);
	bool found;

	if (fd < 0)
		return false;
	found = !bpf_obj_get_info_by_fd(fd, &info, &size) && strcmp(info.name, PROGRAM) == 0;
	close(fd);
	return found;
}

bool others_may_record(void)
{
	unsigned recorders = 0;
	uint32_t id = 0;

	while (recorders < 2 && !bpf_prog_get_next_id(id, &id))
		recorders += is_recorders(id);
	/* Not even our own: we may not look. */
	return recorders != 1;
}
