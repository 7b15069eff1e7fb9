/* SPDX-License-Identifier: BSD-2-Clause */
/* rings.c: drains the BPF rings. */
#include "rings.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

/* Per ring and call: a ring that fills as fast as it is read must not starve the others. */
enum { RECORDS_MAX = 200000 };

struct rings {
	struct ring_buffer *buffers[RINGS];
	rings_visit *visit;
	void *context;
	unsigned budget;
};

static int take(void *context, void *data, size_t size)
{
	struct rings *rings = context;

	if (size >= sizeof(struct event_header))
		rings->visit(rings->context, data, size);
	return --rings->budget ? 0 : -EBUSY;
}

int rings_open(const struct session *session, rings_visit *visit, void *context, struct rings **out)
{
	struct rings *rings = calloc(1, sizeof(*rings));

	if (!rings)
		return -ENOMEM;
	rings->visit = visit;
	rings->context = context;
	for (int ring = 0; ring < RINGS; ring++) {
		int fd = session_ring_fd(session, (enum session_ring)ring);

		rings->buffers[ring] = ring_buffer__new(fd, take, rings, NULL);
		if (!rings->buffers[ring]) {
			int err = -errno;
			rings_free(rings);
			return err;
		}
	}
	*out = rings;
	return 0;
}

int rings_drain(struct rings *rings)
{
	int emptied = 1;

	for (int ring = 0; ring < RINGS; ring++) {
		int err;

		rings->budget = RECORDS_MAX;
		err = ring_buffer__consume(rings->buffers[ring]);
		if (err == -EBUSY)
			emptied = 0;
		else if (err < 0)
			return err;
	}
	return emptied;
}

void rings_free(struct rings *rings)
{
	if (!rings)
		return;
	for (int ring = 0; ring < RINGS; ring++)
		ring_buffer__free(rings->buffers[ring]);
	free(rings);
}
