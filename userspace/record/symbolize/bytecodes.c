/* SPDX-License-Identifier: BSD-2-Clause */
/* bytecodes.c: keeps reports of interpreted functions for the reader. */
/*
 * The recorder does not parse reports: it appends them to a file in memory, which the reader gets
 * with the requested frames.
 */
#include "frame_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../util/map.h"
#include "../../util/quota.h"

#define BYTES_MAX ((uint64_t)64 << 20)

struct bytecodes {
	int file, readable; /* the same file; -1: not created yet */
	uint64_t size;
	struct quota shares; /* bytes by user */
	struct map *places;  /* number to offset */
};

int bytecodes_create(struct bytecodes **out)
{
	struct bytecodes *bytecodes = calloc(1, sizeof(*bytecodes));

	if (!bytecodes)
		return -ENOMEM;
	bytecodes->file = bytecodes->readable = -1;
	bytecodes->shares.most = BYTES_MAX;
	bytecodes->places = map_create(sizeof(uint64_t));
	if (!bytecodes->places) {
		bytecodes_free(bytecodes);
		return -ENOMEM;
	}
	*out = bytecodes;
	return 0;
}

void bytecodes_free(struct bytecodes *bytecodes)
{
	if (!bytecodes)
		return;
	if (bytecodes->file >= 0)
		close(bytecodes->file);
	if (bytecodes->readable >= 0)
		close(bytecodes->readable);
	map_free(bytecodes->places);
	quota_free(&bytecodes->shares);
	free(bytecodes);
}

static int need_file(struct bytecodes *bytecodes)
{
	char path[32];

	if (bytecodes->readable >= 0)
		return 0;
	if (bytecodes->file < 0)
		bytecodes->file = memfd_create("bytecode", MFD_CLOEXEC);
	if (bytecodes->file < 0)
		return -errno;
	/* The reader must not write to it. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", bytecodes->file);
	bytecodes->readable = open(path, O_RDONLY | O_CLOEXEC);
	return bytecodes->readable < 0 ? -errno : 0;
}

int bytecodes_add(struct bytecodes *bytecodes, const struct event_bytecode *event, size_t size,
		  uint32_t user)
{
	uint64_t number, *slot;
	int err;

	if (size < sizeof(*event) || event->header.size > size)
		return -EBADMSG;
	if (!quota_take(&bytecodes->shares, user, size))
		return -ENOSPC;
	err = need_file(bytecodes);
	if (err)
		return err;
	if (pwrite(bytecodes->file, event, size, (off_t)bytecodes->size) != (ssize_t)size)
		return -EIO;
	number = event->number;
	slot = map_put(bytecodes->places, &number, NULL);
	if (!slot)
		return -ENOMEM;
	*slot = bytecodes->size;
	bytecodes->size += size;
	return 0;
}

bool bytecodes_find(const struct bytecodes *bytecodes, uint64_t number, uint64_t *offset)
{
	const uint64_t *slot = map_get(bytecodes->places, &number);

	if (slot)
		*offset = *slot;
	return slot;
}

int bytecodes_file(const struct bytecodes *bytecodes)
{
	return bytecodes->readable;
}
